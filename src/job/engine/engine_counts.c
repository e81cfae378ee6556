/* engine_counts.c - the states of tasks, containers and the job, and every number that is counted
 * from them. Nobody else changes these. */
#include "job/engine/engine_private.h"

int unit_next(const struct engine *e, const struct unit *u, enum task_event ev,
              enum task_state *ret, struct err *err)
{
    char name[ENGINE_NAME_MAX];

    return task_state_next(u->t.state, ev, engine_task_name(e, u->t.id, name), ret, err);
}

/* Retired tasks are in no count but that of what lives. */
static void engine_counts_count(struct engine *e, const struct unit *u, enum task_state s,
                                uint32_t by)
{
    if (u->retired)
        return;
    role_of(e, u)->n[s] += by;
    e->n[s] += by;
}

/* Taken out of the counts with the old state, put in with the new one: no other way changes a
 * state. */
void unit_set(struct engine *e, struct unit *u, enum task_state s, int64_t now)
{
    engine_counts_count(e, u, u->t.state, UINT32_MAX); /* minus one */
    e->n_live -= unit_live(u);
    u->t.state = s;
    u->starting = u->starting && s == TASK_READY;
    engine_counts_count(e, u, s, 1);
    e->n_live += unit_live(u);
    if (s != TASK_RUNNING)
        unit_ready(e, u, false);
    u->t.since = now;
    say_task(e, u, now);
}

void unit_do(struct engine *e, struct unit *u, enum task_event ev, int64_t now)
{
    enum task_state next;
    struct err err = ERR_INIT;
    int r = unit_next(e, u, ev, &next, &err);

    if (r == 0) {
        unit_set(e, u, next, now);
        return;
    }
    if (e->bad < 0)
        return;
    if (r == -EALREADY)
        r = err_set(&err, -EPROTO, "task %u: event %d while %s", u->t.id, (int)ev,
                    task_state_name(u->t.state));
    e->fault = err;
    e->bad = r;
}

void unit_starting(struct engine *e, struct unit *u, bool on)
{
    e->n_live -= unit_live(u);
    u->starting = on;
    e->n_live += unit_live(u);
}

void unit_ready(struct engine *e, struct unit *u, bool on)
{
    if (u->t.ready == on)
        return;
    u->t.ready = on;
    if (!u->retired)
        role_of(e, u)->n_ready += on ? 1 : UINT32_MAX;
}

/* `n_undecided` is what the job's success waits for; at 0 the job is over. */
void unit_over(struct engine *e, struct unit *u, bool on)
{
    if (u->over == on)
        return;
    u->over = on;
    if (u->retired)
        return;
    role_of(e, u)->n_over += on ? 1 : UINT32_MAX;
    if (role_of(e, u)->decides)
        e->n_undecided += on ? UINT32_MAX : 1;
}

void unit_kept(struct engine *e, struct unit *u, bool on)
{
    if (u->kept == on)
        return;
    u->kept = on;
    e->n_kept += on ? 1 : UINT32_MAX;
}

/* The story is the first failure since everybody was well: so it ends when everybody is again. */
void unit_down(struct engine *e, struct unit *u, bool on)
{
    if (u->down == on)
        return;
    u->down = on;
    e->n_down += on ? 1 : UINT32_MAX;
    if (e->n_down == 0 && e->state != JOB_FINISHING)
        failure_done(&e->story);
}

void unit_join(struct engine *e, struct unit *u)
{
    struct role *r = role_of(e, u);

    u->retired = false;
    r->n_tasks++;
    e->n_tasks++;
    e->n_undecided += r->decides && !u->over;
    r->n_over += u->over;
    engine_counts_count(e, u, u->t.state, 1);
}

/* A task that was scaled away leaves every count but that of what lives: it may still have to be
 * stopped. */
void unit_retire(struct engine *e, struct unit *u)
{
    struct role *r = role_of(e, u);

    unit_kept(e, u, false);
    unit_ready(e, u, false);
    unit_down(e, u, false);
    engine_counts_count(e, u, u->t.state, UINT32_MAX);
    r->n_over -= u->over;
    e->n_undecided -= r->decides && !u->over;
    r->n_tasks--;
    e->n_tasks--;
    u->retired = true;
    u->over = u->again = false;
}

void slot_join(struct engine *e, struct slot *s)
{
    s->retired = false;
    e->roles[s->role].in[s->state]++;
    e->in[s->state]++;
}

void slot_retire(struct engine *e, struct slot *s)
{
    e->roles[s->role].in[s->state]--;
    e->in[s->state]--;
    s->retired = true;
}

void slot_set(struct engine *e, struct slot *s, enum slot_state state)
{
    struct role *r = &e->roles[s->role];

    if (!s->retired) {
        r->in[s->state]--;
        e->in[s->state]--;
        r->in[state]++;
        e->in[state]++;
    }
    s->state = state;
    s->ask_at = NEVER;
    if (state == SLOT_GRANTED)
        s->refused = 0;
    if (state == SLOT_GRANTED && s->agent != ENGINE_NO_AGENT && s->agent > e->last_agent)
        e->last_agent = s->agent;
    if (state != SLOT_IDLE)
        return;
    s->leave = s->leaving = s->moving = false;
    e->n_away -= s->away;
    s->away = false;
}

bool slot_has_live(const struct engine *e, const struct slot *s)
{
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++)
        if (unit_live(&e->units[s->first + i]))
            return true;
    return false;
}

void job_do(struct engine *e, enum job_event ev, const char *reason, int64_t now)
{
    enum job_state before = e->state;
    int r;

    if (e->bad < 0)
        return;
    r = job_state_next(e->state, ev, &e->state, &e->fault);
    if (r < 0)
        e->bad = r;
    else if (e->state != before)
        say_job(e, reason, now);
}
