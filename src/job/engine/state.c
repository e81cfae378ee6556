/* state.c - the tables, and nothing that reads a clock or acts. A row is what may happen in a
 * state, an entry the next state; an entry left out is 0 and means that it cannot happen, which
 * is reported as a bug in ydl. Reports that cross with a loss on their way are in the table
 * (LATE) and change nothing. See state.h. */
#include "job/engine/state.h"
#include "base/str.h"

static const char *const task_names[TASK_STATES_] = {
    [TASK_WAITING] = "WAITING", [TASK_GRANTED] = "GRANTED", [TASK_PREPARING] = "PREPARING",
    [TASK_READY] = "READY",     [TASK_RUNNING] = "RUNNING", [TASK_DONE] = "DONE",
    [TASK_FAILED] = "FAILED",   [TASK_LOST] = "LOST",
};

static const char *const job_names[JOB_STATES_] = {
    [JOB_NEW] = "NEW",         [JOB_ASKING] = "ASKING",       [JOB_FORMING] = "FORMING",
    [JOB_RUNNING] = "RUNNING", [JOB_FINISHING] = "FINISHING", [JOB_SUCCEEDED] = "SUCCEEDED",
    [JOB_FAILED] = "FAILED",   [JOB_KILLED] = "KILLED",
};

static const char *const task_verbs[TASK_EVENTS_] = {
    [TASK_EV_GRANT] = "granted",     [TASK_EV_UP] = "agent up",
    [TASK_EV_PREPARED] = "prepared", [TASK_EV_STARTED] = "started",
    [TASK_EV_READY] = "ready",       [TASK_EV_DONE] = "ended",
    [TASK_EV_FAIL] = "failed",       [TASK_EV_LOST] = "lost",
    [TASK_EV_GONE] = "given back",   [TASK_EV_AGAIN] = "to prepare again",
    [TASK_EV_MOVE] = "to move",
};

static const char *const job_verbs[JOB_EVENTS_] = {
    [JOB_EV_START] = "started",
    [JOB_EV_COMPLETE] = "complete",
    [JOB_EV_MISSING] = "container missing",
    [JOB_EV_FORMED] = "formed",
    [JOB_EV_REFORM] = "to form anew",
    [JOB_EV_FINISH] = "to finish",
    [JOB_EV_SUCCEED] = "succeeded",
    [JOB_EV_FAIL] = "failed",
    [JOB_EV_KILL] = "killed",
};

/* Entries are one more than the state, so that what is not written is 0: cannot happen. */
#define TO(state) ((state) + 1)
#define LATE 255

/* LATE are reports that crossed with a loss or a release, and those that an agent tells a second
 * time because it cannot know whether the master before this one has written them down. */
/* clang-format off */
static const uint8_t task_table[TASK_STATES_][TASK_EVENTS_] = {
    [TASK_WAITING]   = { [TASK_EV_GRANT]    = TO(TASK_GRANTED),
                         [TASK_EV_GONE]     = TO(TASK_WAITING),
                         [TASK_EV_MOVE]     = TO(TASK_WAITING),
                         [TASK_EV_UP]       = LATE, [TASK_EV_PREPARED] = LATE,
                         [TASK_EV_STARTED]  = LATE, [TASK_EV_READY]    = LATE,
                         [TASK_EV_DONE]     = LATE, [TASK_EV_FAIL]     = LATE },
    [TASK_GRANTED]   = { [TASK_EV_UP]       = TO(TASK_PREPARING),
                         [TASK_EV_GONE]     = TO(TASK_WAITING) },
    [TASK_PREPARING] = { [TASK_EV_PREPARED] = TO(TASK_READY),
                         [TASK_EV_FAIL]     = TO(TASK_FAILED),
                         [TASK_EV_GONE]     = TO(TASK_WAITING),
                         [TASK_EV_AGAIN]    = TO(TASK_PREPARING) },
    [TASK_READY]     = { [TASK_EV_STARTED]  = TO(TASK_RUNNING),
                         [TASK_EV_DONE]     = TO(TASK_DONE),
                         [TASK_EV_FAIL]     = TO(TASK_FAILED),
                         [TASK_EV_LOST]     = TO(TASK_LOST),
                         [TASK_EV_GONE]     = TO(TASK_WAITING),
                         [TASK_EV_AGAIN]    = TO(TASK_PREPARING),
                         [TASK_EV_PREPARED] = LATE },
    [TASK_RUNNING]   = { [TASK_EV_READY]    = TO(TASK_RUNNING),
                         [TASK_EV_DONE]     = TO(TASK_DONE),
                         [TASK_EV_FAIL]     = TO(TASK_FAILED),
                         [TASK_EV_LOST]     = TO(TASK_LOST),
                         [TASK_EV_PREPARED] = LATE, [TASK_EV_STARTED]  = LATE },
    [TASK_DONE]      = { [TASK_EV_AGAIN]    = TO(TASK_PREPARING),
                         [TASK_EV_MOVE]     = TO(TASK_WAITING),
                         [TASK_EV_STARTED]  = LATE, [TASK_EV_READY]    = LATE,
                         [TASK_EV_DONE]     = LATE, [TASK_EV_FAIL]     = LATE },
    [TASK_FAILED]    = { [TASK_EV_AGAIN]    = TO(TASK_PREPARING),
                         [TASK_EV_MOVE]     = TO(TASK_WAITING),
                         [TASK_EV_STARTED]  = LATE, [TASK_EV_READY]    = LATE,
                         [TASK_EV_DONE]     = LATE, [TASK_EV_FAIL]     = LATE },
    [TASK_LOST]      = { [TASK_EV_MOVE]     = TO(TASK_WAITING),
                         [TASK_EV_UP]       = LATE, [TASK_EV_PREPARED] = LATE,
                         [TASK_EV_STARTED]  = LATE, [TASK_EV_READY]    = LATE,
                         [TASK_EV_DONE]     = LATE, [TASK_EV_FAIL]     = LATE },
};

