/* fiber.h - straight-line code that waits without blocking the loop.
 *
 * A fiber is a function with a stack of its own that runs on the loop's thread. It goes on until
 * it waits; then others run. So code between two waits is atomic, needs no lock, and a protocol
 * reads from top to bottom. A wait ends exactly once: woken (0), at its deadline (-ETIMEDOUT), or
 * cancelled (-ECANCELED).
 *
 * What waits may only be called on a fiber. Nothing here may be called from another thread. */
#pragma once
#include "loop/loop.h"
#include <stddef.h>

struct fiber; /* opaque */

/* Bytes of stack; only the pages that are touched cost memory. */
#define FIBER_STACK ((size_t)256 * 1024)

/* Starts fn(arg) at the loop's next turn, never inside this call. The fiber frees itself when `fn`
 * returns; *ret (may be NULL) is borrowed and valid until then. */
int fiber_start(struct loop *l, void (*fn)(void *arg), void *arg, struct fiber **ret,
                struct err *err);

struct fiber *fiber_self(struct loop *l); /* NULL outside any fiber */

/* From now on every wait of `f` gives -ECANCELED at once, the present one too. */
void fiber_cancel(struct fiber *f);
bool fiber_cancelled(struct loop *l); /* the running fiber; false while shielded */
/* While shielded a fiber's waits are not cancelled: for clean-up that must talk to a server. */
void fiber_shield(struct loop *l, bool on);

/* Lets everything else that is ready run once. */
int fiber_yield(struct loop *l);
int fiber_sleep(struct loop *l, int64_t ms);

/* A condition that fibers wait for. Zero is a valid start; it needs no freeing. */
struct cond {
    struct fiber *first, *last;
};

int cond_wait(struct loop *l, struct cond *c, int64_t deadline);
void cond_wake(struct cond *c);     /* the one that has waited longest */
void cond_wake_all(struct cond *c); /* never runs them inside this call */

/* Fibers that are waited for together. The first failure cancels the others. */
struct group {
    struct loop *loop;
    struct group_member *members;
    size_t running;
    size_t limit; /* group_go waits while this many run; 0 for no limit */
    struct cond changed;
    int result; /* the first failure, or 0 */
    struct err err;
};

void group_init(struct group *g, struct loop *l, size_t limit);
/* Starts fn(arg, err) when there is room. `arg` is the caller's and must live until it is done.
 * Fails when the group has failed already. */
int group_go(struct group *g, int (*fn)(void *arg, struct err *err), void *arg, struct err *err);
/* Waits for all, whatever happens; returns the first failure. To be called on every path. */
int group_wait(struct group *g, struct err *err);
void group_cancel(struct group *g);
/* Runs all of `fns` on the same `arg` at the same time and waits for them: the first failure, also
 * that one could not be started, or that we were cancelled meanwhile. */
int group_all(struct loop *l, int (*const *fns)(void *arg, struct err *err), size_t n, void *arg,
              struct err *err);
