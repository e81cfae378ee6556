/* fs_files.h - what the verbs of `ydl fs` share: the file systems, the operands and what they stand
 * for, and failures that do not stop the rest.
 *
 * Each operand is worked through on its own. One that fails is reported at once and the next one
 * follows; the first failure gives the exit code. Only an interruption, or a cluster that is not
 * there, ends it all. Fibers only. */
#pragma once
#include "cli/doc.h"
#include "client/connect.h"
#include "hadoop/fs/fs.h"

struct files {
    struct connection *x;
    struct fs_set *set;
    struct doc doc;       /* on with --json */
    int failed;           /* result of the first operand that failed, or 0 */
    bool missing_is_fine; /* an operand that stands for nothing is passed over */
};

typedef int files_fn(struct files *f, struct err *err);

/* The verbs' `run`: opens the session and the file systems, calls their function, ends the JSON
 * document with the list `key`. Returns an exit code, or a negative errno when nothing was begun.
 */
int files_run(struct cli *c, struct err *err);
#define FILES_VERB(fn, key) .run = files_run, .work = CLI_WORK(files_fn, fn), .list = (key)

/* Not an errno: a failure that was reported already and leaves nothing more to try. */
#define FILES_STOP (-4098)

/* Reports the failure of an operand. Returns 0 when the next one is worth a try, else FILES_STOP.
 * FILES_STOP itself is passed on. */
int files_failed(struct files *f, const char *operand, int r, struct err *err);

/* The same for what may have gone well: 0 then. */
int files_outcome(struct files *f, const char *operand, int r, struct err *err);

/* fs_find() for an operand; a cluster's path without a configuration is refused here. */
int files_find(struct files *f, const char *operand, enum fs_default where, struct fs **ret,
               char **ret_path, struct err *err);

/* One file or directory that an operand stands for; all borrowed. */
struct files_item {
    struct fs *fs;
    const struct fs_entry *entry;
    const char *operand;
};
typedef int files_item_fn(struct files *f, const struct files_item *item, struct err *err);

/* Calls fn() for everything on the cluster that `n` operands stand for, patterns expanded.
 * Failures, also of fn(), are reported here. 0 or FILES_STOP. */
int files_each(struct files *f, char *const *operands, size_t n, files_item_fn *fn,
               struct err *err);

/* The same for all operands of the command line; without any, for the home directory. */
int files_each_or_home(struct files *f, files_item_fn *fn, struct err *err);

/* What one operand stands for. Nothing is -ENOENT. `ret` is the caller's. */
int files_expand(struct files *f, const char *operand, struct fs **ret_fs, struct fs_entries *ret,
                 struct err *err);

/* Everything below `path`, each directory before what is in it; `path` itself is not told. What
 * fails is reported and left out: a directory that cannot be read, an entry that fn() fails for. 0
 * or FILES_STOP. */
typedef int files_walk_fn(struct files *f, struct fs *fs, const struct fs_entry *e, void *arg,
                          struct err *err);
int files_walk(struct files *f, struct fs *fs, const char *path, files_walk_fn *fn, void *arg,
               struct err *err);

/* The rest of the reader to standard output. EXIT_OUTPUT_GONE when nobody reads that any more. */
int files_to_stdout(struct fs_reader *r, fs_progress_fn *on_progress, void *arg, struct err *err);

/* The arguments of the running verb. */
static inline const void *files_args(const struct files *f)
{
    return f->x->cli->args;
}
