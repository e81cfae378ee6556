/* node_source.h - the registry that a version is fetched from, through failures of the cluster that
 * pass: NameNodes that restart or change over, DataNodes that are lost, tokens that are replaced.
 * Fibers only. */
#pragma once
#include "model/models.h"
#include "model/node/node_cache.h"

struct node_source {
    struct loop *loop;
    const struct node_cache_want *want;
    struct session *session;
    struct fs_set *set;
    struct models models; /* while it is open */
    bool open;
    int64_t moved; /* when something came last */
    unsigned failures;
};

void node_source_init(struct node_source *s, struct loop *l, const struct node_cache_want *w);
/* Readers must be closed before. */
void node_source_done(struct node_source *s);

/* From now on something is to come: the time before, which was spent on something else, does not
 * count, unless an attempt has failed already. */
void node_source_begin(struct node_source *s);

/* Signs in, unless that was done. */
int node_source_open(struct node_source *s, struct err *err);
/* Something came: the time begins anew. */
void node_source_moved(struct node_source *s);
/* `r` has happened, and no reader is open any more: 0 when it is worth another attempt, after a
 * pause; else `r`. */
int node_source_retry(struct node_source *s, int r, struct err *err);

/* The manifest's bytes, and what they say; retried. `text` and `m` are the caller's. -ESTALE when
 * it is not the one that is wanted. */
int node_source_manifest(struct node_source *s, struct buf *text, struct manifest *m,
                         struct err *err);
