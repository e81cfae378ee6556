/* map.h - a hash table of things by a name of any bytes. The things bring their own memory: a node
 * is part of them, first. Loop thread only; nothing waits. */
#pragma once
#include "base/auto.h"
#include <stddef.h>
#include <stdint.h>

struct map_node {
    struct map_node *next; /* in its slot */
    uint64_t hash;
    const void *key; /* borrowed: usually the owner's own memory behind the node */
    size_t key_n;
};

/* Zero is a valid start. */
struct map {
    struct map_node **slots;
    size_t n_slots; /* a power of two, or 0 */
    size_t n;
};

struct map_node *map_find(const struct map *m, const void *key, size_t n); /* NULL: not there */

/* Makes sure that no later map_add() fails. -ENOMEM. */
int map_ready(struct map *m);
/* node->key and key_n are set, and no such key is there. -ENOMEM for the first one only: later it
 * keeps its present size. */
int map_add(struct map *m, struct map_node *node);
void map_remove(struct map *m, struct map_node *node);

/* In no order: after `node`, or the first after NULL; NULL at the end. `node` may be removed once
 * the next is known, and nothing added meanwhile. */
struct map_node *map_next(const struct map *m, const struct map_node *node);

void map_done(struct map *m); /* frees the table, not the nodes; the map is empty then */
