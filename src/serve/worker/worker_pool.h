/* worker_pool.h - the workers of a model, and one run at a time in each.
 *
 *     starting ──READY──► idle ⇄ busy
 *        │ ends, or takes too long │ │ ends, hangs, or answers what it must not
 *        └────────────► down ◄───────┘   then starting again, after a delay that grows
 *
 * A thread of its own, the keeper, starts workers, reads what they print, and replaces those that
 * end. A run takes an idle worker and waits for its answer; when that worker ends, only this run
 * fails. What workers print goes to standard error, line by line, and
 * waits for nobody to read it. */
#pragma once
#include "base/auto.h"
#include "serve/tensor.h"

struct worker_pool; /* opaque */

struct worker_pool_options {
    const char *python, *file; /* see struct worker_spec; borrowed */
    unsigned workers;
    unsigned threads;  /* of each */
    size_t memory_max; /* of the tensors of one run, each way */
    int64_t load_ms;   /* for loading */
    int64_t run_ms;    /* for one run */
};

/* Starts all of them and waits until all are ready: an error is that of the first that is not.
 * *ret is the caller's: worker_pool_free(). */
int worker_pool_new(const struct worker_pool_options *o, struct worker_pool **ret, struct err *err);
/* False when none has been there for some seconds. Any thread. */
bool worker_pool_ready(struct worker_pool *p);
/* What a worker told of the model when it was loaded: JSON. */
const char *worker_pool_about(const struct worker_pool *p);
/* Any number of threads. `ret` is empty before. -EINVAL: the handler refused the inputs;
 * -ETIMEDOUT: it did not answer in run_ms, and was replaced; -EHOSTDOWN: no worker is there; else
 * -EIO. */
int worker_pool_run(struct worker_pool *p, const struct tensors *in, struct tensors *ret,
                    struct err *err);
/* Ends the workers. Not while something runs. NULL is fine; always NULL. */
struct worker_pool *worker_pool_free(struct worker_pool *p);
AUTO_DEFINE(worker_pool, struct worker_pool *, worker_pool_free);
