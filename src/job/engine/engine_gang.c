/* engine_gang.c - the gang: all containers or none.
 *
 *     ask for all ──first grant──► holding ──all agents connected──► prepare ──► ACTION_FORM
 *         ▲                           │ hold time over
 *         └── back off ◄── release all containers
 *
 * Waiting without any container is not limited. Holding some is: two jobs that each hold half of
 * what both need would otherwise wait for each other forever. The hold time starts with the first
 * grant. The delay of the back-off doubles with each round and is jittered, so that of two such
 * jobs one asks first and gets everything; the rounds are counted from 0 again once a gang has
 * formed. */
#include "job/engine/engine_private.h"

#include <string.h>

#define REFUSALS_MAX 10 /* with pauses of up to a minute: some four minutes in all */

void unit_forget_place(const struct engine *e, struct unit *u)
{
    u->t.agent = UINT32_MAX;
    u->brought = u->t.n_ports > 0 && run_brings_ports(e, u);
    if (!u->brought)
        u->t.n_ports = 0;
    u->t.pid = u->t.code = 0;
    u->t.fail = FAIL_NONE;
    u->homeless = false;
}

void slot_ask(struct engine *e, struct slot *s)
{
    if (s->state != SLOT_IDLE)
        return;
    slot_set(e, s, SLOT_ASKED);
    action_add(e, ACTION_ASK, (uint32_t)(s - e->slots), 0);
}

/* Says whether a record tells that it has no container any more. */
static bool vacate_unit(struct engine *e, struct unit *u, enum fail_class cls, int64_t now)
{
    bool pending = u->at[TIMER_RESTART - TIMER_JOB_] != NEVER;

    timer_set(e, TIMER_STOP, u, NEVER);
    timer_set(e, TIMER_RESTART, u, NEVER);
    if (u->untold)
        say_progress(e, u, now);
    if (unit_live(u)) {
        u->t.fail = cls;
        u->t.code = failure_exit(cls, TRY_AGAIN_EXIT, 0);
        u->homeless = true;
        unit_do(e, u, TASK_EV_LOST, now);
        return true;
    }
    if (task_has_ended(u->t.state) && !pending) {
        u->homeless = true;
        return false;
    }
    unit_forget_place(e, u);
    if (u->t.state == TASK_WAITING)
        return false;
    unit_do(e, u, pending ? TASK_EV_MOVE : TASK_EV_GONE, now);
    return true;
}

void slot_vacate(struct engine *e, struct slot *s, enum fail_class cls, int64_t now)
{
    bool told = s->state == SLOT_ASKED;

    slot_set(e, s, SLOT_IDLE);
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++)
        told = vacate_unit(e, &e->units[s->first + i], cls, now) || told;
    if (!told)
        say_container(e, s, "GONE", cls, now);
}

void slot_release(struct engine *e, struct slot *s, int64_t now)
{
    if (s->state == SLOT_IDLE)
        return;
    action_add(e, ACTION_RELEASE, (uint32_t)(s - e->slots), 0);
    slot_vacate(e, s, FAIL_NONE, now);
}

/* ---- complete or not ---- */

/* The agents were told a number for this generation, or ports that have changed since. What is
 * formed next has a new number, so that nothing of the old one can be taken for it. */
void gang_spoil(struct engine *e)
{
    if (e->forming)
        e->spoiled = true;
    if (e->numbered) {
        e->generation++;
        e->numbered = false;
    }
}

void gang_hold(struct engine *e, int64_t now)
{
    uint32_t held = e->in[SLOT_GRANTED] + e->in[SLOT_UP];

    if (e->backing_off || e->reforming || e->spec->gang_hold <= 0)
        return;
    if (held == 0 || e->in[SLOT_ASKED] == 0) /* files may take long; nobody waits for us then */
        timer_set(e, TIMER_HOLD, NULL, NEVER);
    else if (e->at[TIMER_HOLD] == NEVER)
        timer_set(e, TIMER_HOLD, NULL, now + e->spec->gang_hold);
}

/* Nothing of the generation before may live, and every agent must be there: the cluster
 * specification that goes out now is for all of them. */
static void try_form(struct engine *e, int64_t now)
{
    if (e->reforming || e->forming || e->n_live > 0 || e->n_away > 0 ||
        e->n[TASK_READY] + e->n_kept != e->n_tasks)
        return;
    e->forming = true;
    e->spoiled = false;
    e->numbered = true;
    say_gang(e, GANG_FORMS, 0, now);
    action_add(e, ACTION_FORM, e->generation, 0);
}

