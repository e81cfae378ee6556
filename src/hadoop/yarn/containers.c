/* containers.c - what is known of each container: never heard of, held, released, ended. A hash
 * table with open addressing; nothing is ever removed, so that an end which is reported twice is
 * recognized. See containers.h. */
#include "hadoop/yarn/containers.h"

#include <errno.h>
#include <stdlib.h>

struct container_slot {
    struct yarn_container_id id;
    enum container_fate fate; /* CONTAINER_UNHEARD: empty */
};

void containers_done(struct containers *c)
{
    free(c->slots);
    *c = (struct containers){ 0 };
}

/* The server chooses the ids, but it has no reason to make its own application slow. */
static size_t hash(struct yarn_container_id id)
{
    uint64_t h = (uint64_t)id.id * UINT64_C(0x9e3779b97f4a7c15);

    h ^= (uint64_t)id.attempt.attempt + (uint64_t)id.attempt.app.timestamp;
    h *= UINT64_C(0xff51afd7ed558ccd);
    return (size_t)(h ^ (h >> 32));
}

/* The slot that has the id, or the empty one where it would go. */
static struct container_slot *containers_slot_of(const struct containers *c,
                                                 struct yarn_container_id id)
{
    size_t i = hash(id) & (c->cap - 1);

    while (c->slots[i].fate && yarn_container_id_cmp(c->slots[i].id, id) != 0)
        i = (i + 1) & (c->cap - 1);
    return &c->slots[i];
}

int containers_reserve(struct containers *c, size_t n)
{
    struct containers bigger = { .cap = c->cap ? c->cap : 16, .used = c->used };

    while (bigger.cap / 2 < c->used + n) /* never more than half full */
        bigger.cap *= 2;
    if (bigger.cap == c->cap)
        return 0;
    bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < c->cap; i++)
        if (c->slots[i].fate)
            *containers_slot_of(&bigger, c->slots[i].id) = c->slots[i];
    free(c->slots);
    *c = bigger;
    return 0;
}

void containers_set(struct containers *c, struct yarn_container_id id, enum container_fate fate)
{
    struct container_slot *s = containers_slot_of(c, id);

    if (!s->fate)
        c->used++;
    *s = (struct container_slot){ id, fate };
}

enum container_fate containers_get(const struct containers *c, struct yarn_container_id id)
{
    return c->cap ? containers_slot_of(c, id)->fate : CONTAINER_UNHEARD;
}
