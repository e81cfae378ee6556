/* signal_watch.h - signals for as long as something is under way. Loop thread only. */
#pragma once
#include "base/auto.h"
#include "base/err.h"

struct loop;
struct signal_watch; /* opaque */

/* Calls fn(arg, number) on the loop for each of the signals (0 ends them), and keeps no loop alive.
 * *ret is the caller's: signal_watch_stop(), also on failure. */
int signal_watch_start(struct loop *l, const int *wanted, void (*fn)(void *arg, int number),
                       void *arg, struct signal_watch **ret, struct err *err);
/* `fn` is not called any more, and the signals are the system's again. NULL is fine; always NULL.
 */
struct signal_watch *signal_watch_stop(struct signal_watch *w);
