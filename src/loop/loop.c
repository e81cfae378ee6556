/* loop.c - see loop.h. One turn of the loop: I/O callbacks wake fibers, then the fibers run.
 *
 *     uv_run:  timers ──► poll ──► I/O callbacks ──► check: the fibers ──► closed handles
 *
 * Callbacks only mark fibers as ready. They run in the check phase, or where a program calls
 * loop_run_ready(), so none runs in the middle of another one's callback, and what they queue for
 * the same socket can go out together. */
#include "loop/loop.h"
#include "base/auto.h"
#include "base/log.h"
#include "loop/loop_private.h"

#include <signal.h>
#include <time.h>

static void on_after_poll(uv_check_t *h)
{
    fiber_run_ready(h->data);
}

/* The check handle is unreferenced: it alone must not keep uv_run() from returning. */
int loop_new(struct loop **ret, struct err *err)
{
    AUTO_FREE struct loop *l = calloc(1, sizeof(*l));
    int r;

    if (!l)
        return err_oom(err);
    r = uv_loop_init(&l->uv);
    if (r < 0)
        return err_code(err, r, "start the event loop");
    l->uv.data = l;
    uv_check_init(&l->uv, &l->after_poll);
    uv_idle_init(&l->uv, &l->busy);
    l->after_poll.data = l->busy.data = l;
    uv_check_start(&l->after_poll, on_after_poll);
    uv_unref((uv_handle_t *)&l->after_poll);
    *ret = take(l);
    return 0;
}

void loop_run_ready(struct loop *l)
{
    fiber_run_ready(l);
}

static void loop_close_handle(uv_handle_t *h, void *arg)
{
    struct loop *l = arg;

    if (uv_is_closing(h))
        return;
    if (h != (uv_handle_t *)&l->after_poll && h != (uv_handle_t *)&l->busy)
        trace(LOG_LOOP, "a %s was left open", uv_handle_type_name(h->type));
    uv_close(h, NULL);
}

struct loop *loop_free(struct loop *l)
{
    if (!l)
        return NULL;
    /* Fibers hold memory on their stacks: let each unwind. Cancelled waits return at once, so a
     * few turns do; one that shields itself is waited for. */
    while (l->living > 0) {
        for (struct fiber *f = l->all; f; f = fiber_next(f))
            fiber_cancel(f);
        uv_run(&l->uv, UV_RUN_ONCE);
    }
    uv_walk(&l->uv, loop_close_handle, l);
    while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0)
        ;
    (void)uv_loop_close(&l->uv);
    fiber_drop_spares(l);
    free(l);
    return NULL;
}

uv_loop_t *loop_uv(struct loop *l)
{
    return &l->uv;
}

/* Not uv_now(), which stands still while fibers run: a deadline is compared with the real time. */
int64_t loop_now(const struct loop *l)
{
    (void)l;
    return (int64_t)(uv_hrtime() / 1000000);
}

int64_t loop_wall(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int loop_signal(const struct loop *l)
{
    return l->signal;
}

struct main_fiber {
    struct loop *loop;
    int (*fn)(void *arg);
    void *arg;
    struct fiber *fiber;
    int result;
    bool done;
    uv_signal_t signals[2];
};

static void run_main(void *arg)
{
    struct main_fiber *m = arg;

    m->result = m->fn(m->arg);
    m->done = true;
    uv_stop(&m->loop->uv);
}

static void loop_on_signal(uv_signal_t *h, int signum)
{
    struct main_fiber *m = h->data;

    if (m->loop->signal) { /* the second time they mean it */
        signal(signum, SIG_DFL);
        raise(signum);
    }
    m->loop->signal = signum;
    if (!m->done)
        fiber_cancel(m->fiber);
}

static void loop_watch_signals(struct main_fiber *m)
{
    static const int wanted[] = { SIGINT, SIGTERM };

    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        uv_signal_init(&m->loop->uv, &m->signals[i]);
        m->signals[i].data = m;
        uv_signal_start(&m->signals[i], loop_on_signal, wanted[i]);
        uv_unref((uv_handle_t *)&m->signals[i]);
    }
}

static void on_signal_closed(uv_handle_t *h)
{
    h->data = NULL;
}

/* The handles lie on the stack of loop_run(), so libuv must be done with them before we return. */
static void unwatch_signals(struct main_fiber *m)
{
    for (size_t i = 0; i < COUNT_OF(m->signals); i++)
        uv_close((uv_handle_t *)&m->signals[i], on_signal_closed);
    while (m->signals[0].data || m->signals[1].data)
        uv_run(&m->loop->uv, UV_RUN_NOWAIT);
}

/* uv_run() returns when there is nothing to watch for, which the main fiber may outlast: hence the
 * outer loop. */
int loop_run(struct loop *l, int (*fn)(void *arg), void *arg, bool signals)
{
    struct main_fiber m = { .loop = l, .fn = fn, .arg = arg };
    int r;

    signal(SIGPIPE, SIG_IGN); /* a broken connection is an error code, not a death */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow */
    r = fiber_start(l, run_main, &m, &m.fiber, NULL);
    if (r < 0)
        return r;
    if (signals)
        loop_watch_signals(&m);
    while (!m.done)
        uv_run(&l->uv, UV_RUN_DEFAULT);
    if (signals)
        unwatch_signals(&m);
    return m.result;
}
