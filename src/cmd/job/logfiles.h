/* logfiles.h - the output that tasks left, as files: ROLE-RANK.out and ROLE-RANK.err. Blocks on the
 * local disk. */
#pragma once
#include "base/auto.h"
#include "base/str.h"
#include "cmd/job/piece.h"

struct logfile {
    char task[PIECE_TASK_MAX]; /* "worker:1" */
    char role[PIECE_TASK_MAX];
    uint32_t rank;
    enum piece_stream stream;
    char *path;
};

struct logfiles {
    struct logfile *v; /* by role, then rank, then out before err */
    size_t n;
};

/* Is the task one of `wanted` ("worker", "worker:1")? An empty list wants all. */
bool logfiles_wanted(const struct strs *wanted, const char *task);

/* Those in `dir`; names that are none of ours are left out. logfiles_done() in any case. */
int logfiles_list(const char *dir, const struct strs *wanted, struct logfiles *ret,
                  struct err *err);
void logfiles_done(struct logfiles *l);

static inline void auto_logfiles_(struct logfiles *l)
{
    logfiles_done(l);
}
#define AUTO_LOGFILES AUTO(logfiles) struct logfiles /* = { 0 } */

/* Where the last `lines` lines of a file begin; 0 when it has fewer. A last line without an end
 * counts as one. */
int logfiles_tail(int fd, uint64_t lines, uint64_t *ret);
