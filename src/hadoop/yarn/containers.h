/* containers.h - the containers that an application master knows, and the outcome of each.
 *
 * After a restart of the ResourceManager the end of a container may be told twice; this set is how
 * the second time is known. Pure. */
#pragma once
#include "hadoop/yarn/ids.h"
#include <stdbool.h>
#include <stddef.h>

enum container_fate {
    CONTAINER_UNHEARD,
    CONTAINER_HELD,     /* granted, and not given back */
    CONTAINER_RELEASED, /* given back; its end has not been told yet */
    CONTAINER_ENDED,
};

struct containers {
    struct container_slot *slots;
    size_t cap; /* a power of two, or 0 */
    size_t used;
};

void containers_done(struct containers *c); /* zero is a valid start */

/* Room for `n` more, so that containers_set() cannot fail for that many. */
int containers_reserve(struct containers *c, size_t n);
void containers_set(struct containers *c, struct yarn_container_id id, enum container_fate fate);
enum container_fate containers_get(const struct containers *c, struct yarn_container_id id);
