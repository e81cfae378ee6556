/* engine_resume.c - a new master's beginning: the log says what was, the agents say what is.
 *
 * The log may be behind by what the last master had decided and not written down. So an agent is
 * believed when it runs what the log does not know; and when all are back, the whole is checked for
 * consistency: a gang whose members are of different generations is formed again. */
#include "job/engine/engine_private.h"

#define COME_BACK_MS 15000 /* what agents get at least before an old hold time gives them up */
#define STOP_MARGIN_MS 10000

/* ---- what the log left ---- */

/* A log of which lines are missing or wrong may say what cannot be. */
static void mend_unit(struct engine *e, struct unit *u, int64_t now)
{
    struct slot *s = &e->slots[u->t.slot];
    bool housed = s->state == SLOT_GRANTED || s->state == SLOT_UP;
    bool placed = u->t.state != TASK_WAITING && !task_has_ended(u->t.state);

    if (!task_has_ended(u->t.state))
        timer_set(e, TIMER_RESTART, u, NEVER);
    if (placed && !housed) {
        unit_forget_place(e, u);
        unit_set(e, u, TASK_WAITING, now);
    } else if (u->t.state == TASK_WAITING && housed && !u->retired && !u->over) {
        u->t.agent = s->agent;
        unit_set(e, u, TASK_GRANTED, now);
    } else if (task_has_ended(u->t.state) && !u->over && !u->retired && !s->leaving &&
               !e->reforming && e->state < JOB_FINISHING &&
               u->at[TIMER_RESTART - TIMER_JOB_] == NEVER) {
        again_unit(e, u, now);
    }
}

static void mend(struct engine *e, int64_t now)
{
    for (uint32_t i = 0; i < e->n_slots; i++) {
        struct slot *s = &e->slots[i];

        if (s->state >= SLOT_GRANTED && s->agent == ENGINE_NO_AGENT)
            slot_set(e, s, SLOT_IDLE);
    }
    for (uint32_t i = 0; i < e->n_units; i++)
        mend_unit(e, &e->units[i], now);
    if (e->state < JOB_FINISHING && !e->backing_off)
        gang_want_all(e);
    e->n_queue = 0; /* all of it is told again */
}

/* How long its tasks may take to end is counted again from when it is back. */
static void be_away(struct engine *e, struct slot *s)
{
    e->n_away += !s->away;
    s->away = true;
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++)
        timer_set(e, TIMER_STOP, &e->units[s->first + i], NEVER);
}

int engine_on_agent_away(struct engine *e, uint32_t slot, int64_t now, struct err *err)
{
    struct slot *s;
    int r = engine_slot_of(e, slot, &s, err);

    (void)now;
    if (r == 0 && s->state == SLOT_UP && !job_has_ended(e->state))
        be_away(e, s);
    return r;
}

static void expect_back(struct engine *e, int64_t now)
{
    for (uint32_t i = 0; i < e->n_slots; i++) {
        struct slot *s = &e->slots[i];

        if (s->state == SLOT_ASKED)
            action_add(e, ACTION_ASK, i, 0);
        if (s->state == SLOT_GRANTED || s->state == SLOT_UP)
            be_away(e, s);
    }
    if (e->at[TIMER_HOLD] != NEVER && e->at[TIMER_HOLD] < now + COME_BACK_MS)
        timer_set(e, TIMER_HOLD, NULL, now + COME_BACK_MS);
}

/* A master before us had found its tasks running, and not yet what that means. */
static bool has_run_on(const struct engine *e)
{
    if (e->state >= JOB_RUNNING || e->reforming)
        return false;
    for (uint32_t i = 0; i < e->n_units; i++) {
        const struct unit *u = &e->units[i];

        if (unit_live(u) || (u->over && !u->kept && !u->retired))
            return true;
    }
    return false;
}

/*     the log, read back ──► mend what cannot be ──► ask again for what is missing
 *       ──► agents come back, each with what it runs (engine_on_held) ──► resume_settle()
 * Until an agent is back its tasks keep the state that the log gave them. */
