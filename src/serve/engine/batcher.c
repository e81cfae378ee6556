/* batcher.c - the queue, and when the next batch leaves it. Whatever was put into the queue in one
 * turn of the loop is looked at once, before the loop waits again: so requests that came at the
 * same time leave together, without a delay. See batcher.h. */
#include "serve/engine/batcher.h"
#include "base/array.h"
#include "base/log.h"
#include "serve/engine/batch.h"
#include "serve/engine/short_runs.h"

#include <string.h>
#include <uv.h>

struct batcher {
    struct batcher_options o;
    struct runner *runner;
    struct batch_request *first, *last;
    size_t waiting;
    double request_ns; /* what one took of a thread lately */
    struct short_runs runs;
    bool joins;
    unsigned apart, pause; /* requests to be run by themselves; how many the next time */
    uv_prepare_t turn;     /* active while something waits */
    uv_timer_t delay;
    unsigned handles; /* that are still open */
};

/* Requests by themselves, after outputs that could not be taken apart. */
#define PAUSE_FIRST 1024
#define PAUSE_MAX (64 * 1024)

static int64_t batcher_now_ns(void)
{
    return (int64_t)uv_hrtime();
}

/* ---- requests ---- */

void batch_request_init(struct batch_request *q, void (*free_it)(struct batch_request *q))
{
    q->free = free_it;
    q->refs = 1;
    q->state = BATCH_NEW;
}

struct batch_request *batch_request_unref(struct batch_request *q)
{
    if (!q || --q->refs > 0)
        return NULL;
    tensors_done(&q->in);
    tensors_done(&q->out); /* before what they may look into */
    q->of = batch_unref(q->of);
    q->free(q);
    return NULL;
}

static void queue_add(struct batcher *b, struct batch_request *q)
{
    q->prev = b->last;
    q->next = NULL;
    *(b->last ? &b->last->next : &b->first) = q;
    b->last = q;
    b->waiting++;
    q->state = BATCH_WAITING;
}

static void queue_remove(struct batcher *b, struct batch_request *q)
{
    *(q->prev ? &q->prev->next : &b->first) = q->next;
    *(q->next ? &q->next->prev : &b->last) = q->prev;
    b->waiting--;
    q->state = BATCH_NEW;
}

/* ---- a batch ---- */

/* How many from the head of the queue go together; *ret_rows of them in all.
 *
 * Only neighbours are joined: nobody is overtaken by a request that happens to fit, so that a large
 * one cannot be kept waiting for ever by small ones. */
static size_t count_next(const struct batcher *b, int64_t *ret_rows)
{
    const struct batch_request *q = b->first;
    size_t n = 1;

    *ret_rows = q->own_rows;
    if (!b->joins || q->own_rows < 0)
        return 1;
    for (q = q->next; q; q = q->next, n++) {
        if (q->own_rows < 0 || q->own_rows > b->o.rows_max - *ret_rows ||
            q->model != b->first->model || !batch_alike(&b->first->in, &q->in))
            break;
        *ret_rows += q->own_rows;
    }
    return n;
}

static void request_ended(struct batch *b, struct batch_request *q)
{
    q->state = BATCH_ENDED;
    q->waited_ns = b->began_ns - q->since_ns;
    q->run_ns = b->ended_ns - b->began_ns;
    q->rows = b->rows;
    tensors_done(&q->in);
    cond_wake_all(&q->ended);
    (void)batch_request_unref(q);
}

/* The last ones count most. */
static void learn(struct batcher *of, const struct batch *b)
{
    double ns = (double)(b->ended_ns - b->began_ns) / (double)b->n;

    of->request_ns += of->request_ns > 0 ? (ns - of->request_ns) / 8 : ns;
    short_runs_add(&of->runs, b->bytes, b->ended_ns - b->began_ns);
}

/* Outputs that were not rows may be the model's way, or that of one request: it is tried again
 * later, and later still. */
static void stop_joining(struct batcher *of)
{
    if (of->apart > 0)
        return;
    if (of->pause == 0)
        log_warn(LOG_MAIN,
                 "the model's outputs were not one row for each row of its inputs: requests run by "
                 "themselves for a while");
    of->pause = of->pause == 0 ? PAUSE_FIRST : of->pause < PAUSE_MAX ? 2 * of->pause : PAUSE_MAX;
    of->apart = of->pause;
}

