/* measure.c - what tasks use, reported once a second while the master asks for it. Each task counts
 * with all processes that it has started. Tasks in docker containers are not below us and cannot be
 * measured. */
#include "agent/tasks/measure.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/reap.h"

#define FIRST_MS 150 /* between the two samples that processor usage needs */
#define PAUSE_MS 1000
#define MOST_MS 60000 /* who wants more asks again */
#define BATCH 256

static bool is_measured(const struct agent_task *t)
{
    return t->phase == PHASE_RUNNING && !t->image.name;
}

static bool measure_look(struct agent *a)
{
    bool any = false;
    int r;

    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        t->process.marked = is_measured(t);
        t->usage.memory = t->usage.ticks = 0;
        any = any || t->process.marked;
    }
    r = any ? reap_look(a) : -ENOENT;
    for (size_t i = 0; r == 0 && i < a->reap.tree.n; i++) {
        struct agent_task *t = reap_owner(a, &a->reap.tree.v[i]);

        if (!t || !t->process.marked)
            continue;
        t->usage.memory += a->reap.tree.v[i].rss;
        t->usage.ticks += a->reap.tree.v[i].ticks;
    }
    for (size_t i = 0; i < a->tasks.n; i++)
        a->tasks.v[i]->process.marked = false; /* they are reap.c's */
    return r == 0;
}

/* Processor time as a share since the last sample, which must be of the same process. */
static void measure_fill(struct agent_task *t, int64_t now, Agent__TaskUsage *m)
{
    struct task_usage *u = &t->usage;
    int64_t ms = now - u->at;

    agent__task_usage__init(m);
    m->task = t->id;
    m->memory = u->memory;
    m->cpu = -1;
    if (u->pid == t->process.pid && ms > 0) {
        uint64_t more = u->ticks > u->before ? u->ticks - u->before : 0; /* some have ended */

        m->cpu = (int32_t)(more * 1000 * 1000 / (uint64_t)sysconf(_SC_CLK_TCK) / (uint64_t)ms);
    }
    u->pid = t->process.pid;
    u->before = u->ticks;
    u->at = now;
}

static void measure_send_all(struct agent *a, Agent__TaskUsage **list, size_t n)
{
    Agent__Usage body = AGENT__USAGE__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    body.tasks = list;
    body.n_tasks = n;
    m.usage = &body;
    m.body_case = AGENT__TO_MASTER__BODY_USAGE;
    if (n > 0)
        (void)report_send(a, &m);
}

static void measure_tell(struct agent *a)
{
    AUTO_FREE Agent__TaskUsage *all = calloc(BATCH, sizeof(*all));
    Agent__TaskUsage *list[BATCH];
    int64_t now = loop_now(a->loop);
    size_t n = 0;

    if (!all)
        return; /* next time */
    for (size_t i = 0; i < a->tasks.n; i++) {
        if (!is_measured(a->tasks.v[i]))
            continue;
        list[n] = &all[n];
        measure_fill(a->tasks.v[i], now, &all[n]);
        if (++n < BATCH)
            continue;
        measure_send_all(a, list, n);
        n = 0;
    }
    measure_send_all(a, list, n);
}

static void measure_run(void *arg)
{
    struct agent *a = arg;
    int64_t pause = FIRST_MS;

    while (!a->leave.begun && loop_now(a->loop) < a->measure.until) {
        if (measure_look(a))
            measure_tell(a);
        if (fiber_sleep(a->loop, pause) < 0)
            break;
        pause = PAUSE_MS;
    }
    a->measure.fiber = NULL;
    cond_wake_all(&a->measure.ended);
}

void measure_begin(struct agent *a, const Agent__Measure *m)
{
    a->measure.until = loop_in(a->loop, m->ms < MOST_MS ? m->ms : MOST_MS);
    if (!a->measure.fiber && !a->leave.begun)
        (void)fiber_start(a->loop, measure_run, a, &a->measure.fiber, NULL);
}

void measure_end(struct agent *a)
{
    if (a->measure.fiber)
        fiber_cancel(a->measure.fiber);
    while (a->measure.fiber)
        (void)cond_wait(a->loop, &a->measure.ended, LOOP_NEVER);
}
