/* usage.h - processor time and memory of the tasks on this machine, from /proc.
 *
 * A task is the leader of a session, and what it starts belongs to that session unless it makes one
 * of its own. Reading walks all processes once, however many tasks there are. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct usage_of {
    pid_t session;
    uint64_t memory; /* resident bytes */
    uint64_t ticks;  /* processor time so far, in clock ticks */
    double share;    /* of one processor since the reading before; -1 when there was none */
};

struct usage {
    struct usage_of *v; /* by session */
    size_t n;
    int64_t at; /* when it was read: milliseconds of any one clock */
};

/* Reads into `ret`, which is empty; `before` (may be NULL) is the last reading. usage_done(). */
int usage_read(const struct usage *before, int64_t now, struct usage *ret, struct err *err);
void usage_done(struct usage *u);
/* NULL: not there. `u` may be NULL. */
const struct usage_of *usage_find(const struct usage *u, pid_t session);

/* What one line of /proc/PID/stat says; false for what is none. For tests. */
struct usage_stat {
    pid_t session;
    uint64_t ticks, pages;
};
bool usage_parse(const char *text, struct usage_stat *ret);

static inline void auto_usage_(struct usage *u)
{
    usage_done(u);
}
#define AUTO_USAGE AUTO(usage) struct usage /* = { 0 } */
