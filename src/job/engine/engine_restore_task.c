/* engine_restore_task.c - what the log says of tasks and their containers; see engine_restore.c. */
#include "job/engine/restore_private.h"

#include <string.h>

bool restore_ports(struct unit *u, const json_t *v)
{
    const json_t *list = json_object_get(v, "ports");
    uint16_t ports[CLUSTER_PORTS_MAX];
    size_t n = json_array_size(list);
    bool moved;

    if (!json_is_array(list))
        return false;
    if (n > CLUSTER_PORTS_MAX)
        n = CLUSTER_PORTS_MAX;
    for (size_t i = 0; i < n; i++)
        ports[i] = (uint16_t)json_integer_value(json_array_get(list, i));
    moved = u->t.n_ports > 0 && !run_same_ports(&u->t, ports, (unsigned)n);
    run_set_ports(u, ports, (unsigned)n);
    return moved;
}

/* Its container is gone: who had ended in it has no place any more. */
static void restore_vacate(struct engine *e, struct slot *s)
{
    slot_set(e, s, SLOT_IDLE);
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++) {
        struct unit *u = &e->units[s->first + i];

        if (task_has_ended(u->t.state))
            u->homeless = true;
    }
}

/* Waiting again means that its container is gone, or that it moves; whether another one was asked
 * for follows from what else the log says. */
static void to_waiting(struct engine *e, struct unit *u, const json_t *v, int64_t t)
{
    bool had_none = u->t.state == TASK_WAITING || u->homeless;

    (void)v;
    timer_set(e, TIMER_STOP, u, NEVER);
    timer_set(e, TIMER_RESTART, u, NEVER);
    unit_over(e, u, false);
    unit_set(e, u, TASK_WAITING, t);
    if (!had_none)
        restore_vacate(e, &e->slots[u->t.slot]);
    unit_forget_place(e, u);
    /* A task that moves gets another one; so does one that lost its container, unless all are being
     * released. */
    if (!u->retired && e->state < JOB_FINISHING && !e->backing_off)
        slot_ask(e, &e->slots[u->t.slot]);
}

static void to_granted(struct engine *e, struct unit *u, const json_t *v, int64_t t)
{
    struct slot *s = &e->slots[u->t.slot];

    u->t.agent = restore_u32(v, "agent", ENGINE_NO_AGENT);
    if (s->state == SLOT_IDLE || s->state == SLOT_ASKED) {
        s->agent = u->t.agent;
        slot_set(e, s, SLOT_GRANTED);
    }
    unit_set(e, u, TASK_GRANTED, t);
}

static void to_preparing(struct engine *e, struct unit *u, const json_t *v, int64_t t)
{
    (void)v;
    if (e->slots[u->t.slot].state == SLOT_GRANTED)
        slot_set(e, &e->slots[u->t.slot], SLOT_UP);
    timer_set(e, TIMER_RESTART, u, NEVER);
    unit_over(e, u, false);
    unit_kept(e, u, false);
    u->t.stopping = u->t.results = u->again = false;
    u->t.pid = u->t.code = 0;
    u->t.fail = FAIL_NONE;
    unit_set(e, u, TASK_PREPARING, t);
}

static void to_ready(struct engine *e, struct unit *u, const json_t *v, int64_t t)
{
    bool moved = restore_ports(u, v);

    unit_set(e, u, TASK_READY, t);
    if (!moved || run_alone(e, u))
        run_start(e, u); /* otherwise the others have to be told first: a new gang */
}

static void to_running(struct engine *e, struct unit *u, const json_t *v, int64_t t)
{
    uint32_t attempt = restore_u32(v, "attempt", 0);

    if (!unit_live(u) || attempt >= u->starts)
        timer_set(e, TIMER_RESTART, u, NEVER);
    if (e->slots[u->t.slot].state == SLOT_GRANTED)
        slot_set(e, &e->slots[u->t.slot], SLOT_UP);
    if (!unit_live(u)) { /* its agent had it, and no record did */
        unit_over(e, u, false);
        unit_kept(e, u, false);
        u->t.stopping = u->t.results = u->again = u->homeless = false;
        u->t.agent = e->slots[u->t.slot].agent;
        u->t.code = 0;
        u->t.fail = FAIL_NONE;
    }
    if (u->starts <= attempt)
        u->starts = attempt + 1;
    (void)restore_ports(u, v);
    u->t.pid = (int)restore_u32(v, "pid", 0);
    u->started = t;
    e->ever_started = true;
    unit_ready(e, u, json_is_true(json_object_get(v, "ready")));
    unit_set(e, u, TASK_RUNNING, t);
    if (!u->t.stopping)
        unit_down(e, u, false);
    run_step(e, role_of(e, u), SPEC_AFTER_STARTED);
}

static void to_ended(struct engine *e, struct unit *u, const json_t *v, int64_t t)
{
    const char *cls = restore_text(v, "class"), *state = restore_text(v, "state");
    enum task_state next = TASK_DONE;

    (void)task_state_from(state, &next);
    timer_set(e, TIMER_STOP, u, NEVER);
    u->t.code = (int)json_int_or(v, "code", 0);
    u->t.fail = FAIL_NONE;
    u->t.results = json_is_true(json_object_get(v, "results"));
    if (cls)
        (void)fail_from_key(cls, &u->t.fail);
    unit_set(e, u, next, t);
    if (next == TASK_LOST) {
        timer_set(e, TIMER_RESTART, u, NEVER);
        restore_vacate(e, &e->slots[u->t.slot]);
        return;
    }
    if (next != TASK_DONE || u->retired || u->again || e->reforming || e->state >= JOB_FINISHING ||
        e->slots[u->t.slot].moving)
        return;
    unit_over(e, u, true);
    unit_down(e, u, false);
    run_step(e, role_of(e, u), SPEC_AFTER_FINISHED);
}

