/* engine_restart.c - starting again: a single task in its place, or all tasks as a new generation.
 *
 *     failed ──► everybody is asked to stop ──► all have ended, the delay is over ──►
 *     PREPARE with the same ports (or another container is asked for) ──► ACTION_FORM ──► START */
#include "job/engine/engine_private.h"

#define STOP_MARGIN_MS 10000 /* what an agent gets to report, beyond the grace */

/* In its own container if that is still there; else a container is asked for, or one that the
 * others of its slot have been granted meanwhile is joined, at the state which that has reached. */
void again_unit(struct engine *e, struct unit *u, int64_t now)
{
    struct slot *s = &e->slots[u->t.slot];

    timer_set(e, TIMER_RESTART, u, NEVER);
    if (s->state == SLOT_UP && !u->homeless) {
        run_prepare(e, u, TASK_EV_AGAIN, now);
        return;
    }
    unit_over(e, u, false);
    unit_forget_place(e, u);
    unit_do(e, u, TASK_EV_MOVE, now);
    slot_ask(e, s);
    if (s->state == SLOT_ASKED)
        return;
    u->t.agent = s->agent;
    unit_do(e, u, TASK_EV_GRANT, now);
    if (s->state == SLOT_UP)
        run_prepare(e, u, TASK_EV_UP, now);
}

void again_later(struct engine *e, struct unit *u, int64_t delay, const char *reason, int64_t now)
{
    say_restart(e, u, delay, reason, now);
    if (delay > 0)
        timer_set(e, TIMER_RESTART, u, now + delay);
    else
        again_unit(e, u, now);
}

void again_slot(struct engine *e, struct slot *s, int64_t now)
{
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++) {
        struct unit *u = &e->units[s->first + i];

        if (task_has_ended(u->t.state) && !u->over)
            again_unit(e, u, now);
    }
    slot_ask(e, s);
}

/* The timer is for an agent that does not even kill the task: its container is given back then. */
void again_stop(struct engine *e, struct unit *u, int64_t grace, int64_t now)
{
    if (!unit_live(u) || (u->t.stopping && grace > 0))
        return;
    if (!u->t.stopping)
        u->stopped = now;
    u->t.stopping = true;
    action_add(e, ACTION_STOP, u->t.id, grace);
    if (!e->slots[u->t.slot].away) /* else once it is back */
        timer_set(e, TIMER_STOP, u, now + grace + STOP_MARGIN_MS);
}

/* Dependencies that were met stay met, and side tasks that ended are not started again.
 * Workers that were done are: without them the others would wait. */
static void stop_role(struct engine *e, struct role *r, int64_t now)
{
    bool keep = r->side || (r->awaited && r->n_over == r->n_tasks);

    r->open = false;
    for (uint32_t i = 0; i < r->count * r->procs; i++) {
        struct unit *u = &e->units[e->slots[r->slots[i / r->procs]].first + i % r->procs];

        timer_set(e, TIMER_RESTART, u, NEVER);
        again_stop(e, u, e->grace, now);
        if (u->brought) /* all tasks get its ports, which may have changed */
            run_set_ports(u, NULL, 0);
        if (u->over && keep)
            unit_kept(e, u, true);
        else
            unit_over(e, u, false);
    }
}

void again_stop_all(struct engine *e, int64_t delay, int64_t now)
{
    e->reforming = true;
    e->unsettled = false;
    timer_set(e, TIMER_REFORM, NULL, delay > 0 ? now + delay : NEVER);
    for (uint32_t i = 0; i < e->n_roles; i++)
        stop_role(e, &e->roles[i], now);
}

void again_gang(struct engine *e, const char *reason, int64_t delay, int64_t now)
{
    if (e->reforming)
        return;
    gang_spoil(e);
    job_do(e, JOB_EV_REFORM, reason, now);
    say_restart(e, NULL, delay, reason, now);
    again_stop_all(e, delay, now);
    gang_look(e, now);
    again_look(e, now);
}

/* The last one has ended and the delay is over: containers that are no good any more go back, and
 * all others are prepared again, with their ports where they kept them. */
void again_look(struct engine *e, int64_t now)
{
    if (!e->reforming || e->n_live > 0 || e->at[TIMER_REFORM] != NEVER)
        return;
    e->reforming = false;
    say_gang(e, GANG_RETURNS, 0, now);
    for (uint32_t i = 0; i < e->n_slots; i++)
        if (e->slots[i].leave)
            slot_release(e, &e->slots[i], now);
    for (uint32_t i = 0; i < e->n_units; i++) {
        struct unit *u = &e->units[i];

        if (task_has_ended(u->t.state) && !u->kept && !u->retired)
            again_unit(e, u, now);
    }
    gang_look(e, now);
}
