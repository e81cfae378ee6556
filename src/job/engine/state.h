/* state.h - the two tables: what can happen to a task and to a job, and what they are then.
 *
 * The engine asks these tables before it changes anything. An event that a state does not know is a
 * bug in ydl and gives -EPROTO with a sentence: task 'worker:1': started while DONE. Pure. */
#pragma once
#include "job/engine/engine.h"

/* What happens to a task. */
enum task_event {
    TASK_EV_GRANT,    /* its container was granted */
    TASK_EV_UP,       /* its agent is there */
    TASK_EV_PREPARED, /* files in place, ports held */
    TASK_EV_STARTED,
    TASK_EV_READY, /* passed its readiness check */
    TASK_EV_DONE,  /* ended well, or because we asked it to */
    TASK_EV_FAIL,  /* ended badly, or could not be prepared or started */
    TASK_EV_LOST,  /* its container went while it ran */
    TASK_EV_GONE,  /* its container went, or was given back, while it did not run */
    TASK_EV_AGAIN, /* to be prepared again, where it is */
    TASK_EV_MOVE,  /* to wait for another container */
    TASK_EVENTS_
};

/* What happens to a job. */
enum job_event {
    JOB_EV_START,
    JOB_EV_COMPLETE, /* every container is there, with its agent */
    JOB_EV_MISSING,  /* a container of the gang is missing again */
    JOB_EV_FORMED,   /* the cluster specification is made */
    JOB_EV_REFORM,   /* the gang is to be formed again */
    JOB_EV_FINISH,   /* decided: everybody is to end */
    JOB_EV_SUCCEED,
    JOB_EV_FAIL,
    JOB_EV_KILL,
    JOB_EVENTS_
};

/* The next state. -EPROTO with a sentence about `name` when it cannot happen. -EALREADY, silently,
 * for a report that comes too late to matter: it was under way when its container was lost or
 * given back, or it is told again to a new master. */
int task_state_next(enum task_state s, enum task_event ev, const char *name, enum task_state *ret,
                    struct err *err);
int job_state_next(enum job_state s, enum job_event ev, enum job_state *ret, struct err *err);

static inline bool task_has_ended(enum task_state s)
{
    return s == TASK_DONE || s == TASK_FAILED || s == TASK_LOST;
}

static inline bool job_has_ended(enum job_state s)
{
    return s == JOB_SUCCEEDED || s == JOB_FAILED || s == JOB_KILLED;
}
