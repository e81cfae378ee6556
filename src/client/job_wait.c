/* job_wait.c - waiting for a job's end: the events stream is read until it has the record of the
 * end, beside an alarm for callers that give a timeout. */
#include "client/job_wait.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#include <string.h>

/* Cancels the fiber that waits when the time is over. */
struct alarm {
    struct loop *loop;
    struct fiber *waiter; /* NULL: it no longer waits */
    int64_t ms;
    bool rang;
    struct cond ended;
    struct fiber *fiber;
};

static void run_alarm(void *arg)
{
    struct alarm *a = arg;

    if (fiber_sleep(a->loop, a->ms) == 0 && a->waiter) {
        a->rang = true;
        fiber_cancel(a->waiter);
    }
    a->fiber = NULL;
    cond_wake_all(&a->ended);
}

static void end_alarm(struct alarm *a)
{
    a->waiter = NULL;
    fiber_shield(a->loop, true);
    if (a->fiber)
        fiber_cancel(a->fiber);
    while (a->fiber)
        (void)cond_wait(a->loop, &a->ended, LOOP_NEVER);
    fiber_shield(a->loop, false);
}

static int wait_look_for_end(void *arg, const char *line, size_t n)
{
    bool *ended = arg;

    *ended |= memmem(line, n < 96 ? n : 96, "\"event\":\"end\"", 13) != NULL;
    return 0;
}

int wait_end(struct job_call *x, int64_t timeout, json_t **ret, struct err *err)
{
    struct alarm a = { .loop = x->loop, .waiter = fiber_self(x->loop), .ms = timeout };
    bool ended = false;
    int r = timeout > 0 ? fiber_start(x->loop, run_alarm, &a, &a.fiber, err) : 0;

    client_set_patience(x->client, CLIENT_LONG_MS);
    if (r == 0)
        r = client_events(x->client, true, wait_look_for_end, &ended, err);
    end_alarm(&a);
    if (a.rang && !ended) {
        char span[FORMAT_SPAN];

        err_clear(err);
        return err_set(err, -ETIME, "%s has not ended within %s", client_id(x->client),
                       format_span(timeout, span));
    }
    if (r < 0)
        return r;
    client_settle(x->client); /* when that is over, nothing of the job is left */
    r = client_status(x->client, true, ret, err);
    client_tidy(x->client); /* … but what only a master would have put away */
    return r;
}

int wait_for_end(struct job_call *x, int64_t timeout, struct err *err)
{
    AUTO_JSON *status = NULL;
    int r = wait_end(x, timeout, &status, err), code;

    if (r < 0)
        return r;
    code = job_exit(status, err);
    if (code < 0)
        return code;
    if (x->globals->json)
        r = json_print(stdout, status, err);
    else if (!x->globals->quiet && format_failed(status))
        r = job_tell(status, client_logs(x->client), err);
    return r < 0 ? r : code;
}
