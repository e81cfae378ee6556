/* work.h - a function that blocks, run in libuv's thread pool while the fiber waits.
 *
 * The function gets its arguments on the caller's stack, so the fiber waits until it has returned,
 * whatever happens: a deadline or a cancellation cannot stop a thread. Give it only work that ends
 * by itself (a KDC's answer, a file's bytes), and let it share nothing with the loop's thread. */
#pragma once
#include "loop/loop.h"

/* Runs fn(arg) in the pool; returns what it returns. Fibers only. */
int work_run(struct loop *l, int (*fn)(void *arg), void *arg);