static const uint8_t job_table[JOB_STATES_][JOB_EVENTS_] = {
    [JOB_NEW]       = { [JOB_EV_START]    = TO(JOB_ASKING),
                        [JOB_EV_FINISH]   = TO(JOB_FINISHING) },
    [JOB_ASKING]    = { [JOB_EV_COMPLETE] = TO(JOB_FORMING),
                        [JOB_EV_REFORM]   = TO(JOB_ASKING),
                        [JOB_EV_FINISH]   = TO(JOB_FINISHING) },
    [JOB_FORMING]   = { [JOB_EV_FORMED]   = TO(JOB_RUNNING),
                        [JOB_EV_MISSING]  = TO(JOB_ASKING),
                        [JOB_EV_REFORM]   = TO(JOB_FORMING),
                        [JOB_EV_FINISH]   = TO(JOB_FINISHING) },
    [JOB_RUNNING]   = { [JOB_EV_REFORM]   = TO(JOB_FORMING),
                        [JOB_EV_FINISH]   = TO(JOB_FINISHING) },
    [JOB_FINISHING] = { [JOB_EV_SUCCEED]  = TO(JOB_SUCCEEDED),
                        [JOB_EV_FAIL]     = TO(JOB_FAILED),
                        [JOB_EV_KILL]     = TO(JOB_KILLED) },
};
/* clang-format on */

const char *task_state_name(enum task_state s)
{
    return task_names[s];
}

const char *job_state_name(enum job_state s)
{
    return job_names[s];
}

static int state_find(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (str_eq(names[i], name))
            return i;
    return -EINVAL;
}

int task_state_from(const char *name, enum task_state *ret)
{
    int i = state_find(task_names, TASK_STATES_, name);

    if (i < 0)
        return i;
    *ret = (enum task_state)i;
    return 0;
}

int job_state_from(const char *name, enum job_state *ret)
{
    int i = state_find(job_names, JOB_STATES_, name);

    if (i < 0)
        return i;
    *ret = (enum job_state)i;
    return 0;
}

int task_state_next(enum task_state s, enum task_event ev, const char *name, enum task_state *ret,
                    struct err *err)
{
    uint8_t to = task_table[s][ev];

    if (to == LATE)
        return -EALREADY;
    if (to == 0)
        return err_set(err, -EPROTO, "task '%s': %s while %s", name, task_verbs[ev], task_names[s]);
    *ret = (enum task_state)(to - 1);
    return 0;
}

int job_state_next(enum job_state s, enum job_event ev, enum job_state *ret, struct err *err)
{
    uint8_t to = job_table[s][ev];

    if (to == 0)
        return err_set(err, -EPROTO, "job: %s while %s", job_verbs[ev], job_names[s]);
    *ret = (enum job_state)(to - 1);
    return 0;
}
