/* job_actions.c - asks the master, and where a master is lost on the way asks the next one.
 * Answers of a job that ends are told apart by its state, because every refusal looks alike. See
 * job_actions.h. */
#include "client/job_actions.h"
#include "client/job_wait.h"
#include "client/past_job.h"
#include "job/engine/state.h"
#include "loop/fiber.h"
#include "terminal/format.h"
#include "terminal/stream_piece.h"

#include <stdio.h>

#define MASTERS_ASKED 20 /* client_again() makes pauses between them */
#define BESIDE_MS 60000
#define BESIDE_PAUSE_MS 250

/* `extra` is used up. */
static int act_say(struct job_call *x, const char *what, const char *text, json_t *extra,
                   struct err *err)
{
    AUTO_JSON *more = extra;
    AUTO_JSON *v = NULL;
    int r;

    if (!x->globals->json) {
        printf("%s\n", text);
        return 0;
    }
    r = json_make(&v, err, "{s:s, s:s}", "job", client_id(x->client), "done", what);
    if (r == 0 && json_object_update(v, more) < 0)
        r = err_oom(err);
    return r < 0 ? r : json_print(stdout, v, err);
}

static int say_state(struct job_call *x, const char *what, const json_t *status, const char *how,
                     struct err *err)
{
    const char *state = format_text(status, "state");
    AUTO_FREE char *text = NULL;
    char lower[16];
    json_t *extra = NULL;
    int r;

    format_lower(state, lower, sizeof(lower));
    text = str_printf("%s %s: %s", client_id(x->client), how, lower);
    if (!text)
        return err_oom(err);
    r = json_make(&extra, err, "{s:s, s:I}", "state", state, "exit",
                  (json_int_t)json_int_or(status, "exit", 0));
    return r < 0 ? r : act_say(x, what, text, extra, err);
}

/* A job that still runs? If not, says how it ended and returns 0. 1: it runs. */
static int act_runs(struct job_call *x, struct err *err)
{
    AUTO_JSON *status = NULL;
    int r = client_alive(x->client, err);

    if (r != 0)
        return r;
    r = client_status(x->client, false, &status, err);
    return r < 0 ? r : say_state(x, "nothing", status, "had already ended", err);
}

/* The answers of a master that has no use for a change look alike, whatever the reason: its state
 * is the reason. Later states of a job that ends are no better ones, so it is not "try again". */
static int act_change(struct job_call *x, const char *target, struct err *err)
{
    AUTO_JSON *status = NULL;
    enum job_state state = JOB_NEW;
    int r = client_put(x->client, target, err);

    if (r != -EBUSY || client_status(x->client, false, &status, NULL) < 0 ||
        job_state_from(format_text(status, "state"), &state) < 0)
        return r;
    if (state != JOB_FINISHING && !job_has_ended(state))
        return r;
    err_clear(err);
    if (state == JOB_FINISHING)
        return err_set(err, -EALREADY, "%s: the job is ending", client_id(x->client));
    r = say_state(x, "nothing", status, "had already ended", err);
    return r < 0 ? r : 1;
}

int act_request(struct job_call *x, const char *what, const char *target, const char *text,
                json_t *extra, struct err *err)
{
    AUTO_JSON *more = extra;
    int r = act_runs(x, err);

    if (r <= 0)
        return r < 0 ? r : 1;
    r = act_change(x, target, err);
    return r != 0 ? r : act_say(x, what, text, take(more), err);
}

/* That a master answers again is no success of what was asked of the one before: nobody waits for
 * the end of a job that nobody was told to end. */
int act_ask_end(struct client *c, const char *target, bool force, struct err *err)
{
    for (int i = 0;; i++) {
        struct err why = ERR_INIT;
        int r = client_end(c, target, force, &why), now;

        if (r == 0)
            return 0;
        *err = why;
        now = client_again(c, r == -EAGAIN ? -ENOTCONN : r, err); /* -EAGAIN: it leaves */
        if (now <= 0)
            return now; /* 0: it ended by itself meanwhile */
        if (force || i == MASTERS_ASKED) {
            *err = why;
            return r;
        }
    }
}

int act_ask_stop_beside(struct client *c, bool (*enough)(const void *user), const void *user,
                        struct err *err)
{
    int64_t deadline = loop_in(client_loop(c), BESIDE_MS);

    for (;;) {
        struct err why = ERR_INIT;
        int r = client_end(c, "/v1/stop", false, &why);
        bool again = r < 0 && (r == -EAGAIN || client_broken(r)) && !(enough && enough(user));

        if (again && loop_now(client_loop(c)) < deadline) {
            if (fiber_sleep(client_loop(c), BESIDE_PAUSE_MS) == 0)
                continue;
            return err_set(err, -ECANCELED, "interrupted");
        }
        if (r < 0)
            *err = why;
        return r;
    }
}

/* A job whose master and log are of another version of ydl: YARN has killed it, and knows that. */
static int act_say_killed(struct job_call *x, struct err *err)
{
    AUTO_JSON *status = NULL;
    int r;

    client_settle(x->client);
    r = client_status(x->client, false, &status, err);
    if (r == -EPROTONOSUPPORT && client_alive(x->client, NULL) == 0) {
        err_clear(err);
        r = json_make(&status, err, "{s:s, s:i}", "state", "KILLED", "exit", PAST_EXIT_KILLED);
    }
    return r < 0 ? r : say_state(x, "kill", status, "has ended", err);
}

int act_end(struct job_call *x, const char *what, const char *target, struct err *err)
{
    bool force = str_eq(what, "kill");
    AUTO_JSON *status = NULL;
    int r = act_runs(x, err);

    if (r <= 0)
        return r;
    r = act_ask_end(x->client, target, force, err);
    if (r < 0)
        return r;
    r = wait_end(x, 0, &status, err);
    if (r == -EPROTONOSUPPORT && force) {
        err_clear(err);
        return act_say_killed(x, err);
    }
    return r < 0 ? r : say_state(x, what, status, "has ended", err);
}

int act_task(const char *name, struct err *err)
{
    uint32_t rank;
    size_t role;

    if (piece_task(name, &role, &rank))
        return 0;
    return cli_bad(err, "'%s' is not a task name such as worker:0", name);
}
