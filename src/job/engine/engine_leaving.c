/* engine_leaving.c - containers that the platform announces to take back, and agents that died in
 * theirs.
 *
 *     on_leaving ──► tasks are asked to end ──► none runs there any more ──► RELEASE, and what the
 *     policy says of preemption */
#include "job/engine/engine_private.h"

static void stop_slot(struct engine *e, struct slot *s, int64_t now)
{
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++)
        again_stop(e, &e->units[s->first + i], e->grace, now);
}

void leaving_look(struct engine *e, struct slot *s, int64_t now)
{
    if (!s->leaving || slot_has_live(e, s) || e->state == JOB_FINISHING || job_has_ended(e->state))
        return;
    action_add(e, ACTION_RELEASE, (uint32_t)(s - e->slots), 0);
    fail_slot(e, s, FAIL_PREEMPTED, LEAVING_TEXT, now);
}

int engine_on_leaving(struct engine *e, uint32_t slot, int64_t now, struct err *err)
{
    struct slot *s;
    int r = engine_slot_of(e, slot, &s, err);

    if (r < 0)
        return r;
    /* A task that is being stopped already is not stopped again. */
    if (e->state == JOB_FINISHING || job_has_ended(e->state) || s->retired || s->leaving ||
        s->state == SLOT_IDLE || s->state == SLOT_ASKED)
        return 0;
    say_container(e, s, "LEAVING", FAIL_PREEMPTED, now);
    s->leaving = true;
    stop_slot(e, s, now);
    leaving_look(e, s, now);
    return engine_leave(e, err);
}

/* ---- an agent that died ---- */

/* The agent is a new process and knows of no orders: those that were given before are given
 * again. */
void leaving_prepare(struct engine *e, struct unit *u, int64_t now)
{
    if (u->retired || e->state == JOB_FINISHING)
        return;
    switch (u->t.state) {
    case TASK_GRANTED:
        run_prepare(e, u, TASK_EV_UP, now);
        break;
    case TASK_PREPARING:
        action_add(e, ACTION_PREPARE, u->t.id, 0);
        break;
    case TASK_READY:
        if (e->state == JOB_FORMING)
            gang_spoil(e); /* its ports may be others */
        run_prepare(e, u, TASK_EV_AGAIN, now);
        break;
    default:
        break;
    }
}

int engine_on_agent_again(struct engine *e, uint32_t slot, int64_t now, struct err *err)
{
    struct slot *s;
    int r = engine_slot_of(e, slot, &s, err);

    if (r < 0)
        return r;
    if (job_has_ended(e->state) || s->state == SLOT_IDLE || s->state == SLOT_ASKED)
        return 0;
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++)
        e->units[s->first + i].held = false;
    resume_slot(e, s, "its agent ended", now);
    return engine_leave(e, err);
}
