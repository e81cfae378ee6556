/* interrupt.c - see interrupt.h. The signals only count; a fiber acts, since asking takes time. */
#include "follow/interrupt.h"
#include "client/job_actions.h"
#include "client/signal_watch.h"
#include "loop/fiber.h"

#include <signal.h>

struct interrupt {
    struct interrupt_options o;
    struct loop *loop;
    struct signal_watch *signals;
    unsigned count, done;
    struct fiber *fiber;
    struct cond came, ended;
    bool pending[2]; /* by `passed` */
    bool stopping;
};

/* Those that mean something to the tasks only. Two of a kind that come at once are one, as in the
 * kernel. */
static const struct {
    int number;
    const char *target;
} passed[] = {
    { SIGUSR1, "/v1/signal?name=USR1" },
    { SIGUSR2, "/v1/signal?name=USR2" },
};

static bool another_came(const void *user)
{
    const struct interrupt *i = user;

    return i->done < i->count;
}

/* Whoever wants more than a stop need not wait until a master has heard of that one. */
static int interrupt_stop_job(struct interrupt *i, struct err *err)
{
    return act_ask_stop_beside(i->o.client, another_came, i, err);
}

static int kill_job(struct interrupt *i, struct err *err)
{
    return client_end(i->o.client, "/v1/kill", true, err);
}

/* What each of them asks for, in turn. */
static const struct {
    int (*ask)(struct interrupt *i, struct err *err);
    const char *note;
} steps[] = {
    { interrupt_stop_job, "stopping the job; press Ctrl-C again to kill it now" },
    { kill_job, "killing the job; press Ctrl-C again to leave at once" },
};

static void interrupt_on_signal(void *arg, int signum)
{
    struct interrupt *i = arg;
    bool is_passed = false;

    for (size_t k = 0; k < COUNT_OF(passed); k++)
        if (passed[k].number == signum)
            is_passed = i->pending[k] = true;
    i->count += !is_passed;
    cond_wake_all(&i->came);
}

/* False when there was nothing to pass on. */
static bool pass(struct interrupt *i)
{
    for (size_t k = 0; k < COUNT_OF(passed); k++) {
        struct err err = ERR_INIT;

        if (!i->pending[k])
            continue;
        i->pending[k] = false;
        if (client_put_now(i->o.client, passed[k].target, NULL, 0, &err) < 0 &&
            err.code != -ECANCELED && !i->o.quiet)
            (void)screen_note(i->o.screen, "the signal could not be passed on to the tasks: %s",
                              err.text);
        return true;
    }
    return false;
}

static void interrupt_leave(struct interrupt *i)
{
    if (i->o.detach && !i->o.quiet)
        (void)screen_note(i->o.screen,
                          "%s goes on. Follow it: ydl logs -f %s. Stop it: ydl stop %s",
                          client_id(i->o.client), client_id(i->o.client), client_id(i->o.client));
    fiber_cancel(i->o.fiber);
}

/* One step for each Ctrl-C: stop, kill, leave. One that comes while the master is being asked is
 * counted and has its turn afterwards. */
static void interrupt_act(struct interrupt *i)
{
    struct err err = ERR_INIT;
    unsigned step = i->done++;

    if (i->o.detach || step >= COUNT_OF(steps)) {
        interrupt_leave(i);
        return;
    }
    if (!i->o.quiet)
        (void)screen_note(i->o.screen, "%s", steps[step].note);
    /* A job that has just ended refuses; the stream's end follows. */
    if (steps[step].ask(i, &err) < 0 && err.code != -ECANCELED && !i->o.quiet)
        (void)screen_note(i->o.screen, "%s", err.text);
}

static void interrupt_run(void *arg)
{
    struct interrupt *i = arg;

    while (!i->stopping) {
        if (i->done < i->count)
            interrupt_act(i);
        else if (pass(i))
            continue;
        else if (cond_wait(i->loop, &i->came, LOOP_NEVER) < 0)
            break;
    }
    i->fiber = NULL;
    cond_wake_all(&i->ended);
}

int interrupt_start(const struct interrupt_options *o, struct interrupt **ret, struct err *err)
{
    static const int wanted[] = { SIGINT, SIGTERM, SIGUSR1, SIGUSR2, 0 };
    AUTO(interrupt) struct interrupt *i = calloc(1, sizeof(*i));
    int r;

    if (!i)
        return err_oom(err);
    i->o = *o;
    i->loop = client_loop(o->client);
    r = signal_watch_start(i->loop, wanted, interrupt_on_signal, i, &i->signals, err);
    if (r == 0)
        r = fiber_start(i->loop, interrupt_run, i, &i->fiber, err);
    if (r < 0)
        return r;
    *ret = take(i);
    return 0;
}

unsigned interrupt_count(const struct interrupt *i)
{
    return i ? i->count : 0;
}

struct interrupt *interrupt_stop(struct interrupt *i)
{
    if (!i)
        return NULL;
    i->stopping = true;
    if (i->fiber) {
        fiber_cancel(i->fiber); /* also out of a question to a master that is gone */
        fiber_shield(i->loop, true);
        while (i->fiber)
            (void)cond_wait(i->loop, &i->ended, LOOP_NEVER);
        fiber_shield(i->loop, false);
    }
    signal_watch_stop(i->signals);
    free(i);
    return NULL;
}
