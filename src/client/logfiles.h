/* logfiles.h - saved task output, as files ROLE-RANK.out and ROLE-RANK.err: in a local directory,
 * where long ones are in pieces (base/rotate.h); in HDFS, where a task that moved has several
 * (ROLE-RANK.1.out …); or fetched into a spool. Fibers only; blocks on the local disk. */
#pragma once
#include "base/json.h"
#include "base/str.h"
#include "client/output_spool.h"
#include "hadoop/fs/fs.h"

struct logfile {
    char task[PIECE_TASK_MAX]; /* "worker:1" */
    char role[PIECE_TASK_MAX];
    uint32_t rank;
    enum piece_stream stream;
    uint32_t part; /* 1, 2 …: of an earlier agent of the task, in this order; 0: of the last one */
    bool earlier;  /* of a running job, whose master does not send it: earlier_output.h */
    /* Number of the file in HDFS; in a spool, of the one there that has its beginning; else 0. */
    uint64_t id;
    struct fs *fs; /* where `path` is; or … */
    char *path;
    const struct spool *spool; /* … the stream `lane` of this one */
    size_t lane;
};

struct logfiles {
    struct logfile *v; /* by role, then rank, then out before err, then part */
    size_t n;
};

/* Is the task one of `wanted` ("worker", "worker:1")? An empty list wants all. */
bool logfiles_wanted(const struct strs *wanted, const char *task);

/* "worker-12.err", "worker-12.3.err" (the part 3), or "worker-12.stderr" as in YARN's own logs;
 * false for any other name. */
bool logfiles_parse(const char *name, struct logfile *ret);
/* Is this stream of this task in the list? */
bool logfiles_has(const struct logfiles *l, const struct logfile *f);
/* Did tasks go with their application, as a job's document says? Their agents may have saved what
 * they had, or do so after the end. */
bool logfiles_killed(const json_t *status);
/* Adds the names of tasks that were started, as a job's document says, and have no file: of a job
 * whose master was lost, or whose application was killed. Others say themselves what is missing.
 * -ENOMEM. */
int logfiles_lacking(const struct logfiles *l, const json_t *status, struct strs *ret);

/* Adds those in `dir`; other names are left out, and a missing directory counts as empty.
 * logfiles_done() in any case. */
int logfiles_list(struct fs *fs, const char *dir, const struct strs *wanted, struct logfiles *ret,
                  struct err *err);
/* Adds the streams of a spool, which outlives `ret`, that are not in the list yet. */
int logfiles_add(const struct spool *s, const struct strs *wanted, struct logfiles *ret,
                 struct err *err);
/* Adds all that are in `from`, which is empty then. -ENOMEM. */
int logfiles_move(struct logfiles *from, struct logfiles *ret);
void logfiles_done(struct logfiles *l);

#define AUTO_LOGFILES AUTO_DONE(logfiles_done) struct logfiles /* = { 0 } */

/* One of them, opened. */
struct logreader; /* opaque */
/* *ret is the caller's; `f` outlives it. */
int logreader_open(const struct logfile *f, struct logreader **ret, struct err *err);
struct logreader *logreader_close(struct logreader *r); /* NULL is fine; always NULL */
AUTO_DEFINE(logreader, struct logreader *, logreader_close);
#define AUTO_LOGREADER AUTO(logreader) struct logreader

uint64_t logreader_size(const struct logreader *r);  /* where it ends */
uint64_t logreader_begin(const struct logreader *r); /* the first byte that a spool has; else 0 */
/* At least one byte and at most `n` from *offset on, which is moved over bytes that nobody has; 0
 * at the end. */
ssize_t logreader_read(struct logreader *r, uint64_t *offset, void *p, size_t n, struct err *err);
/* Where the last *lines lines begin; 0 when there are fewer, and *lines is then how many are
 * missing. A last line without an end counts as one. */
int logreader_tail(struct logreader *r, uint64_t *lines, uint64_t *ret, struct err *err);
