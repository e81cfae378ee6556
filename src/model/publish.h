/* publish.h - a new version of a model, visible at once and whole, or not at all.
 *
 *     look at the files ──► stage: copy, hash, flush ──► manifest ──► one rename ──► published
 *
 * With `if_changed` they are hashed first, and nothing is written when they are there already.
 *
 * Whatever ends it before the rename, a failure or kill -9, leaves nothing but a directory below
 * .staging, which `ydl model prune` sweeps. For `ydl model push`, and for what a job publishes at
 * its success. Fibers only. */
#pragma once
#include "model/files.h"
#include "model/models.h"

struct model_publish {
    const char *name;
    int64_t version;    /* 0: the next number */
    const char *path;   /* file or directory: a path of this machine, or an hdfs:// name */
    const char *warmup; /* the same, of requests to be made first; NULL: none */
    const char *job;    /* the job that made it; NULL: $YDL_JOB, if set */
    const char *commit; /* of its source; NULL: that of the work tree that the files are in */
    const json_t *tags; /* an object of strings, or NULL */
    bool if_changed; /* nothing is published when that version, or the newest, has the same files */
    bool output;     /* it is the output of `job`, which has succeeded: models_output() finds it */
    bool quiet;      /* no progress line */
};

struct model_published {
    struct manifest manifest; /* of the new version, or of the one that is the same */
    bool unchanged;
};
void model_published_done(struct model_published *p);

/* `ret` is the caller's. -EEXIST with a sentence when the version is there, or was removed. */
int model_publish(const struct models *r, const struct model_publish *what,
                  struct model_published *ret, struct err *err);
/* The same for files that were looked at already; what->path is where they come from. */
int model_publish_files(const struct models *r, const struct model_publish *what,
                        const struct model_files *files, struct model_published *ret,
                        struct err *err);

#define AUTO_MODEL_PUBLISHED AUTO_DONE(model_published_done) struct model_published
