/* limits.c - limits that nobody else enforces: memory where there is no cgroup, and size of output.
 *
 * Looks four times a second, while a task with a limit runs. Memory is the sum over the task's
 * whole tree: first as the kernel counts it at no cost, where pages that processes share count
 * several times; only when that is over the limit is it measured exactly. */
#include "agent/agent_private.h"

#include <stdio.h>

#define INTERVAL 250
#define SHARE 20 /* a look that took 20 ms is not repeated for 400 ms */

static bool has_memory_limit(const struct agent_task *t)
{
    return t->phase == PHASE_RUNNING && t->memory && !t->cgroup.path && !t->image;
}

/* ---- memory ---- */

static bool mark_limited(struct agent *a)
{
    bool any = false;

    for (size_t i = 0; i < a->n_tasks; i++) {
        struct agent_task *t = a->tasks[i];

        t->marked = has_memory_limit(t);
        t->used = 0;
        any = any || t->marked;
    }
    return any;
}

static void add_up(struct agent *a, uint64_t (*bytes)(const struct tree_proc *p), bool only_over)
{
    for (size_t i = 0; i < a->tree.n; i++) {
        struct agent_task *t = reap_owner(a, &a->tree.v[i]);

        if (t && t->marked && t->dirty == only_over)
            t->used += bytes(&a->tree.v[i]);
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
    return other == t || (t->memory_shared && other->slot == t->slot);
}

/* By all that share the limit with it. */
static uint64_t used_of_limit(const struct agent_task *t)
{
    const struct agent *a = t->agent;
    uint64_t sum = 0;

    for (size_t i = 0; i < a->n_tasks && t->memory_shared; i++)
        if (shares_with(t, a->tasks[i]))
            sum += a->tasks[i]->used;
    return t->memory_shared ? sum : t->used;
}

static void limits_measure(struct agent *a)
{
    for (size_t i = 0; i < a->n_tasks; i++)
        a->tasks[i]->dirty = false;
    add_up(a, rough, false);
    for (size_t i = 0; i < a->n_tasks; i++) /* perhaps over: again, exactly */
        a->tasks[i]->dirty =
            a->tasks[i]->marked && used_of_limit(a->tasks[i]) > a->tasks[i]->memory;
    for (size_t i = 0; i < a->n_tasks; i++)
        if (a->tasks[i]->dirty)
            a->tasks[i]->used = 0;
    add_up(a, limits_exact, true);
}

/* Of several that share a limit the one with the most has to go. */
static bool has_most(const struct agent_task *t)
{
    const struct agent *a = t->agent;

    for (size_t i = 0; i < a->n_tasks && t->memory_shared; i++)
        if (shares_with(t, a->tasks[i]) && a->tasks[i]->used > t->used)
            return false;
    return true;
}

static void limits_judge(struct agent_task *t)
{
    char text[96], have[STR_SIZE_MAX], limit[STR_SIZE_MAX], all[STR_SIZE_MAX];
    uint64_t used = used_of_limit(t);

    if (t->used > t->peak)
        t->peak = t->used;
    if (!has_memory_limit(t) || used <= t->memory || !has_most(t))
        return;
    if (used > t->used)
        snprintf(text, sizeof(text), "used %s, its container %s of %s", str_size(t->used, have),
                 str_size(used, all), str_size(t->memory, limit));
    else
        snprintf(text, sizeof(text), "used %s of %s", str_size(t->used, have),
                 str_size(t->memory, limit));
    stop_for(t, FAIL_MEMORY, text);
}

static bool watch_memory(struct agent *a)
{
    if (!mark_limited(a))
        return false;
    if (reap_look(a) == 0)
        limits_measure(a);
    for (size_t i = 0; i < a->n_tasks; i++)
        a->tasks[i]->marked = a->tasks[i]->dirty = false;
    for (size_t i = 0; i < a->n_tasks; i++)
        limits_judge(a->tasks[i]);
    return true;
}

/* ---- output ---- */

static void limits_check_output(struct agent_task *t, uint64_t limit)
{
    char text[64], have[STR_SIZE_MAX], most[STR_SIZE_MAX];
    uint64_t sum = 0;

    for (size_t i = 0; i < COUNT_OF(t->streams); i++)
        sum += rotate_size(&t->streams[i].cut);
    if (sum <= limit)
        return;
    snprintf(text, sizeof(text), "wrote %s of output, %s are allowed", str_size(sum, have),
             str_size(limit, most));
    stop_for(t, FAIL_LOG_LIMIT, text);
}

static bool watch_output(struct agent *a)
{
    bool any = false;

    if (!a->facts->log_limit)
        return false;
    for (size_t i = 0; i < a->n_tasks; i++) {
        struct agent_task *t = a->tasks[i];

        if (t->phase != PHASE_RUNNING)
            continue;
        any = true;
        limits_check_output(t, a->facts->log_limit);
    }
    return any;
}

/* ---- when ---- */

static void limits_on_time(uv_timer_t *h)
{
    struct agent *a = h->data;
    int64_t before = loop_now(a->loop), cost;
    bool memory = watch_memory(a), output = watch_output(a);

    cost = loop_now(a->loop) - before;
    a->watching = memory || output;
    if (a->watching)
        uv_timer_start(h, limits_on_time, (uint64_t)(INTERVAL + SHARE * cost), 0);
}

void watch_begin(struct agent *a)
{
    if (a->watching)
        return;
    a->watching = true;
    uv_timer_start(&a->watch_timer, limits_on_time, INTERVAL / 5, 0);
}
