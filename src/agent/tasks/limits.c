/* limits.c - limits that nobody else enforces: memory where there is no cgroup, and size of output.
 *
 * Looks four times a second, while a task with a limit runs. Memory is the sum over the task's
 * process tree: first by resident size, which is cheap but counts shared pages several times; only
 * when that exceeds the limit, exactly. */
#include "agent/tasks/limits.h"
#include "agent/agent_private.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/finish.h"
#include "agent/tasks/process_tree.h"
#include "agent/tasks/reap.h"
#include "agent/tasks/task_stop.h"

#include <stdio.h>

#define INTERVAL 250
#define SHARE 20 /* a look that took 20 ms is not repeated for 400 ms */

static bool has_memory_limit(const struct agent_task *t)
{
    return t->phase == PHASE_RUNNING && t->memory.limit && !t->memory.cgroup.path && !t->image.name;
}

/* ---- memory ---- */

static bool mark_limited(struct agent *a)
{
    bool any = false;

    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        t->process.marked = has_memory_limit(t);
        t->memory.used = 0;
        any = any || t->process.marked;
    }
    return any;
}

static void add_up(struct agent *a, uint64_t (*bytes)(const struct tree_proc *p), bool only_over)
{
    for (size_t i = 0; i < a->reap.tree.n; i++) {
        struct agent_task *t = reap_owner(a, &a->reap.tree.v[i]);

        if (t && t->process.marked && t->process.dirty == only_over)
            t->memory.used += bytes(&a->reap.tree.v[i]);
    }
}

static uint64_t rough(const struct tree_proc *p)
{
    return p->rss;
}

static uint64_t limits_exact(const struct tree_proc *p)
{
    uint64_t pss = tree_pss(p->pid);

    return pss ? pss : p->rss;
}

static bool shares_with(const struct agent_task *t, const struct agent_task *other)
{
    return other == t || (t->memory.shared && other->prep.slot == t->prep.slot);
}

/* Memory used by all tasks that share the limit. */
static uint64_t used_of_limit(const struct agent_task *t)
{
    const struct agent *a = t->agent;
    uint64_t sum = 0;

    for (size_t i = 0; i < a->tasks.n && t->memory.shared; i++)
        if (shares_with(t, a->tasks.v[i]))
            sum += a->tasks.v[i]->memory.used;
    return t->memory.shared ? sum : t->memory.used;
}

/* Two passes, since PSS makes the kernel walk the page tables of a process: only tasks that seem to
 * be over the limit are measured by it. */
static void limits_measure(struct agent *a)
{
    for (size_t i = 0; i < a->tasks.n; i++)
        a->tasks.v[i]->process.dirty = false;
    add_up(a, rough, false);
    for (size_t i = 0; i < a->tasks.n; i++) /* perhaps over: again, exactly */
        a->tasks.v[i]->process.dirty = a->tasks.v[i]->process.marked &&
                                       used_of_limit(a->tasks.v[i]) > a->tasks.v[i]->memory.limit;
    for (size_t i = 0; i < a->tasks.n; i++)
        if (a->tasks.v[i]->process.dirty)
            a->tasks.v[i]->memory.used = 0;
    add_up(a, limits_exact, true);
}

/* Of tasks that share a limit, the one that uses most is ended. */
static bool has_most(const struct agent_task *t)
{
    const struct agent *a = t->agent;

    for (size_t i = 0; i < a->tasks.n && t->memory.shared; i++)
        if (shares_with(t, a->tasks.v[i]) && a->tasks.v[i]->memory.used > t->memory.used)
            return false;
    return true;
}

static void limits_judge(struct agent_task *t)
{
    char text[96], have[STR_SIZE_MAX], limit[STR_SIZE_MAX], all[STR_SIZE_MAX];
    uint64_t used = used_of_limit(t);

    if (t->memory.used > t->memory.peak)
        t->memory.peak = t->memory.used;
    if (!has_memory_limit(t) || used <= t->memory.limit || !has_most(t))
        return;
    if (used > t->memory.used)
        snprintf(text, sizeof(text), "used %s, its container %s of %s",
                 str_size(t->memory.used, have), str_size(used, all),
                 str_size(t->memory.limit, limit));
    else
        snprintf(text, sizeof(text), "used %s of %s", str_size(t->memory.used, have),
                 str_size(t->memory.limit, limit));
    stop_for(t, FAIL_MEMORY, text);
}

static bool watch_memory(struct agent *a)
{
    if (!mark_limited(a))
        return false;
    if (reap_look(a) == 0)
        limits_measure(a);
    for (size_t i = 0; i < a->tasks.n; i++)
        a->tasks.v[i]->process.marked = a->tasks.v[i]->process.dirty = false;
    for (size_t i = 0; i < a->tasks.n; i++)
        limits_judge(a->tasks.v[i]);
    return true;
}

/* ---- output ---- */

static void limits_check_output(struct agent_task *t, uint64_t limit)
{
    char text[64], have[STR_SIZE_MAX], most[STR_SIZE_MAX];
    uint64_t sum = 0;

    for (size_t i = 0; i < COUNT_OF(t->output.streams); i++)
        sum += rotate_size(&t->output.streams[i].cut);
    if (sum <= limit)
        return;
    snprintf(text, sizeof(text), "wrote %s of output, the limit is %s", str_size(sum, have),
             str_size(limit, most));
    stop_for(t, FAIL_LOG_LIMIT, text);
}

static bool watch_output(struct agent *a)
{
    bool any = false;

    if (!a->facts->log_limit)
        return false;
    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        if (t->phase != PHASE_RUNNING)
            continue;
        any = true;
        limits_check_output(t, a->facts->log_limit);
    }
    return any;
}

/* ---- when ---- */

/* The pause grows with the cost of a look: on a machine with very many processes the agent would do
 * little else. The timer stops by itself when nothing is limited any more. */
static void limits_on_time(uv_timer_t *h)
{
    struct agent *a = h->data;
    int64_t before = loop_now(a->loop), cost;
    bool memory = watch_memory(a), output = watch_output(a);

    cost = loop_now(a->loop) - before;
    a->limits.watching = memory || output;
    if (a->limits.watching)
        uv_timer_start(h, limits_on_time, (uint64_t)(INTERVAL + SHARE * cost), 0);
}

void limits_init(struct agent *a)
{
    uv_timer_init(loop_uv(a->loop), &a->limits.timer);
    a->limits.timer.data = a;
    a->limits.oom_kills = finish_oom_kills();
}

void limits_watch(struct agent *a)
{
    if (a->limits.watching)
        return;
    a->limits.watching = true;
    uv_timer_start(&a->limits.timer, limits_on_time, INTERVAL / 5, 0);
}