int engine_resume(struct engine *e, int64_t now, struct err *err)
{
    int r = engine_enter(e, err);

    if (r < 0)
        return r;
    restore_drop(e, now);
    if (e->state == JOB_NEW)
        r = engine_start(e, now, err);
    if (r < 0)
        return r;
    if (job_has_ended(e->state)) {
        for (uint32_t i = 0; i < e->n_slots; i++) /* their agents may still save what tasks left */
            if (e->slots[i].state >= SLOT_GRANTED)
                be_away(e, &e->slots[i]);
        e->n_heap = 0;
        action_add(e, ACTION_END, 0, 0);
        return engine_leave(e, err);
    }
    mend(e, now);
    e->forming = e->spoiled = false; /* nobody is left to answer */
    e->unsettled = has_run_on(e);
    expect_back(e, now);
    fail_or_not(e, now);
    again_look(e, now);
    gang_look(e, now);
    end_look(e, now);
    return engine_leave(e, err);
}

/* ---- what the agents have ---- */

/* Its agent runs what the log does not know: the last master ordered it and died before writing.
 * The agent is right, because the process is there. */
static void adopt_new(struct engine *e, struct unit *u, const struct engine_held *h, int64_t now)
{
    if (u->t.attempt != h->attempt || !unit_live(u))
        u->t.stopping = u->again = false;
    timer_set(e, TIMER_RESTART, u, NEVER);
    unit_over(e, u, false);
    unit_kept(e, u, false);
    unit_forget_place(e, u);
    u->t.agent = e->slots[u->t.slot].agent;
    u->t.attempt = h->attempt;
    u->t.generation = h->generation;
    if (u->starts <= h->attempt)
        u->starts = h->attempt + 1;
    u->started = now;
    u->t.pid = h->pid;
    run_set_ports(u, h->ports, h->n_ports);
    unit_ready(e, u, h->ready || role_of(e, u)->spec->ready.kind == SPEC_READY_NONE);
    unit_set(e, u, TASK_RUNNING, now);
    e->ever_started = true;
    if (!u->t.stopping)
        unit_down(e, u, false);
    if (h->generation >= e->generation) {
        e->generation = h->generation;
        e->numbered = true; /* it stood, whatever the log says */
        if (e->reforming)
            gang_spoil(e); /* and what is formed next is yet another one */
    }
    e->unsettled = !e->reforming;
    run_step(e, role_of(e, u), SPEC_AFTER_STARTED);
}

static void engine_resume_adopt(struct engine *e, struct unit *u, const struct engine_held *h,
                                int64_t now)
{
    u->held = true;
    if (u->t.state != TASK_RUNNING || u->t.attempt != h->attempt ||
        u->t.generation != h->generation) {
        adopt_new(e, u, h, now);
        return;
    }
    if (h->ready && !u->t.ready) {
        unit_ready(e, u, true);
        say_ready(e, u, now);
        run_step(e, role_of(e, u), SPEC_AFTER_READY);
    }
}

/* It is prepared, or was before, and was not started since. Where the log says the same nothing is
 * to be done; otherwise it is prepared again: for the first time on the ports that it holds, later
 * on those that the others know of. */
static void adopt_prepared(struct unit *u, const struct engine_held *h)
{
    bool first = u->starts == 0 && (u->t.state == TASK_PREPARING || u->t.state == TASK_GRANTED);

    if (u->t.state == TASK_READY)
        u->held = run_same_ports(&u->t, h->ports, h->n_ports);
    else if (first && u->t.n_ports == 0)
        run_set_ports(u, h->ports, h->n_ports);
}

int engine_on_held(struct engine *e, const struct engine_held *held, int64_t now, struct err *err)
{
    static const uint16_t none[1];
    struct engine_held h = *held;
    struct unit *u;
    const struct slot *s;
    int r = engine_unit_of(e, h.task, &u, err);

    if (r < 0)
        return r;
    if (h.n_ports > CLUSTER_PORTS_MAX || h.attempt == UINT32_MAX)
        return err_set(err, -EINVAL, "task %u: its agent reports an impossible state", h.task);
    s = &e->slots[u->t.slot];
    if (job_has_ended(e->state) || (s->state != SLOT_GRANTED && !s->away))
        return 0;
    if (!h.ports)
        h.ports = none;
    /* The end of an earlier start is old news: it may be prepared for the next. */
    if (h.pid > 0 || (h.ended && h.attempt >= u->starts - unit_live(u)))
        engine_resume_adopt(e, u, &h, now);
    else
        adopt_prepared(u, &h);
    return engine_leave(e, err);
}

