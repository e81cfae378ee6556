/* work.c - see work.h */
#include "loop/work.h"
#include "loop/fiber.h"

#include <uv.h>

struct work {
    uv_work_t req;
    int (*fn)(void *arg);
    void *arg;
    int result;
    bool done;
    struct cond finished;
};

static void work_do_run(uv_work_t *req)
{
    struct work *w = req->data;

    w->result = w->fn(w->arg);
}

static void work_after(uv_work_t *req, int status)
{
    struct work *w = req->data;

    if (status < 0)
        w->result = status;
    w->done = true;
    cond_wake_all(&w->finished);
}

/* Shielded: `w` lies on our stack and the worker cannot be stopped, so we wait for it even when we
 * are cancelled. */
int work_run(struct loop *l, int (*fn)(void *arg), void *arg)
{
    struct work w = { .fn = fn, .arg = arg };
    int r;

    w.req.data = &w;
    r = uv_queue_work(loop_uv(l), &w.req, work_do_run, work_after);
    if (r < 0)
        return r;
    fiber_shield(l, true);
    while (!w.done)
        (void)cond_wait(l, &w.finished, LOOP_NEVER);
    fiber_shield(l, false);
    return w.result;
}
