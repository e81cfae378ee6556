/* engine_restore.c - the events log, read back into an engine.
 *
 * Each record does to the engine what was done when it was written, with the same functions: so
 * what no record says (which roles are open, what a budget has left, until when a gang is held)
 * comes out as it was. Events and actions that the functions produce meanwhile are discarded: the
 * events are in the log, and resume asks for the actions again. Records are hostile until proven:
 * numbers have bounds, names must be known, and what cannot be is repaired by resume. */
#include "base/array.h"
#include "job/engine/restore_private.h"

#include <string.h>

/* ---- fields ---- */

uint32_t restore_u32(const json_t *v, const char *key, uint32_t without)
{
    int64_t n = json_int_or(v, key, -1);

    return n < 0 || n >= UINT32_MAX ? without : (uint32_t)n;
}

const char *restore_text(const json_t *v, const char *key)
{
    return json_string_value(json_object_get(v, key));
}

struct role *restore_role(const struct engine *e, const char *name, size_t n)
{
    for (uint32_t i = 0; i < e->n_roles; i++)
        if (strlen(e->roles[i].spec->name) == n && memcmp(e->roles[i].spec->name, name, n) == 0)
            return &e->roles[i];
    return NULL;
}

struct unit *restore_unit(const struct engine *e, const json_t *v)
{
    return restore_unit_named(e, restore_text(v, "task"));
}

struct unit *restore_unit_named(const struct engine *e, const char *name)
{
    const char *colon = name ? strrchr(name, ':') : NULL;
    struct role *r = colon ? restore_role(e, name, (size_t)(colon - name)) : NULL;
    int64_t rank;

    if (!r || str_to_i64(colon + 1, 0, (int64_t)r->n_slots * r->procs - 1, &rank) < 0)
        return NULL;
    return &e->units[e->slots[r->slots[rank / r->procs]].first + rank % r->procs];
}

/* A number that only grows; the master that raised it had not formed the gang yet. */
static void see_generation(struct engine *e, const json_t *v)
{
    uint32_t g = restore_u32(v, "generation", 0);

    if (g <= e->generation)
        return;
    e->generation = g;
    e->numbered = false;
}

/* ---- the job ---- */

static void restore_names(struct engine *e, const char *names)
{
    struct err err = ERR_INIT;

    if (engine_set_names(e, names, &err) == -ENOMEM)
        engine_oom(e);
}

static void restore_finish(struct engine *e, const json_t *v, int64_t t)
{
    struct ending how = { .final = JOB_FAILED,
                          .exit = (int)restore_u32(v, "exit", 1),
                          .by_task = json_is_true(json_object_get(v, "by_task")) && e->story.set,
                          .text = restore_text(v, "text") };
    const char *final = restore_text(v, "final");

    if (e->state >= JOB_FINISHING)
        return;
    if (!final || job_state_from(final, &how.final) < 0 || !job_has_ended(how.final))
        how.final = JOB_FAILED;
    end_begin(e, &how, t);
}

static void restore_end_text(struct engine *e, const char *text)
{
    free(e->end_text);
    e->end_text = text ? strdup(text) : NULL;
    if (text && !e->end_text)
        engine_oom(e);
}

static void engine_restore_on_job(struct engine *e, const json_t *v, int64_t t)
{
    const char *name = restore_text(v, "state");
    enum job_state s, before = e->state;

    see_generation(e, v);
    if (!e->created)
        e->created = t;
    if (!name || job_state_from(name, &s) < 0 || job_has_ended(before) || s == before)
        return;
    if (s == JOB_FINISHING) {
        restore_finish(e, v, t);
        return;
    }
    if (before == JOB_FINISHING && !job_has_ended(s))
        return;
    e->state = s;
    if (s == JOB_RUNNING && !e->ran)
        e->ran = t;
    if (job_has_ended(s))
        restore_end_text(e, restore_text(v, "reason"));
    if (before == JOB_NEW && s == JOB_ASKING)
        gang_set_limit(e, t);
    if (s != JOB_ASKING)
        timer_set(e, TIMER_HOLD, NULL, NEVER);
    if (s == JOB_RUNNING) {
        e->reforming = e->backing_off = false;
        e->numbered = true;
        restore_names(e, restore_text(v, "names"));
        gang_stands(e, t);
    }
}

static void engine_restore_back_off(struct engine *e, const json_t *v, int64_t t)
{
    e->rounds++;
    /* For the next one to be as it would have been. */
    (void)budget_backoff(e->rounds - 1, e->opt.backoff_min, e->opt.backoff_max, &e->seed);
    for (uint32_t i = 0; i < e->n_slots; i++)
        slot_release(e, &e->slots[i], t);
    e->backing_off = true;
    timer_set(e, TIMER_HOLD, NULL, NEVER);
    timer_set(e, TIMER_ASK, NULL, restore_later(t, v));
}

