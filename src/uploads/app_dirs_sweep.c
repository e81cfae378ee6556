/* app_dirs_sweep.c - a fiber beside the command, with a deadline that is looked at before each
 * question to YARN. What it does not get to is left for the next command. See app_dirs_sweep.h. */
#include "uploads/app_dirs_sweep.h"
#include "base/log.h"
#include "loop/fiber.h"

#include <string.h>

struct sweep {
    struct loop *loop;
    struct fs *fs;
    char *base;
    struct app_dirs_alive alive;
    int64_t until; /* loop's clock */
    struct fiber *fiber;
    struct cond over;
    bool done;
};

/* Wraps the caller's function: the deadline is checked before each question. What YARN does not
 * know counts as living here: this sweep runs unasked, and another cluster with the same file
 * system may know it. */
static int state(void *user, const char *app, struct err *err)
{
    const struct sweep *s = user;
    int r;

    if (loop_now(s->loop) > s->until)
        return err_set(err, -ETIMEDOUT, "there is too much");
    r = s->alive.state(s->alive.user, app, err);
    return r == APP_DIRS_UNKNOWN ? APP_DIRS_LIVES : r;
}

static void app_dirs_sweep_run(void *arg)
{
    struct sweep *s = arg;
    struct app_dirs_alive alive = { state, s };
    struct err err = ERR_INIT;
    size_t n = 0;
    int r = app_dirs_sweep(s->fs, s->base, &alive, &n, &err);

    trace(LOG_HDFS, "%zu directories of ended applications removed%s%s", n, r < 0 ? ", then " : "",
          r < 0 ? err.text : "");
    s->done = true;
    cond_wake_all(&s->over);
}

struct sweep *app_dirs_sweep_begin(struct loop *l, struct fs *fs, const char *base,
                                   const struct app_dirs_alive *alive)
{
    AUTO_FREE char *copy = strdup(base);
    AUTO_FREE struct sweep *s = calloc(1, sizeof(*s));

    if (!copy || !s)
        return NULL;
    *s = (struct sweep){ .loop = l, .fs = fs, .base = copy, .alive = *alive };
    s->until = loop_in(l, SWEEP_MS);
    if (fiber_start(l, app_dirs_sweep_run, s, &s->fiber, NULL) < 0)
        return NULL;
    (void)take(copy);
    return take(s);
}

/* Half a second for it to end by itself, then it is cancelled; the wait after that is short, and
 * must not end early. */
struct sweep *app_dirs_sweep_end(struct sweep *s)
{
    int64_t deadline;

    if (!s)
        return NULL;
    deadline = loop_in(s->loop, SWEEP_WAIT_MS);
    while (!s->done && cond_wait(s->loop, &s->over, deadline) == 0)
        ;
    if (!s->done)
        fiber_cancel(s->fiber);
    fiber_shield(s->loop, true); /* it is on its way out, and uses what we are about to free */
    while (!s->done)
        (void)cond_wait(s->loop, &s->over, LOOP_NEVER);
    fiber_shield(s->loop, false);
    free(s->base);
    free(s);
    return NULL;
}
