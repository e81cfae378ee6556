/* task_stop.c - ends tasks: a file and a signal ask them to, then they are killed.
 *
 * The file that YDL_STOP names appears before the signal is sent, with the time of the kill in
 * milliseconds since 1970: a program that checks for it between two steps needs no signal handler
 * and knows how long it has to save its state. */
#include "agent/tasks/task_stop.h"
#include "agent/agent_private.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/prepare.h"
#include "agent/tasks/reap.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/loop.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Written under another name first: nobody reads half a number. */
static void write_deadline(struct agent_task *t, int64_t deadline)
{
    AUTO_FREE char *path = prepare_path(t, "stop"), *tmp = prepare_path(t, "stop-new");
    AUTO_CLOSE int fd =
        path && tmp ? open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    char text[32];
    int n = snprintf(text, sizeof(text), "%lld\n", (long long)deadline);

    t->stop.has_file = true;
    if (fd < 0 || path_write_fd(fd, text, (size_t)n) < 0 || rename(tmp, path) < 0)
        log_warn(LOG_AGENT, "%s: cannot write its deadline, ignoring", t->name);
}

static void unmark(struct agent *a)
{
    for (size_t i = 0; i < a->tasks.n; i++)
        a->tasks.v[i]->process.marked = false;
}

/* ---- the kill after the grace ---- */

static void plan_kill(struct agent *a);

static void stop_on_time(uv_timer_t *h)
{
    struct agent *a = h->data;
    int64_t now = loop_now(a->loop);

    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        if (t->phase != PHASE_RUNNING || t->stop.kill_at > now)
            continue;
        t->process.marked = t->stop.killed = true;
        t->stop.kill_at = now + 1000; /* again, should it be there still */
    }
    reap_signal(a, SIGKILL);
    unmark(a);
    plan_kill(a);
}

/* One timer for all tasks, set to the earliest kill. The loop's clock is brought up to date first:
 * it may be old after a long turn, and the grace would end early. */
static void plan_kill(struct agent *a)
{
    int64_t first = LOOP_NEVER, now = loop_now(a->loop);

    for (size_t i = 0; i < a->tasks.n; i++) {
        const struct agent_task *t = a->tasks.v[i];

        if (t->phase == PHASE_RUNNING && t->stop.kill_at < first)
            first = t->stop.kill_at;
    }
    if (first == LOOP_NEVER)
        return;
    uv_update_time(loop_uv(a->loop));
    uv_timer_start(&a->stop.timer, stop_on_time, (uint64_t)(first > now ? first - now : 0), 0);
}

void stop_init(struct agent *a)
{
    uv_timer_init(loop_uv(a->loop), &a->stop.timer);
    a->stop.timer.data = a;
}

/* ---- the ways to end a task ---- */

static void stop_ask(struct agent *a, int64_t grace, int64_t deadline)
{
    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        if (!t->process.marked)
            continue;
        t->stop.stopping = true;
        t->stop.kill_at = loop_in(a->loop, grace);
        if (grace > 0)
            write_deadline(t, deadline);
        else
            t->stop.killed = true;
    }
    reap_signal(a, grace > 0 ? SIGTERM : SIGKILL);
    if (grace > 0)
        reap_signal(a, SIGCONT); /* a stopped process would not get it */
    unmark(a);
    plan_kill(a);
}

/* Marks first and signals once: a thousand tasks need one look at /proc, not a thousand.
 * What stands still because the node is cut off is killed without going on: its replacement may run
 * already. */
void stop_tasks(struct agent *a, struct agent_task **tasks, size_t n, int64_t grace,
                int64_t deadline)
{
    bool any = false;

    if (a->fence.frozen)
        grace = 0;
    for (size_t i = 0; i < n; i++) {
        struct agent_task *t = tasks[i];

        if (t->phase != PHASE_RUNNING && t->phase != PHASE_STARTING)
            continue;
        if (t->phase == PHASE_STARTING)
            t->stop.stopping = true; /* task_start.c sees it when its turn comes */
        /* Being asked again must not give it more time, only less. */
        t->process.marked = t->phase == PHASE_RUNNING &&
                            (!t->stop.stopping || loop_in(a->loop, grace) < t->stop.kill_at);
        any = any || t->process.marked;
    }
    if (any)
        stop_ask(a, grace, deadline ? deadline : loop_wall() + grace);
}

void stop_all(struct agent *a, int64_t grace)
{
    stop_tasks(a, a->tasks.v, a->tasks.n, grace, 0);
}

/* Killed at once, without a grace period: it broke a rule (memory, readiness), and what it could
 * still save would be late. The reason is kept for finish_judge(), which asks for it first. */
void stop_for(struct agent_task *t, enum fail_class why, const char *text)
{
    if (t->phase != PHASE_RUNNING || t->stop.why != FAIL_NONE)
        return;
    stop_blame(t, why, text);
    t->stop.killed = t->process.marked = true;
    t->stop.kill_at = loop_in(t->agent->loop, 1000);
    reap_signal(t->agent, SIGKILL);
    t->process.marked = false;
    plan_kill(t->agent);
}

void stop_blame(struct agent_task *t, enum fail_class why, const char *text)
{
    if (t->stop.why != FAIL_NONE)
        return; /* we ended it, for a reason of our own */
    t->stop.why = why;
    free(t->stop.why_text);
    t->stop.why_text = strdup(text); /* without it the class says enough */
}