static void batch_done(struct runner_task *t)
{
    struct batch *b = (struct batch *)t;
    struct batcher *of = b->of;

    learn(of, b);
    if (b->apart)
        stop_joining(of);
    if (of->o.on_batch)
        of->o.on_batch(of->o.user, b->rows, b->ended_ns - b->began_ns, b->here);
    for (size_t i = 0; i < b->n; i++)
        request_ended(b, b->v[i]);
    (void)batch_unref(b);
}

static struct batch *batch_new(struct batcher *of, size_t n, int64_t rows)
{
    struct batch *b = calloc(1, sizeof(*b));

    if (!b)
        return NULL;
    *b = (struct batch){ .task = { .run = batch_run, .done = batch_done },
                         .of = of,
                         .ops = of->o.ops,
                         .model = of->first->model ? of->first->model : of->o.model,
                         .rows = rows > 0 ? rows : 1,
                         .refs = 1 };
    b->v = calloc(n, sizeof(struct batch_request *));
    if (!b->v)
        return batch_unref(b);
    return b;
}

/* Nothing can be run for want of memory: the first one is told. */
static void fail_first(struct batcher *b)
{
    struct batch_request *q = b->first;

    queue_remove(b, q);
    q->state = BATCH_ENDED;
    q->result = err_oom(&q->err);
    cond_wake_all(&q->ended);
}

static uint64_t input_bytes(const struct batch_request *q)
{
    uint64_t n = 0;

    for (size_t i = 0; i < q->in.n; i++)
        n += q->in.v[i].size;
    return n;
}

/* On the loop's thread, and on its own stack: that of a fiber would be too small for a library.
 * Only when nobody else has to wait for it, unless there is but one processor, where threads would
 * take turns anyhow. */
static bool runs_here(const struct batcher *of, const struct batch *b)
{
    return of->o.here != BATCHER_THREADS && runner_busy(of->runner) == 0 &&
           (of->o.here == BATCHER_HERE || (b->n == 1 && !of->first)) &&
           short_runs_expected(&of->runs, b->bytes);
}

/* True: it has run already.
 *
 * Each request gets a second reference here, the run's: its fiber may give up at the deadline while
 * the backend still reads its tensors. Of a joined batch each holds a reference to the batch too,
 * because its outputs look into those of the batch. */
static bool start_batch(struct batcher *of)
{
    int64_t rows = 0;
    size_t n = count_next(of, &rows);
    struct batch *b = batch_new(of, n, rows);

    if (!b) {
        fail_first(of);
        return false;
    }
    for (b->n = 0; b->n < n; b->n++) {
        struct batch_request *q = of->first;

        queue_remove(of, q);
        q->state = BATCH_RUNNING;
        q->refs++;
        b->refs += n > 1;
        q->of = n > 1 ? b : NULL;
        b->v[b->n] = q;
        b->bytes += input_bytes(q);
    }
    if (!runs_here(of, b)) {
        runner_start(of->runner, &b->task);
        return false;
    }
    b->here = true;
    batch_run(&b->task);
    batch_done(&b->task);
    return true;
}

/* ---- when ---- */

/* Milliseconds for which the first one may wait for others; 0: it goes now. */
static int64_t wait_for_others(const struct batcher *b)
{
    int64_t rows = 0, left;

    if (b->o.delay_ms == 0 || !b->joins || b->first->own_rows < 0)
        return 0;
    if (count_next(b, &rows) < b->waiting || rows >= b->o.rows_max)
        return 0; /* it cannot grow any more */
    left = b->o.delay_ms - (batcher_now_ns() - b->first->since_ns) / 1000000;
    return left > 0 ? left : 0;
}

/* Only to begin a turn of the loop, which looks at the queue. */
static void on_delay(uv_timer_t *t)
{
    (void)t;
}

static void turn_in(struct batcher *b, int64_t ms)
{
    uv_update_time(loop_uv(b->o.loop));
    (void)uv_timer_start(&b->delay, on_delay, (uint64_t)ms, 0);
}

/* libuv calls it before it polls: after all that came in with this turn, and before the loop
 * sleeps. That is what joins requests that arrived together without a delay for anybody. */
