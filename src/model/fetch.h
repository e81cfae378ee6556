/* fetch.h - the bytes of a published version: checked against its manifest, or copied out of the
 * registry with that check. Fibers only. */
#pragma once
#include "model/models.h"

struct progress;

/* Copies what is below model/ into the new directory `dir` of a file system. It appears whole or
 * not at all: -EEXIST when something of that name is there, -EBADMSG with a sentence when a file is
 * not what the manifest says. */
int fetch_model(const struct models *r, const struct manifest *m, struct fs *to, const char *dir,
                struct progress *progress, struct err *err);

/* One thing that is wrong with a version. */
struct fetch_problem {
    char *path;
    const char *what; /* "missing", "changed", "not in the manifest" … */
};
struct fetch_problems {
    struct fetch_problem *v;
    size_t n;
};
void fetch_problems_done(struct fetch_problems *p);

/* Reads every byte again. 0, also when there are problems. */
int fetch_verify(const struct models *r, const struct manifest *m, struct progress *progress,
                 struct fetch_problems *ret, struct err *err);
