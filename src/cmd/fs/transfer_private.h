/* transfer_private.h - what transfer.c, fs_tree.c and leftover.c share. */
#pragma once
#include "cmd/fs/transfer.h"
#include "hadoop/tree/tree_copy.h"

#define COPY_DEPTH_MOST 1000 /* of directories: as deep as HDFS allows */

/* How its files are copied, with the progress line. */
struct tree_copy copy_how(struct copy *c);

/* Copies one file to `to`, which nobody else sees: it is not renamed, but it is gone after a
 * failure. `parents` makes directories above it. */
int copy_plain(struct copy *c, const char *from, const char *to, bool parents, struct err *err);
/* The same by way of a temporary name, replacing what is there when the copy may. */
int copy_atomic(struct copy *c, const char *from, const char *to, bool parents, struct err *err);

/* ---- leftover.c ---- */

/* Deletes what must not stay, even when this fiber was cancelled. `path` NULL is fine. */
void copy_clean(struct copy *c, const char *path, bool recursive);
/* Deletes directories that this copy made, and those below them, where nothing is in them; even
 * when this fiber was cancelled. */
void copy_prune(struct copy *c, const struct strs *dirs);
/* Gives a complete file or tree its name, or deletes it when that fails or this fiber was cancelled
 * before. A cancellation from then on comes too late. */
int copy_commit(struct copy *c, const char *from, const char *to, bool replace, struct err *err);

/* Puts the target where the temporary name stands in the text of an error. */
void copy_name_target(struct err *err, const char *tmp, const char *target);

/* A directory and everything in it. */
int copy_tree(struct copy *c, const struct fs_entry *source, const struct place *to,
              struct err *err);
