/* live_lines.h - lines that are shown to who looks at the job, and stand in no log. See
 * live_lines.c. Loop thread only. */
#pragma once
#include "base/buf.h"

struct master;

/* Lines for who looks at the job now: the last ones, in memory alone. */
struct live {
    struct buf lines;
    uint64_t begin;    /* the first byte's number, of all that there were */
    unsigned watchers; /* who read events as they come */
};

void live_done(struct live *l);
void live_take(struct master *m); /* what the engine has of them */
uint64_t live_end(const struct live *l);
/* Whole lines from *at on into `p`, which is empty when there are none; *at goes on behind them.
 * Who is too late for some misses them. */
int live_read(const struct live *l, uint64_t *at, struct buf *p);