/* ---- an agent is there ---- */

static bool is_to_end(const struct engine *e, const struct unit *u)
{
    return e->state == JOB_FINISHING || e->reforming || u->retired || e->slots[u->t.slot].leaving;
}

/* Orders that the last master may or may not have sent it. */
static void tell_again(struct engine *e, struct unit *u, int64_t now)
{
    int64_t left = u->stopped + e->grace - now;

    if (u->starting) {
        u->held = !u->t.stopping; /* what was never started has ended */
        action_add(e, ACTION_START, u->t.id, 0);
    } else if (u->t.state == TASK_RUNNING && u->t.stopping) {
        if (left < 0 || (e->state == JOB_FINISHING && e->stops > 1))
            left = 0;
        action_add(e, ACTION_STOP, u->t.id, left);
        timer_set(e, TIMER_STOP, u, now + left + STOP_MARGIN_MS);
    } else if (u->t.state == TASK_RUNNING && is_to_end(e, u)) {
        again_stop(e, u, e->grace, now);
    }
}

/* It was to start in a generation that others, who are back already, have left behind: it is
 * prepared again, for theirs. */
static bool is_overtaken(const struct engine *e, const struct unit *u)
{
    return u->starting && !u->t.stopping && u->t.generation != e->generation;
}

/* Tasks that do not run come first: the end of others may lead to more for all of them. */
void resume_slot(struct engine *e, struct slot *s, const char *text, int64_t now)
{
    struct unit *first = &e->units[s->first], *end = first + e->roles[s->role].procs;
    bool same = s->away && !text;

    e->n_away -= s->away;
    s->away = false;
    slot_set(e, s, SLOT_UP);
    for (struct unit *u = first; u < end; u++) {
        if (u->held && !(same && is_overtaken(e, u)))
            tell_again(e, u, now);
        else if (same && u->starting && !u->t.stopping)
            run_prepare(e, u, TASK_EV_AGAIN, now); /* it was never started */
        else if (!unit_live(u))
            leaving_prepare(e, u, now);
    }
    for (struct unit *u = first; u < end; u++)
        if (unit_live(u) && !u->held)
            fail_here(e, u, text ? text : "its agent no longer runs it", now);
    for (struct unit *u = first; u < end; u++)
        u->held = false;
    leaving_look(e, s, now);
    resume_settle(e, now);
    gang_look(e, now);
    again_look(e, now);
    end_look(e, now);
}

/* ---- all are back ---- */

static bool is_mixed(const struct engine *e)
{
    for (uint32_t i = 0; i < e->n_units; i++) {
        const struct unit *u = &e->units[i];

        if (unit_live(u) && !u->retired && !run_alone(e, u) && u->t.generation != e->generation)
            return true;
    }
    return false;
}

/* Only when nobody is away any more can it be seen whether all are of one generation. */
void resume_settle(struct engine *e, int64_t now)
{
    bool missing = e->in[SLOT_ASKED] > 0 || e->in[SLOT_GRANTED] > 0;

    if (!e->unsettled || e->n_away > 0)
        return;
    e->unsettled = false;
    if (e->state >= JOB_FINISHING || e->reforming)
        return;
    if (is_mixed(e) || (e->state != JOB_RUNNING && missing && !e->opt.elastic)) {
        again_gang(e, "the log of the previous master lacks what its tasks did since", 0, now);
        return;
    }
    if (e->state == JOB_RUNNING)
        return;
    /* It was formed, and that was not written down. */
    timer_set(e, TIMER_HOLD, NULL, NEVER);
    if (e->state == JOB_ASKING)
        job_do(e, JOB_EV_COMPLETE, NULL, now);
    e->numbered = true;
    job_do(e, JOB_EV_FORMED, "its tasks run", now);
    fail_or_not(e, now);
    if (e->state == JOB_RUNNING)
        gang_stands(e, now);
}
