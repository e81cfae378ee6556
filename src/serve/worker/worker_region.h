/* worker_region.h - memory that the server shares with one worker.
 *
 * A file without a name that both map. It can grow, up to a ceiling, and never shrinks (it is
 * sealed), so that nothing that one has mapped and checked goes away under it. Any thread, one at a
 * time per region. */
#pragma once
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct worker_region {
    int fd; /* the worker's descriptor is a copy of it */
    uint8_t *p;
    size_t size; /* bytes at `p` */
    size_t max;
};

#define WORKER_REGION_INIT                                                                         \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

int worker_region_init(struct worker_region *r, const char *name, size_t max, struct err *err);
void worker_region_done(struct worker_region *r); /* also of WORKER_REGION_INIT */
/* Makes `n` bytes usable, for writing. -E2BIG past the ceiling. */
int worker_region_reserve(struct worker_region *r, size_t n, struct err *err);
/* Makes `n` bytes readable that the other side says are there. -EPROTO when they are not. */
int worker_region_follow(struct worker_region *r, uint64_t n, struct err *err);
/* After a use of `n` bytes: what a large one took goes back to the system. */
void worker_region_trim(struct worker_region *r, size_t n);
