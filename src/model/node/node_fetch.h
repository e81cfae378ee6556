/* node_fetch.h - copies one version out of its registry, every byte checked against the manifest.
 * Fibers only. */
#pragma once
#include "model/node/node_source.h"

struct node_fetch {
    struct node_source *source;
    const char *part;         /* the directory to fill: is made, and was removed before */
    const struct manifest *m; /* with its bytes */
    const struct buf *text;
    void (*on_progress)(void *user, uint64_t done, uint64_t total); /* several times a second */
    void *user;
};

/* The manifest is written last. -ENOSPC when the disk is full; what failed is left behind. */
int node_fetch(const struct node_fetch *f, struct err *err);
