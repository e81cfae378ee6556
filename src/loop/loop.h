/* loop.h - one event loop per program: libuv, a millisecond clock, and fibers that run on it.
 *
 * Loop thread only, unless said otherwise. Everything that waits takes a deadline: an absolute
 * time of loop_now()'s clock, in milliseconds; LOOP_NEVER only where something else is sure to
 * end the wait. */
#pragma once
#include "base/err.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct loop; /* opaque */
typedef struct uv_loop_s uv_loop_t;

#define LOOP_NEVER INT64_MAX

/* *ret is the caller's: loop_free(). */
int loop_new(struct loop **ret, struct err *err);
/* Closes what is left open (a leak that is traced) and frees. Always NULL. */
struct loop *loop_free(struct loop *l);

uv_loop_t *loop_uv(struct loop *l);

/* Monotonic milliseconds. Fresh, not the loop's cached time. */
int64_t loop_now(const struct loop *l);
/* Milliseconds since 1970, by the system's clock: for what people and other machines read. */
int64_t loop_wall(void);
static inline int64_t loop_in(const struct loop *l, int64_t ms)
{
    return loop_now(l) + ms;
}

/* Runs the fibers that are ready, now and not after the next poll: for a callback of libuv's that
 * has made some ready, and that can be sure that those they wake in turn need no callback before
 * the poll. Not on a fiber. */
void loop_run_ready(struct loop *l);

/* Runs `fn(arg)` as a fiber and the loop with it until `fn` returns; its result is returned. With
 * `signals`, SIGINT and SIGTERM cancel that fiber: its waits give -ECANCELED, it unwinds, and
 * loop_signal() says which one came. A second signal ends the program at once. */
int loop_run(struct loop *l, int (*fn)(void *arg), void *arg, bool signals);
int loop_signal(const struct loop *l); /* 0 when none came */