static void on_turn(uv_prepare_t *h)
{
    struct batcher *b = h->data;
    bool here = false;

    while (b->first && runner_idle(b->runner) > 0) {
        int64_t ms = wait_for_others(b);

        if (ms > 0) {
            turn_in(b, ms);
            break;
        }
        here |= start_batch(b);
    }
    if (here) /* what was run is answered at once: a poll would only delay it */
        loop_run_ready(b->o.loop);
    if (!b->runner) /* one of them was the server's end */
        return;
    if (!b->first)
        (void)uv_prepare_stop(h);
    else if (here && runner_idle(b->runner) > 0 && !uv_is_active((uv_handle_t *)&b->delay))
        turn_in(b, 0); /* who was answered has asked again */
}

/* ---- the interface ---- */

int batcher_new(const struct batcher_options *o, struct batcher **ret, struct err *err)
{
    struct batcher *b = calloc(1, sizeof(*b));
    int r;

    if (!b)
        return err_oom(err);
    b->o = *o;
    b->joins = o->rows_max > 1 && batch_possible(o->signature);
    r = runner_new(o->loop, o->threads, &b->runner, err);
    if (r < 0) {
        free(b);
        return r;
    }
    uv_prepare_init(loop_uv(o->loop), &b->turn);
    uv_timer_init(loop_uv(o->loop), &b->delay);
    b->turn.data = b->delay.data = b;
    b->handles = 2;
    *ret = b;
    return 0;
}

static void batcher_on_closed(uv_handle_t *h)
{
    struct batcher *b = h->data;

    if (--b->handles == 0)
        free(b);
}

struct batcher *batcher_free(struct batcher *b)
{
    if (!b)
        return NULL;
    b->runner = runner_free(b->runner);
    uv_close((uv_handle_t *)&b->turn, batcher_on_closed);
    uv_close((uv_handle_t *)&b->delay, batcher_on_closed);
    return NULL;
}

/* The wait is over before the run is: whoever waits longest, the model, keeps the reference. */
static int give_up(struct batcher *b, struct batch_request *q, int code, struct err *err)
{
    const char *where = q->state == BATCH_RUNNING ? "while the model was running" : "in the queue";

    if (q->state == BATCH_WAITING)
        queue_remove(b, q);
    if (code == -ETIMEDOUT)
        return err_set(err, code, "the request's time was over %s", where);
    return err_set(err, code, "the server ends");
}

void batcher_drop(struct batcher *b, struct batch_request *q)
{
    if (q->state != BATCH_WAITING)
        return;
    queue_remove(b, q);
    q->state = BATCH_ENDED;
    q->waited_ns = batcher_now_ns() - q->since_ns;
    q->result = err_set(&q->err, -ECONNABORTED, "the client has hung up");
    cond_wake_all(&q->ended);
}

/* Behind those that wait and one that runs, would it be answered in three quarters of its time? The
 * first in the queue is always let in, so that what is known of the model can change. */
static bool in_time(const struct batcher *b, int64_t deadline)
{
    double ms = b->request_ns / 1e6 * (double)(b->waiting + 2) / b->o.threads;

    return b->waiting == 0 || deadline == LOOP_NEVER ||
           ms <= 0.75 * (double)(deadline - loop_now(b->o.loop));
}

int batcher_run(struct batcher *b, struct batch_request *q, int64_t deadline, struct err *err)
{
    int r = 0;

    /* Those that idle threads are about to take do not wait. */
    if (b->waiting >= b->o.waiting_max + runner_idle(b->runner))
        return err_set(err, -EAGAIN, "the queue is full: %zu requests wait", b->waiting);
    if (!in_time(b, deadline))
        return err_set(
            err, -EAGAIN,
            "the queue is too long: behind the %zu requests that wait, the request's time "
            "would be over",
            b->waiting);
    q->since_ns = batcher_now_ns();
    q->own_rows =
        batcher_joins(b) ? batch_rows(q->signature ? q->signature : b->o.signature, &q->in) : -1;
    b->apart -= b->apart > 0;
    queue_add(b, q);
    (void)uv_prepare_start(&b->turn, on_turn);
    while (r == 0 && q->state != BATCH_ENDED)
        r = cond_wait(b->o.loop, &q->ended, deadline);
    if (q->state != BATCH_ENDED)
        return give_up(b, q, r, err);
    if (q->result < 0 && err)
        *err = q->err;
    return q->result;
}

size_t batcher_waiting(const struct batcher *b)
{
    return b->waiting;
}

size_t batcher_running(const struct batcher *b)
{
    return runner_busy(b->runner);
}

bool batcher_joins(const struct batcher *b)
{
    return b->joins && b->apart == 0;
}
