/* batcher.h - requests wait here for the model, and go to it several at a time.
 *
 *     new ──batcher_run()──► waiting ──a thread is free──► running ──► ended
 *      │ too many: -EAGAIN      │ deadline: -ETIMEDOUT        │ deadline: -ETIMEDOUT, but the model
 *      ▼                        ▼                             ▼ goes on: its result is dropped
 *
 * Requests are joined along the first dimension of their tensors when the model takes any size
 * there and their other dimensions are equal. Joined or not, each gets its own result: when a
 * joined run fails, its requests are run one by one, so that a bad one spoils no other.
 *
 * Too many are those that the queue has no place for, and those whose turn would come too late: a
 * queue in which everybody waits until shortly before the deadline answers nobody in time.
 *
 * Nothing is waited for as long as the model is free, unless a delay is asked for: while it is
 * busy, what comes in is the next batch. A run that is known to be short is done on the loop's
 * thread: two hand-overs between threads would cost as much as a small model. Loop thread only. */
#pragma once
#include "loop/fiber.h"
#include "serve/backend/backend.h"

enum batch_state { BATCH_NEW, BATCH_WAITING, BATCH_RUNNING, BATCH_ENDED };

/* Part of something larger. Whoever makes it has one reference; a run has one more, so that its
 * memory stays for as long as the backend may look at it. */
struct batch_request {
    struct tensors in;                 /* the signature's inputs in its order; owned */
    struct tensors out;                /* valid until the last reference is gone; owned */
    void *model;                       /* instead of the batcher's: of another signature; NULL */
    const struct signature *signature; /* that one; NULL */
    int result;
    struct err err;
    int64_t waited_ns, run_ns;             /* in the queue, and in the model */
    int64_t rows;                          /* of its batch in the end */
    void (*free)(struct batch_request *q); /* frees all of it; tensors are gone by then */

    /* The batcher's own. */
    enum batch_state state;
    unsigned refs;
    struct cond ended;
    struct batch_request *prev, *next;
    struct batch *of;
    int64_t since_ns;
    int64_t own_rows; /* -1: cannot be joined with others */
};

struct batcher; /* opaque */

/* Where a run may be done that is known to be short (short_runs.h). */
enum batcher_where {
    BATCHER_THREADS,    /* always on a thread of its own */
    BATCHER_HERE_ALONE, /* on the loop's thread, when nothing else waits for the model or runs */
    BATCHER_HERE,       /* the same, whoever waits: there is but one processor */
};

struct batcher_options {
    struct loop *loop;
    const struct backend_ops *ops;
    void *model;
    const struct signature *signature; /* borrowed */
    unsigned threads;                  /* runs at a time */
    enum batcher_where here;           /* needs a stack of 8 MiB for all that the loop calls */
    int64_t rows_max;                  /* of a batch; 1: none are joined */
    int64_t delay_ms;                  /* the first of a batch waits so long for others; 0: not */
    size_t waiting_max;                /* requests in the queue */
    /* A run has ended, `here` on the loop's thread; may be NULL. */
    void (*on_batch)(void *user, int64_t rows, int64_t ns, bool here);
    void *user;
};

/* *ret is the caller's: batcher_free(). */
int batcher_new(const struct batcher_options *o, struct batcher **ret, struct err *err);
/* Only when nothing runs: batcher_running(). NULL is fine; always NULL. */
struct batcher *batcher_free(struct batcher *b);

/* `q` is zeroed but for `free`, and has one reference now. */
void batch_request_init(struct batch_request *q, void (*free_it)(struct batch_request *q));
/* Gives a reference back. NULL is fine; always NULL. */
struct batch_request *batch_request_unref(struct batch_request *q);

/* Runs it and waits: 0 with q->out, or what the backend says; -EAGAIN when too many wait,
 * -ETIMEDOUT at the deadline, -ECANCELED; with a sentence. q->in is used up. Fibers only. */
int batcher_run(struct batcher *b, struct batch_request *q, int64_t deadline, struct err *err);

/* Nobody wants its answer any more: one that still waits is not run, and batcher_run() returns
 * -ECONNABORTED. Any caller on the loop's thread. */
void batcher_drop(struct batcher *b, struct batch_request *q);

size_t batcher_waiting(const struct batcher *b); /* requests in the queue */
size_t batcher_running(const struct batcher *b); /* runs that have not ended */
/* Are requests joined now? Not when the model does not allow it, or for a while after outputs that
 * were not by rows. */
bool batcher_joins(const struct batcher *b);
