/* export_private.h - what export.c and the files export_*.c share: one saving of everything.
 */
#pragma once
#include "agent/agent_private.h"
#include "agent/link/job_files.h"
#include "base/json.h"

#include <stdatomic.h>
#include <sys/stat.h>

#define EXPORT_AT_ONCE 4 /* files under way at a time */

/* What the master is told of one target. */
struct saved {
    const char *to;
    uint64_t files, bytes;
    char fail[512];            /* the first failure, or "" */
    unsigned fails;            /* … and how many there were */
    json_t *placed;            /* files of ours that are there, as keys */
    const struct strs *labels; /* of output: tasks whose output is there; NULL: not output */
};

/* Files and directories that are never results; sorted. */
struct own_file {
    dev_t dev;
    ino_t ino;
};
struct own_files {
    struct own_file *v;
    size_t n;
};

struct export
{
    struct agent *agent;
    struct fiber *fiber;
    struct remote remote;
    struct own_files own;
    struct own_file yarns_tmp; /* a directory of YARN's that tasks may write to */
    int64_t moved;             /* time of the last progress; loop's clock */
    int64_t until;             /* loop's clock; LOOP_NEVER: as long as something does */
    atomic_bool stop;          /* no progress for too long, or `until` has passed */
    atomic_size_t looked_at;   /* files listed by another thread: that is progress, too */
    size_t seen;               /* value of looked_at at the last check */
    bool hurry;                /* our container is being ended, or there is no master */
    bool late;                 /* it was later than that */
    bool output_only;
    bool done;
    struct cond changed;
};

struct export_move { /* both on `fs`; borrowed */
    struct fs *fs;
    const char *from, *to;
    bool overwrite;
};

/* Notes progress. -ECANCELED when time is up. */
int export_moved(struct export *x, struct err *err);
void export_failed(const struct export *x, struct saved *s, const struct err *err); /* the first */

/* Calls fn(arg), which writes to `fs`, until it succeeds, a retry is pointless, or time is up. */
int export_try(struct export *x, const struct fs *fs, int (*fn)(void *arg, struct err *err),
               void *arg, struct err *err);

/* fs_rename() with retries. A rename whose answer was lost may have succeeded: if `from` is gone
 * and `to` exists at the retry, that counts as success. */
int export_rename(struct export *x, const struct export_move *m, struct err *err);

/* The labels of tasks that an earlier agent of this container had, and we do not; -ENOMEM. */
int export_found(const struct agent *a, struct strs *ret);

/* ---- export.c: one file ---- */

/* `kept` is a descriptor of the file, in case it has been removed; or -1. */
int export_open(const char *path, int kept);
int export_copy_in(struct export *x, const char *from, int kept, struct fs_writer *w,
                   struct err *err);
int export_close_copy(struct export *x, struct fs_writer *w, uint64_t *ret_bytes,
                      struct err *err);                         /* takes `w` over */
void export_tell(struct export *x, struct saved *s, bool last); /* the master */

/* What all tasks here wrote. */
void export_output(struct export *x);

/* Copies one file to `to`; another one of that name is replaced. */
int export_copy(struct export *x, const char *from, struct fs *fs, const char *to,
                uint64_t *ret_bytes, struct err *err);
/* Copies the directory `from` to where `s` says; `label` is the task's, NULL: it is all tasks', and
 * takes the place of what is there. Nothing in it is fine. */
void export_tree(struct export *x, const char *from, const char *label, struct saved *s);

/* ---- export_own.c ---- */
int export_own_find(struct export *x, struct err *err);
bool export_is_own(const struct export *x, const struct stat *st);
void export_own_done(struct export *x);
