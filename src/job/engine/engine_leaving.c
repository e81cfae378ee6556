/* engine_leaving.c - containers that the platform announces to take back, and agents that died in
 * theirs.
 *
 *     on_leaving ──► tasks are asked to end ──► none runs there any more ──► RELEASE, and what the
 *     policy says of preemption
 *     engine_move ──► the same, but another container is asked for, and nothing has failed */
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
    fail_slot(e, s, s->moving ? FAIL_NONE : FAIL_PREEMPTED, LEAVING_TEXT, now);
}

/* ---- moved because somebody asked for it ---- */

void leaving_move(struct engine *e, struct slot *s, enum fail_class cls, int64_t now)
{
    bool wanted = false;

    slot_vacate(e, s, cls, now); /* which ends the move, too */
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++)
        wanted = wanted || !e->units[s->first + i].over;
    if (wanted && !s->retired && e->state != JOB_FINISHING)
        again_slot(e, s, now);
    gang_look(e, now);
    again_look(e, now);
    end_look(e, now);
}

void leaving_begin_move(struct engine *e, struct slot *s, int64_t now)
{
    s->leaving = s->moving = true;
    stop_slot(e, s, now);
    leaving_look(e, s, now);
}

/* What does not run, or was started again since, has nothing to leave: it is asked for again by
 * those who look, and may have moved already. */
int engine_move(struct engine *e, uint32_t task, uint32_t attempt, const char *who, int64_t now,
                struct err *err)
{
    char name[ENGINE_NAME_MAX];
    struct unit *u;
    struct slot *s;
    int r = engine_is_running(e, err);

    if (r == 0)
        r = engine_unit_of(e, task, &u, err);
    if (r < 0)
        return r;
    s = &e->slots[u->t.slot];
    if (!run_alone(e, u))
        return err_set(err, -EOPNOTSUPP,
                       "the tasks of this job know each other's addresses: one cannot move alone");
    if (u->retired || !unit_live(u) || u->t.attempt != attempt || s->leaving)
        return 0;
    say_request(e, "move", engine_task_name(e, task, name), who, now);
    leaving_begin_move(e, s, now);
    return engine_leave(e, err);
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
