/* runner.h - threads that do what takes a processor's time, so that the loop never waits for it.
 *
 * Not libuv's pool: its threads are shared with file systems and name lookups, and their number is
 * not that of the runs that a model may have at a time. Loop thread only. */
#pragma once
#include "base/auto.h"
#include "loop/loop.h"
#include <stddef.h>

struct runner; /* opaque */

/* Part of something larger, which lives until `done` was called. */
struct runner_task {
    void (*run)(struct runner_task *t);  /* on one of the threads */
    void (*done)(struct runner_task *t); /* on the loop's thread, afterwards */
    struct runner_task *next;
};

/* *ret is the caller's: runner_free(). */
int runner_new(struct loop *l, unsigned threads, struct runner **ret, struct err *err);
void runner_start(struct runner *r, struct runner_task *t); /* in the order of the calls */
size_t runner_idle(const struct runner *r);                 /* threads without a task */
size_t runner_busy(const struct runner *r);                 /* tasks that were not done yet */
/* Waits for the threads, which end what they are at; tasks that none has begun are dropped without
 * a word. Only call it with a busy runner when what runs is sure to end. NULL is fine; always NULL.
 */
struct runner *runner_free(struct runner *r);
AUTO_DEFINE(runner, struct runner *, runner_free);
