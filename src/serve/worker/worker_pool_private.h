/* worker_pool_private.h - what the files of the pool share. */
#pragma once
#include "base/buf.h"
#include "serve/line_out.h"
#include "serve/worker/worker_message.h"
#include "serve/worker/worker_pool.h"
#include "serve/worker/worker_process.h"
#include "serve/worker/worker_region.h"

#include <pthread.h>

#define WORKER_LINE 512 /* of the last line that is kept */

enum worker_state {
    WORKER_DOWN, /* no process; starts at `next_ms` */
    WORKER_STARTING,
    WORKER_IDLE,
    WORKER_BUSY,   /* a run has it; nobody else touches its socket and regions */
    WORKER_BROKEN, /* the run has let go of it, for the keeper to replace */
};

/* What is under the lock is said by worker_state: a run owns a busy one, the keeper the others. */
struct worker {
    unsigned index;
    enum worker_state state;     /* under the lock */
    bool ended;                  /* likewise: the process has, while a run still has it */
    int status;                  /* then */
    uint64_t life;               /* likewise: counts processes */
    char last_line[WORKER_LINE]; /* likewise: that it printed since its last request began */
    char end_text[64];           /* likewise: how the last one ended, and its last line */
    char end_line[WORKER_LINE];
    struct worker_process process;
    struct worker_region in, out;
    uint64_t sequence;
    int64_t next_ms, ready_ms;
    int64_t deadline_ms; /* for loading; of a broken one, to end by itself */
    unsigned failures;   /* in a row */
    bool silent;         /* it closed its socket before it was ready */
    struct buf line;     /* printed and not ended yet */
};

struct worker_pool {
    struct worker_pool_options o;
    char *python, *file, *about;
    int program, wake; /* an eventfd that wakes the keeper */
    pthread_t keeper;
    bool keeping;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* of a state */
    bool stopping;          /* under the lock */
    bool loaded;            /* likewise: all were ready once */
    struct err failed;      /* likewise: why one could not be loaded; code 0: none yet */
    int64_t none_ms;        /* likewise: since when no worker was there to run; 0 */
    struct line_out out;    /* the keeper's: what workers print */
    struct worker *v;
    unsigned n;
};

int64_t worker_now(void); /* monotonic milliseconds */
void worker_wake(struct worker_pool *p);
/* The keeper's thread. */
void *worker_keep(void *pool);

/* Reads what a worker has printed so far and passes its lines on. */
void worker_output_read(struct worker_pool *p, struct worker *w);
/* What is left without an end of line. */
void worker_output_end(struct worker_pool *p, struct worker *w);