static void (*const states[TASK_STATES_])(struct engine *e, struct unit *u, const json_t *v,
                                          int64_t t) = {
    [TASK_WAITING] = to_waiting, [TASK_GRANTED] = to_granted, [TASK_PREPARING] = to_preparing,
    [TASK_READY] = to_ready,     [TASK_RUNNING] = to_running, [TASK_DONE] = to_ended,
    [TASK_FAILED] = to_ended,    [TASK_LOST] = to_ended,
};

void restore_task(struct engine *e, const json_t *v, int64_t t)
{
    struct unit *u = restore_unit(e, v);
    const char *name = restore_text(v, "state");
    enum task_state s;

    if (!u || !name || task_state_from(name, &s) < 0)
        return;
    if (u->t.state == s && restore_u32(v, "attempt", 0) == u->t.attempt &&
        restore_u32(v, "generation", 0) == u->t.generation) {
        u->t.since = t; /* said again by restore_drop() */
        return;
    }
    u->t.generation = restore_u32(v, "generation", u->t.generation);
    if (u->t.generation > e->generation) {
        e->generation = u->t.generation;
        e->numbered = s == TASK_RUNNING;
    }
    if (s != TASK_READY || !unit_live(u))
        u->t.attempt = restore_u32(v, "attempt", u->t.attempt);
    states[s](e, u, v, t);
}

void restore_ready(struct engine *e, const json_t *v, int64_t t)
{
    struct unit *u = restore_unit(e, v);

    (void)t;
    if (!u || u->t.state != TASK_RUNNING)
        return;
    unit_ready(e, u, true);
    run_step(e, role_of(e, u), SPEC_AFTER_READY);
}

void restore_progress(struct engine *e, const json_t *v, int64_t t)
{
    struct unit *u = restore_unit(e, v);
    const json_t *metrics = json_object_get(v, "metrics");

    if (!u)
        return;
    u->t.step = json_int_or(v, "step", u->t.step);
    u->t.total = json_int_or(v, "total", u->t.total);
    if (u->told < u->started || !u->told)
        u->first_told = t;
    u->told = u->shown = u->reported = t;
    u->untold = false;
    free(u->metrics);
    u->metrics = metrics ? json_dumps(metrics, JSON_COMPACT) : NULL;
    if (u->metrics && strlen(u->metrics) > RESTORE_METRICS_MAX)
        free(take(u->metrics));
}

/* ---- failures ---- */

/* What act() does beyond what other records say. */
static void restore_act(struct engine *e, struct unit *u, const struct judgement *j)
{
    bool alone = e->state != JOB_RUNNING || run_alone(e, u) || run_named(e, u);

    if (e->state != JOB_RUNNING)
        gang_spoil(e);
    if (j->then == POLICY_PORTS)
        run_set_ports(u, NULL, 0);
    if (j->then == POLICY_MOVE && !j->gone && !alone)
        e->slots[u->t.slot].leave = true;
}

/* What the last master decided is taken from the record, not decided again: the rules of this
 * release may be others. Only the budget is paid, as it was then. */
static void restore_judgement(struct engine *e, struct unit *u, const struct failure *f,
                              const struct judgement *j, int64_t t)
{
    bool side = role_of(e, u)->side;

    if (!side)
        fail_remember(e, f);
    if (e->state >= JOB_FINISHING)
        return;
    if (!side)
        unit_down(e, u, true);
    if (j->then == POLICY_NOTHING)
        return;
    if (j->then != POLICY_FAIL)
        (void)fail_afford(e, u, j->counted, f->cls, t);
    if (j->then != POLICY_FAIL && j->then != POLICY_USED_UP)
        restore_act(e, u, j);
    else if (side)
        fail_give_up_side(e, u, j->gone);
}

void restore_facts(const json_t *v, int64_t t, struct failure *ret)
{
    *ret = (struct failure){ .code = (int)json_int_or(v, "code", 0),
                             .signal = (int)json_int_or(v, "signal", 0),
                             .generation = restore_u32(v, "generation", 0),
                             .attempt = restore_u32(v, "attempt", 0),
                             .when = json_int_or(v, "when", t),
                             .text = (char *)restore_text(v, "text"),
                             .lines = (char *)restore_text(v, "lines") };
}

void restore_failure(struct engine *e, const json_t *v, int64_t t)
{
    struct unit *u = restore_unit(e, v);
    const char *cls = restore_text(v, "class"), *then = restore_text(v, "then");
    struct judgement j = { .then = POLICY_NOTHING,
                           .counted = json_is_true(json_object_get(v, "counted")),
                           .gone = json_is_true(json_object_get(v, "gone")) };
    struct failure f;

    restore_facts(v, t, &f);
    if (!u || u->retired || !cls || fail_from_key(cls, &f.cls) < 0)
        return;
    if (then)
        (void)policy_action_from(then, &j.then);
    f.task = u->t.id;
    restore_judgement(e, u, &f, &j, t);
}

/* GONE stands for itself only where no record of a task tells the same. */
void restore_container(struct engine *e, const json_t *v, int64_t t)
{
    struct unit *u = restore_unit(e, v);
    const char *state = restore_text(v, "state");
    struct slot *s = u ? &e->slots[u->t.slot] : NULL;

    if (!s)
        return;
    if (str_eq(state, "GONE"))
        restore_vacate(e, s);
    if (!str_eq(state, "LEAVING") || s->state < SLOT_GRANTED)
        return;
    s->leaving = true;
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++)
        again_stop(e, &e->units[s->first + i], e->grace, t);
}
