/* model_source.h - what a user names as a model: a file, a directory with one, or a version of the
 * registry with its manifest. Waits for the disk. Any thread. */
#pragma once
#include "serve/backend/backend.h"

struct model_source {
    char *dir;       /* where warmup/ may be; NULL: the model is a single file */
    char *path;      /* the model's own */
    char *name;      /* by the manifest, else by the file or directory */
    int64_t version; /* by the manifest, else 1 */
    const struct backend_ops *ops;
};

/* *ret needs model_source_done() in any case. */
int model_source_open(const char *path, struct model_source *ret, struct err *err);
void model_source_done(struct model_source *s);

static inline void auto_model_source_(struct model_source *s)
{
    model_source_done(s);
}
#define AUTO_MODEL_SOURCE AUTO(model_source) struct model_source