static void engine_restore_on_gang(struct engine *e, const json_t *v, int64_t t)
{
    const char *name = restore_text(v, "step");
    enum gang_step step;

    see_generation(e, v);
    if (!name || gang_step_from(name, &step) < 0 || e->state >= JOB_FINISHING)
        return;
    if (step == GANG_FORMS) {
        e->numbered = true;
    } else if (step == GANG_BACKS_OFF) {
        engine_restore_back_off(e, v, t);
    } else if (step == GANG_RETURNS) {
        e->reforming = false;
        timer_set(e, TIMER_REFORM, NULL, NEVER);
    } else {
        e->backing_off = false;
        timer_set(e, TIMER_ASK, NULL, NEVER);
        gang_want_all(e);
    }
}

/* The record of a restart was written after the decision, so the budget was paid by the failure
 * before it; here only the delay and the count of early deaths are taken. */
static void engine_restore_on_restart(struct engine *e, const json_t *v, int64_t t)
{
    struct unit *u = restore_unit(e, v);
    uint32_t young = restore_u32(v, "young", 0);
    int64_t at = restore_later(t, v);

    e->restarts++;
    if (e->state >= JOB_FINISHING)
        return;
    if (u) {
        u->young = (uint8_t)(young > 255 ? 255 : young);
        if (at > t)
            timer_set(e, TIMER_RESTART, u, at);
    } else if (str_eq(restore_text(v, "what"), "gang")) {
        e->young = (uint8_t)(young > 255 ? 255 : young);
        see_generation(e, v);
        e->numbered = false;
        if (e->state == JOB_RUNNING)
            e->state = JOB_FORMING; /* a record of its own says so, if none is missing */
        again_stop_all(e, at - t, t);
    }
}

/* The last words, once there is nothing more to decide. */
static void engine_restore_on_end(struct engine *e, const json_t *v, int64_t t)
{
    const char *text = restore_text(v, "text");

    (void)t;
    if (!job_has_ended(e->state))
        return;
    e->exit = (int)restore_u32(v, "exit", (uint32_t)e->exit);
    restore_end_text(e, text);
    e->n_heap = 0;
    e->closed = true;
}

/* ---- what a person wanted ---- */

static void restore_scale(struct engine *e, const json_t *v, int64_t t)
{
    const char *name = restore_text(v, "role");
    struct role *r = name ? restore_role(e, name, strlen(name)) : NULL;
    uint32_t count = restore_u32(v, "count", UINT32_MAX);
    int k;

    if (!r || count > SPEC_TASKS_MAX)
        return;
    k = engine_add_slots(e, r, count);
    if (k == -ENOMEM)
        engine_oom(e);
    if (k < 0)
        return;
    person_scale(e, r, count, t);
    if (e->opt.elastic || r->side)
        run_open(e);
}

static void restore_again(struct engine *e, struct unit *u, int64_t t)
{
    if (!u || u->again || !unit_live(u))
        return;
    u->again = true;
    again_stop(e, u, e->grace, t);
}

static void restore_move(struct engine *e, const struct unit *u, int64_t t)
{
    struct slot *s = u ? &e->slots[u->t.slot] : NULL;

    if (s && s->state >= SLOT_GRANTED && !s->leaving && !s->retired)
        leaving_begin_move(e, s, t);
}

static void engine_restore_on_agent(struct engine *e, const json_t *v, int64_t t)
{
    uint32_t agent = restore_u32(v, "agent", ENGINE_NO_AGENT);

    (void)t;
    if (!str_eq(restore_text(v, "state"), "saved"))
        return;
    if (json_is_false(json_object_get(v, "results")))
        engine_on_results_left(e, agent);
    else
        engine_on_saved(e, agent);
}

static void engine_restore_on_request(struct engine *e, const json_t *v, int64_t t)
{
    const char *what = restore_text(v, "what");

    if (job_has_ended(e->state))
        return;
    if (str_eq(what, "scale") && e->state < JOB_FINISHING)
        restore_scale(e, v, t);
    else if (str_eq(what, "restart") && e->state < JOB_FINISHING)
        restore_again(e, restore_unit(e, v), t);
    else if (str_eq(what, "move") && e->state < JOB_FINISHING)
        restore_move(e, restore_unit(e, v), t);
    else if (str_eq(what, "stop")) {
        engine_set_grace(e, json_int_or(v, "grace", e->grace));
        e->stops++;
        if (e->state == JOB_FINISHING && e->stops > 1)
            end_kill_rest(e, t);
    } else if (str_eq(what, "kill")) {
        e->grace = 0;
        if (e->state == JOB_FINISHING)
            end_kill_rest(e, t);
    }
}

