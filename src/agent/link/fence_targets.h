/* fence_targets.h - the machines that show whether this node is cut off. Fibers only. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;

#define FENCE_TARGETS 16

struct fence_targets {
    struct fence_target {
        char host[256]; /* a numeric address, unless it could not be resolved */
        int port;
    } v[FENCE_TARGETS];
    size_t n;
};

/* The connected master, the ResourceManagers and the NameNodes; replaces what was there. */
void fence_targets_find(struct agent *a, struct fence_targets *ret);
/* Is any of them reached until then? A connection is enough, even a refused one. Returns as soon as
 * one is; false also when we are cancelled. */
bool fence_targets_reach(struct agent *a, const struct fence_targets *t, int64_t deadline);