void gang_look(struct engine *e, int64_t now)
{
    bool missing = e->backing_off || e->in[SLOT_ASKED] > 0 || e->in[SLOT_GRANTED] > 0;

    if (e->state == JOB_FORMING && missing) {
        gang_spoil(e);
        job_do(e, JOB_EV_MISSING, "a container is missing", now);
    } else if (e->state == JOB_ASKING && !missing) {
        timer_set(e, TIMER_HOLD, NULL, NEVER);
        job_do(e, JOB_EV_COMPLETE, NULL, now);
    }
    if (e->state == JOB_ASKING)
        gang_hold(e, now);
    if (e->state == JOB_FORMING)
        try_form(e, now);
}

/* ---- asking, and giving back ---- */

void gang_want_all(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_slots; i++) {
        struct slot *s = &e->slots[i];
        bool wanted = false;

        for (uint32_t k = 0; k < e->roles[s->role].procs && !s->retired; k++) {
            const struct unit *u = &e->units[s->first + k];

            wanted = wanted || (u->t.state == TASK_WAITING && !u->over);
        }
        if (wanted)
            slot_ask(e, s);
    }
}

static void engine_gang_ask_all(struct engine *e, int64_t now)
{
    gang_want_all(e);
    say_gang(e, GANG_ASKS, 0, now);
}

void gang_set_limit(struct engine *e, int64_t started)
{
    int64_t from = e->opt.submitted > 0 && e->opt.submitted < started ? e->opt.submitted : started;

    if (e->spec->timeout > 0)
        timer_set(e, TIMER_LIMIT, NULL, from + e->spec->timeout);
}

int engine_start(struct engine *e, int64_t now, struct err *err)
{
    enum job_state next;
    int r = engine_enter(e, err);

    if (r == 0)
        r = job_state_next(e->state, JOB_EV_START, &next, err);
    if (r < 0)
        return r;
    job_do(e, JOB_EV_START, NULL, now);
    gang_set_limit(e, now);
    engine_gang_ask_all(e, now);
    return engine_leave(e, err);
}

static void engine_gang_give_up(struct engine *e, int64_t now)
{
    AUTO_FREE char *text =
        str_printf("not all containers came within the gang's hold time (%u of %u, %u attempt%s)",
                   e->in[SLOT_GRANTED] + e->in[SLOT_UP],
                   e->in[SLOT_ASKED] + e->in[SLOT_GRANTED] + e->in[SLOT_UP], e->rounds,
                   e->rounds == 1 ? "" : "s");
    struct ending how = { .final = JOB_FAILED, .exit = TRY_AGAIN_EXIT, .text = text };

    if (!text)
        engine_oom(e);
    else
        end_begin(e, &how, now);
}

void gang_on_hold_over(struct engine *e, int64_t now)
{
    int64_t delay;

    if (e->state != JOB_ASKING)
        return;
    e->rounds++;
    if (e->spec->gang_retry != SPEC_FOREVER && e->rounds > e->spec->gang_retry) {
        engine_gang_give_up(e, now);
        return;
    }
    delay = budget_backoff(e->rounds - 1, e->opt.backoff_min, e->opt.backoff_max, &e->seed);
    say_gang(e, GANG_BACKS_OFF, delay, now);
    for (uint32_t i = 0; i < e->n_slots; i++)
        slot_release(e, &e->slots[i], now);
    e->backing_off = true;
    timer_set(e, TIMER_ASK, NULL, now + delay);
}

void gang_on_ask(struct engine *e, int64_t now)
{
    e->backing_off = false;
    engine_gang_ask_all(e, now);
    gang_look(e, now);
}

/* ---- what is refused ---- */

static void fail_refused(struct engine *e, const struct slot *s, int64_t now)
{
    AUTO_FREE char *text =
        str_printf("no container for '%s' after %u attempt%s: %s", e->roles[s->role].spec->name,
                   s->refused, s->refused == 1 ? "" : "s", e->refusal);
    struct ending how = { .final = JOB_FAILED, .exit = TRY_AGAIN_EXIT, .text = text };

    if (!text)
        engine_oom(e);
    else
        end_begin(e, &how, now);
}

/* Reported once, and again when the reason changes. */
static void keep_refusal(struct engine *e, const char *text, int64_t now)
{
    if (str_eq(e->refusal, text))
        return;
    free(e->refusal);
    e->refusal = strdup(text);
    if (e->refusal)
        say_note(e, "warning", text, now);
    else
        engine_oom(e);
}

/* A cluster that refuses now may grant later, so it is asked again after pauses that grow. Only
 * what this machine itself cannot do (`here`) makes the job fail, after some tries. */
