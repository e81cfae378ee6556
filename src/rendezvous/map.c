/* map.c - a hash table of nodes that live in their owners' memory. It grows by doubling; without
 * memory to grow, its chains get longer. */
#include "rendezvous/map.h"
#include "base/str.h"

#include <string.h>

#define SLOTS_FIRST 64

/* FNV-1a. The keys are those of one job's own tasks, so nobody gains by making them collide. */
static uint64_t map_hash_of(const void *key, size_t n)
{
    uint64_t h = str_hash(key, n);

    return h ^ (h >> 32);
}

static struct map_node **map_slot_of(const struct map *m, uint64_t hash)
{
    return &m->slots[hash & (m->n_slots - 1)];
}

struct map_node *map_find(const struct map *m, const void *key, size_t n)
{
    uint64_t hash = map_hash_of(key, n);

    if (!m->n_slots)
        return NULL;
    for (struct map_node *node = *map_slot_of(m, hash); node; node = node->next) {
        if (node->hash == hash && node->key_n == n && memcmp(node->key, key, n) == 0)
            return node;
    }
    return NULL;
}

static void map_push(struct map *m, struct map_node *node)
{
    struct map_node **slot = map_slot_of(m, node->hash);

    node->next = *slot;
    *slot = node;
}

static int map_grow(struct map *m)
{
    struct map bigger = { .n_slots = m->n_slots ? 2 * m->n_slots : SLOTS_FIRST, .n = m->n };

    bigger.slots = calloc(bigger.n_slots, sizeof(struct map_node *));
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_slots; i++) {
        while (m->slots[i]) {
            struct map_node *node = m->slots[i];

            m->slots[i] = node->next;
            map_push(&bigger, node);
        }
    }
    free(m->slots);
    *m = bigger;
    return 0;
}

int map_ready(struct map *m)
{
    return m->n_slots ? 0 : map_grow(m);
}

/* Growing may fail as long as there is a table at all: chains get longer, and nothing is lost. So
 * after map_ready() this does not fail. */
int map_add(struct map *m, struct map_node *node)
{
    if (m->n >= m->n_slots && map_grow(m) < 0 && !m->n_slots)
        return -ENOMEM;
    node->hash = map_hash_of(node->key, node->key_n);
    map_push(m, node);
    m->n++;
    return 0;
}

void map_remove(struct map *m, struct map_node *node)
{
    struct map_node **at = map_slot_of(m, node->hash);

    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    m->n--;
}

/* The order changes when the table grows, so nothing may be added on the way; what was returned
 * last may be removed once its successor is known. */
struct map_node *map_next(const struct map *m, const struct map_node *node)
{
    size_t i = node ? (node->hash & (m->n_slots - 1)) + 1 : 0;

    if (node && node->next)
        return node->next;
    for (; i < m->n_slots; i++) {
        if (m->slots[i])
            return m->slots[i];
    }
    return NULL;
}

void map_done(struct map *m)
{
    free(m->slots);
    *m = (struct map){ 0 };
}