/* ---- one record ---- */

static void (*const readers[EVENT_KINDS_])(struct engine *e, const json_t *v, int64_t t) = {
    [EVENT_JOB] = engine_restore_on_job,
    [EVENT_GANG] = engine_restore_on_gang,
    [EVENT_RESTART] = engine_restore_on_restart,
    [EVENT_REQUEST] = engine_restore_on_request,
    [EVENT_END] = engine_restore_on_end,
    [EVENT_AGENT] = engine_restore_on_agent,
    [EVENT_TASK] = restore_task,
    [EVENT_READY] = restore_ready,
    [EVENT_PROGRESS] = restore_progress,
    [EVENT_FAILURE] = restore_failure,
    [EVENT_CONTAINER] = restore_container,
};

static enum event_kind engine_restore_kind_of(const json_t *v)
{
    const char *name = restore_text(v, "event");

    for (int k = 0; name && k < EVENT_KINDS_; k++)
        if (str_eq(event_name((enum event_kind)k), name))
            return (enum event_kind)k;
    return EVENT_KINDS_;
}

static void engine_restore_apply(struct engine *e, const json_t *v)
{
    enum event_kind k = engine_restore_kind_of(v);
    int64_t t = json_int_or(v, "t", 0);
    uint64_t seq = e->seq;

    if (k == EVENT_KINDS_ || !readers[k])
        return;
    readers[k](e, v, t);
    if (e->state == JOB_ASKING)
        gang_hold(e, t);
    if (e->bad == -EPROTO)
        e->bad = 0; /* a line is missing, and resume will mend it */
    buf_reset(&e->events);
    buf_reset(&e->live);
    e->n_queue = 0;
    e->seq = seq;
}

static void apply_pending(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_pending; i++) {
        if (e->bad == 0)
            engine_restore_apply(e, e->pending[i]);
        json_decref(e->pending[i]);
    }
    e->n_pending = 0;
}

static void forget_pending(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_pending; i++)
        json_decref(e->pending[i]);
    e->n_pending = 0;
}

/* Other readers of the log have believed it, so a correction is written. */
static void correct(struct engine *e, const json_t *v, int64_t now)
{
    struct unit *u = restore_unit(e, v);
    const char *role = restore_text(v, "role");
    struct role *r = role ? restore_role(e, role, strlen(role)) : NULL;

    switch (engine_restore_kind_of(v)) {
    case EVENT_TASK:
    case EVENT_READY:
        if (!u)
            break;
        u->t.since = now;
        say_task(e, u, now);
        break;
    case EVENT_JOB:
    case EVENT_GANG:
    case EVENT_RESTART:
        say_job(e, NULL, now);
        break;
    case EVENT_REQUEST:
        if (r)
            say_scale(e, r, r->count, NULL, now);
        break;
    default:
        break;
    }
}

void restore_drop(struct engine *e, int64_t now)
{
    summary_close(e);
    for (uint32_t i = 0; i < e->n_pending; i++)
        correct(e, e->pending[i], now);
    forget_pending(e);
}

/* Lines are applied up to a point of rest only. What comes behind the last one was half a decision
 * of a master that died; restore_drop() forgets it, and writes down what is true instead. */
int engine_restore(struct engine *e, const char *line, size_t n, struct err *err)
{
    AUTO_JSON *v = NULL;
    int64_t seq;
    int r = engine_enter(e, err);

    if (r == 0 && n > EVENT_LINE_MAX)
        r = err_set(err, -EINVAL, "events log: a line of %zu bytes", n);
    if (r == 0)
        r = json_parse("events log", line, n, &v, err);
    if (r < 0)
        return r;
    if (!restore_text(v, "event"))
        return err_set(err, -EINVAL, "events log: a line without an event");
    if (engine_restore_kind_of(v) == EVENT_SUMMARY) {
        summary_restore(e, v);
        return engine_leave(e, err);
    }
    summary_close(e); /* whatever is missing of it */
    e->read = true;
    /* A master's first word: what its predecessor left unfinished was never decided. */
    if (engine_restore_kind_of(v) == EVENT_MASTER)
        forget_pending(e);
    if (ARRAY_ADD(e->pending, e->n_pending, json_incref(v)) < 0)
        return err_oom(err);
    seq = json_int_or(v, "seq", -1);
    if (seq >= 0 && seq < INT64_MAX && (uint64_t)seq >= e->seq)
        e->seq = (uint64_t)seq + 1;
    if (json_is_true(json_object_get(v, "rest")))
        apply_pending(e);
    return engine_leave(e, err);
}