int engine_on_refused(struct engine *e, uint32_t slot, bool here, const char *text, int64_t now,
                      struct err *err)
{
    struct slot *s;
    int r = engine_slot_of(e, slot, &s, err);

    if (r < 0)
        return r;
    if (job_has_ended(e->state) || s->state != SLOT_ASKED || s->ask_at != NEVER)
        return 0; /* it crossed with our giving up, or was told before */
    s->refused++;
    keep_refusal(e, text, now);
    if (e->bad == 0 && here && s->refused >= REFUSALS_MAX && e->state != JOB_FINISHING) {
        fail_refused(e, s, now);
        return engine_leave(e, err);
    }
    s->ask_at = now + budget_backoff(s->refused - 1, e->opt.backoff_min, e->opt.backoff_max,
                                     &e->refused_seed);
    if (s->ask_at < e->at[TIMER_REFUSED])
        timer_set(e, TIMER_REFUSED, NULL, s->ask_at);
    return engine_leave(e, err);
}

void gang_on_refused_time(struct engine *e, int64_t now)
{
    int64_t next = NEVER;

    for (uint32_t i = 0; i < e->n_slots; i++) {
        struct slot *s = &e->slots[i];

        if (s->ask_at <= now) {
            s->ask_at = NEVER;
            action_add(e, ACTION_ASK, i, 0);
        }
        next = s->ask_at < next ? s->ask_at : next;
    }
    timer_set(e, TIMER_REFUSED, NULL, next);
}

/* ---- what the platform says ---- */

static int slot_fault(const struct engine *e, const struct slot *s, const char *what,
                      struct err *err)
{
    static const char *const names[SLOT_STATES_] = { "idle", "asked for", "granted", "up" };

    return err_set(err, -EPROTO, "container %u of '%s': %s while %s", s->index,
                   e->roles[s->role].spec->name, what, names[s->state]);
}

/* A grant may cross with a decision of ours; containers that nobody wants any more go back. */
int engine_on_granted(struct engine *e, uint32_t slot, uint32_t agent, int64_t now, struct err *err)
{
    struct slot *s;
    int r = engine_slot_of(e, slot, &s, err);

    if (r < 0)
        return r;
    if (job_has_ended(e->state))
        return 0;
    if (s->state == SLOT_IDLE) { /* it crossed with our giving up */
        action_add(e, ACTION_RELEASE, slot, 0);
        return engine_leave(e, err);
    }
    if (s->state != SLOT_ASKED)
        return slot_fault(e, s, "granted", err);
    s->agent = agent;
    slot_set(e, s, SLOT_GRANTED);
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++) {
        struct unit *u = &e->units[s->first + i];

        if (u->t.state != TASK_WAITING)
            continue;
        u->t.agent = agent;
        unit_do(e, u, TASK_EV_GRANT, now);
    }
    gang_look(e, now);
    return engine_leave(e, err);
}

int engine_on_agent_up(struct engine *e, uint32_t slot, int64_t now, struct err *err)
{
    struct slot *s;
    int r = engine_slot_of(e, slot, &s, err);

    if (r < 0)
        return r;
    if (job_has_ended(e->state) || s->state == SLOT_IDLE || s->state == SLOT_ASKED)
        return 0;
    if (s->state != SLOT_GRANTED && !s->away)
        return slot_fault(e, s, "agent up", err);
    resume_slot(e, s, NULL, now);
    return engine_leave(e, err);
}

void gang_stands(struct engine *e, int64_t now)
{
    e->formed = now;
    e->rounds = 0;
    for (uint32_t i = 0; e->n_kept > 0 && i < e->n_units; i++)
        unit_kept(e, &e->units[i], false);
    for (uint32_t i = 0; i < e->n_roles; i++)
        e->roles[i].open = false;
    run_open(e);
}

/* "Spoiled" means that something happened while the answer was on its way: it is about a gang that
 * is no longer the one to be formed. */
int engine_on_formed(struct engine *e, int64_t now, struct err *err)
{
    int r = engine_enter(e, err);

    if (r < 0)
        return r;
    if (!e->forming)
        return err_set(err, -EPROTO, "job: formed while %s, without being asked to",
                       job_state_name(e->state));
    e->forming = false;
    if (e->spoiled || e->state != JOB_FORMING) {
        e->spoiled = false;
        gang_look(e, now);
        return engine_leave(e, err);
    }
    job_do(e, JOB_EV_FORMED, NULL, now);
    gang_stands(e, now);
    return engine_leave(e, err);
}
