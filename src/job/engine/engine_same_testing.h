/* engine_same_testing.h - whether two engines know the same: one that lived, and one that read its
 * log. Left out is what a new master cannot take over: actions, answers that are awaited, progress
 * that was not written down. */
#pragma once
#include "job/engine/engine_private.h"

#include <string.h>

#define DIFFERS(what)                                                                              \
    do {                                                                                           \
        if ((a->what) != (b->what))                                                                \
            return #what;                                                                          \
    } while (0)

static bool same_budget(const struct budget *a, const struct budget *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof(*a->at)) == 0);
}

static const char *job_differs(const struct engine *a, const struct engine *b)
{
    DIFFERS(state);
    DIFFERS(generation);
    DIFFERS(numbered);
    DIFFERS(reforming);
    DIFFERS(backing_off);
    DIFFERS(ever_started);
    DIFFERS(n_live);
    DIFFERS(n_kept);
    DIFFERS(n_undecided);
    DIFFERS(n_down);
    if (a->state < JOB_FINISHING)
        DIFFERS(rounds);
    DIFFERS(seed);
    DIFFERS(young);
    DIFFERS(formed);
    DIFFERS(last_loss);
    DIFFERS(grace);
    DIFFERS(stops);
    DIFFERS(final);
    DIFFERS(by_task);
    DIFFERS(exit);
    DIFFERS(seq);
    for (int i = 0; i < TIMER_JOB_ && !job_has_ended(a->state); i++)
        /* Nothing is said when the one is over; what waits for the other is asked for at once. */
        if ((i != TIMER_REFORM || a->at[i] != NEVER) && i != TIMER_REFUSED)
            DIFFERS(at[i]);
    for (int i = 0; i < SLOT_STATES_; i++)
        DIFFERS(in[i]);
    if (!same_budget(&a->gang, &b->gang) || !same_budget(&a->losses, &b->losses) ||
        !same_budget(&a->files, &b->files))
        return "budgets";
    /* Said with RUNNING: a gang that was formed and does not stand any more has not said it. */
    if (a->state == JOB_RUNNING && !str_eq(a->names, b->names))
        return "names";
    return str_eq(a->end_text, b->end_text) ? NULL : "end_text";
}

static const char *story_differs(const struct failure *a, const struct failure *b)
{
    DIFFERS(set);
    if (!a->set)
        return NULL;
    DIFFERS(task);
    DIFFERS(cls);
    DIFFERS(code);
    DIFFERS(signal);
    DIFFERS(generation);
    DIFFERS(attempt);
    DIFFERS(when);
    return str_eq(a->text, b->text) && str_eq(a->lines, b->lines) ? NULL : "story";
}

static const char *slot_differs(const struct slot *a, const struct slot *b)
{
    DIFFERS(state);
    DIFFERS(retired);
    DIFFERS(leave);
    DIFFERS(leaving);
    DIFFERS(moving);
    if (a->state >= SLOT_GRANTED)
        DIFFERS(agent);
    return NULL;
}

static const char *task_differs(const struct task *a, const struct task *b)
{
    DIFFERS(state);
    DIFFERS(attempt);
    DIFFERS(generation);
    DIFFERS(agent);
    if (a->attempt > 0 || a->state == TASK_READY || a->state == TASK_RUNNING || b->n_ports > 0)
        DIFFERS(n_ports);
    DIFFERS(ready);
    DIFFERS(stopping);
    DIFFERS(since);
    DIFFERS(pid);
    DIFFERS(code);
    DIFFERS(fail);
    DIFFERS(results);
    return memcmp(a->port, b->port, b->n_ports * sizeof(*a->port)) ? "port" : NULL;
}

static const char *unit_differs(const struct unit *a, const struct unit *b)
{
    const char *what = task_differs(&a->t, &b->t);

    if (what)
        return what;
    DIFFERS(retired);
    DIFFERS(starts);
    DIFFERS(starting);
    DIFFERS(homeless);
    DIFFERS(over);
    DIFFERS(kept);
    DIFFERS(down);
    DIFFERS(again);
    DIFFERS(brought);
    DIFFERS(young);
    if (a->at[TIMER_STOP - TIMER_JOB_] != NEVER) /* not counted while its agent is away */
        DIFFERS(at[TIMER_STOP - TIMER_JOB_]);
    DIFFERS(at[TIMER_RESTART - TIMER_JOB_]);
    DIFFERS(started);
    if (a->t.stopping)
        DIFFERS(stopped);
    if (!a->untold) {
        DIFFERS(t.step);
        DIFFERS(t.total);
    }
    return same_budget(&a->budget, &b->budget) ? NULL : "budget";
}

static const char *role_differs(const struct role *a, const struct role *b)
{
    DIFFERS(open);
    DIFFERS(count);
    DIFFERS(n_tasks);
    DIFFERS(n_ready);
    DIFFERS(n_over);
    for (int i = 0; i < TASK_STATES_; i++)
        DIFFERS(n[i]);
    for (int i = 0; i < SLOT_STATES_; i++)
        DIFFERS(in[i]);
    return NULL;
}

/* The first difference, or NULL. */
static const char *engines_differ(const struct engine *a, const struct engine *b)
{
    const char *what = job_differs(a, b);

    if (!what && a->n_slots != b->n_slots)
        what = "n_slots";
    if (!what)
        what = story_differs(&a->story, &b->story);
    for (uint32_t i = 0; i < a->n_units && !what; i++) {
        what = unit_differs(&a->units[i], &b->units[i]);
        if (what)
            fprintf(stderr, "task %u: ", i);
    }
    for (uint32_t i = 0; i < a->n_slots && !what; i++)
        what = slot_differs(&a->slots[i], &b->slots[i]);
    for (uint32_t i = 0; i < a->n_roles && !what; i++)
        what = role_differs(&a->roles[i], &b->roles[i]);
    return what;
}
#undef DIFFERS
