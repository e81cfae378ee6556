/* store.h - what changes in a registry's directory: making directories, staging, sealing, removing.
 *
 * The steps are the same on a local disk and on HDFS; only a flush of a directory is not needed on
 * HDFS, whose NameNode writes down every name before it answers. Fibers only. */
#pragma once
#include "model/files.h"
#include "model/manifest.h"
#include "model/models.h"

struct progress;

/* Makes a directory with the mode of the one that it is in; one that is there is fine. */
int model_store_mkdir(const struct models *r, const char *path, struct err *err);
/* The registry's root and its directory for what is being written. */
int model_store_begin(const struct models *r, struct err *err);
/* A new path below .staging that says who writes it; nothing is made. */
int model_store_staging(const struct models *r, char **ret, struct err *err);

/* A file written whole, of mode 0444, and on the disk. */
int model_store_put(const struct models *r, const char *path, const char *text, struct err *err);

/* Copies files into `dir` (which is made), under `prefix` there ("model"), and fills `ret` with one
 * row for each: its path with the prefix, size and hash. `done` counts the bytes. */
struct model_store_copy {
    struct loop *loop;
    struct fs *to;
    const char *dir, *prefix;
    struct progress *progress; /* NULL is fine */
};
struct model_store_rows {
    struct manifest_file *v; /* with their own paths */
    size_t n;
};
int model_store_copy(const struct model_store_copy *c, const struct model_files *from,
                     struct model_store_rows *ret, struct err *err);
void model_store_rows_done(struct model_store_rows *rows);

/* Is it a symbolic link on a local disk? Nothing in a registry is one, so what such a link leads to
 * is none of ours: it is neither changed nor looked into. */
bool model_store_is_link(struct fs *fs, const char *path);
/* A directory's names are on the disk. */
int model_store_sync_dir(struct fs *fs, const char *dir, struct err *err);
/* Everything below `dir` read-only, and on the disk; `dir` itself keeps its mode. */
int model_store_seal(struct fs *fs, const char *dir, struct err *err);
/* Removes a tree whose directories may be read-only. Nothing there is fine. Goes on when the fiber
 * is cancelled. */
int model_store_remove(const struct models *r, const char *path, struct err *err);

#define AUTO_MODEL_STORE_ROWS AUTO_DONE(model_store_rows_done) struct model_store_rows
