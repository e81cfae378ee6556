/* interrupt.h - Ctrl-C for a job that is ours: stop, then kill, then leave.
 *
 * SIGINT and SIGTERM are counted from start to stop; each asks the job's master for more. SIGUSR1
 * and SIGUSR2 are passed on to its tasks. Loop thread only. */
#pragma once
#include "client/client.h"
#include "terminal/screen.h"

struct interrupt; /* opaque */

struct interrupt_options {
    struct client *client; /* borrowed, as the screen */
    struct screen *screen;
    struct fiber *fiber; /* cancelled when it is time to leave */
    bool detach;         /* leave at the first */
    bool quiet;
};

/* *ret is the caller's: interrupt_stop(). */
int interrupt_start(const struct interrupt_options *o, struct interrupt **ret, struct err *err);
unsigned interrupt_count(const struct interrupt *i); /* signals so far */
/* Signals are the system's again. NULL is fine; always NULL. Fibers only. */
struct interrupt *interrupt_stop(struct interrupt *i);
AUTO_DEFINE(interrupt, struct interrupt *, interrupt_stop);
