/* engine_events.c - the engine's decisions as event lines. The last line of each batch is marked
 * as a point of rest: a new master reads the log up to such a line, so that it never sees half a
 * decision. Progress is shown to those who watch, and written ever less often, so that the log of
 * a long job stays short. */
#include "job/engine/engine_private.h"
#include "job/history.h"
#include "job/protocol.h"

#include <string.h>

#define METRICS_MAX (16 * KIB)
#define KEEP_MAX (64 * KIB) /* of an empty buffer */
#define LIVE_MAX (4 * MIB)  /* of what is shown and is in no log */
#define SHOW_MS 1000        /* from one report of a task's that is shown to the next */
#define RECORD_MIN_MS ((int64_t)60 * 1000)
#define RECORD_MAX_MS ((int64_t)60 * 60 * 1000)

/* The record "end" is the last one. If the ResourceManager did not hear that the job ended, it
 * starts another master, whose records are dropped here. */
void engine_event(struct engine *e, enum event_kind k, int64_t now, struct event *ret)
{
    buf_reset(&e->too_late);
    if (e->closed)
        event_begin(ret, &e->too_late, e->seq, now, k);
    else
        event_begin(ret, &e->events, e->seq++, now, k);
}

static void engine_events_end(struct engine *e, struct event *ev)
{
    if (event_end(ev) < 0)
        engine_oom(e);
}

/* The last line says that the engine is at rest: what a new master reads up to here is whole. The
 * mark goes into the last line only when the batch is taken, because until then more lines of the
 * same decision may follow. */
static int move_marked(struct engine *e, struct buf *out)
{
    static const char mark[] = ",\"rest\":true}\n";
    size_t before = out->len;
    int r = buf_add(out, e->events.data, e->events.len - strlen("}\n"));

    if (r == 0)
        r = buf_add(out, mark, strlen(mark));
    if (r < 0)
        out->len = before;
    return r;
}

int engine_events(struct engine *e, struct buf *out)
{
    int r;

    if (e->events.len == 0)
        return 0;
    r = move_marked(e, out);
    if (r < 0)
        return r;
    buf_reset(&e->events);
    if (e->events.cap > KEEP_MAX)
        buf_done(&e->events);
    return 0;
}

/* ---- the job ---- */

static int engine_events_roles_json(const struct engine *e, json_t **ret, struct err *err)
{
    AUTO_JSON *list = json_array();

    if (!list)
        return err_oom(err);
    for (uint32_t i = 0; i < e->n_roles; i++) {
        const struct role *r = &e->roles[i];
        json_t *one = NULL;
        int k = json_make(&one, err, "{s:s, s:I, s:I, s:b, s:b}", "name", r->spec->name, "count",
                          (json_int_t)r->count, "procs", (json_int_t)r->procs, "decides",
                          r->decides, "side", r->side);

        if (k < 0)
            return k;
        if (json_array_append_new(list, one) < 0)
            return err_oom(err);
    }
    *ret = take(list);
    return 0;
}

void say_facts(struct event *ev, const struct engine_facts *facts)
{
    event_int(ev, PROTOCOL_KEY, protocol_number(PROTOCOL_EVENTS));
    event_str(ev, "job", facts->job);
    event_str(ev, "name", facts->name);
    event_str(ev, "user", facts->user);
    event_str(ev, "platform", facts->platform);
    event_str(ev, "framework", facts->framework);
}

int engine_created(struct engine *e, const struct engine_facts *facts, int64_t now, struct err *err)
{
    AUTO_JSON *roles = NULL;
    struct event ev;
    int r = engine_enter(e, err);

    if (r == 0)
        r = engine_events_roles_json(e, &roles, err);
    if (r < 0)
        return r;
    e->created = now;
    engine_event(e, EVENT_JOB, now, &ev);
    event_str(&ev, "state", job_state_name(e->state));
    say_facts(&ev, facts);
    event_json(&ev, "roles", roles);
    engine_events_end(e, &ev);
    return engine_leave(e, err);
}

void say_job(struct engine *e, const char *reason, int64_t now)
{
    struct event ev;

    if (e->state == JOB_RUNNING && !e->ran)
        e->ran = now;
    engine_event(e, EVENT_JOB, now, &ev);
    event_str(&ev, "state", job_state_name(e->state));
    event_int(&ev, "generation", e->generation);
    event_str(&ev, "reason", reason);
    if (e->state == JOB_RUNNING)
        event_str(&ev, "names", e->names);
    if (e->state == JOB_FINISHING) {
        event_str(&ev, "final", job_state_name(e->final));
        event_int(&ev, "exit", e->exit);
        event_bool(&ev, "by_task", e->by_task);
        event_str(&ev, "text", e->end_text);
    }
    engine_events_end(e, &ev);
}

/* clang-format off */
static const struct {
    const char *name, *reason;
} steps[GANG_STEPS_] = {
    [GANG_ASKS]      = { "asks",     "asked" },
    [GANG_FORMS]     = { "forms",    "all ports are reserved" },
    [GANG_BACKS_OFF] = { "back-off", "not complete in time: releasing all containers" },
    [GANG_RETURNS]   = { "returns",  "all tasks have ended: preparing them again" },
};
/* clang-format on */

int gang_step_from(const char *name, enum gang_step *ret)
{
    for (int i = 0; i < GANG_STEPS_; i++)
        if (str_eq(steps[i].name, name)) {
            *ret = (enum gang_step)i;
            return 0;
        }
    return -EINVAL;
}

void say_gang(struct engine *e, enum gang_step step, int64_t delay, int64_t now)
{
    struct event ev;

    engine_event(e, EVENT_GANG, now, &ev);
    event_str(&ev, "step", steps[step].name);
    event_str(&ev, "reason", steps[step].reason);
    event_int(&ev, "generation", e->generation);
    event_int(&ev, "have", e->in[SLOT_GRANTED] + e->in[SLOT_UP]);
    event_int(&ev, "want",
              (int64_t)e->in[SLOT_IDLE] + e->in[SLOT_ASKED] + e->in[SLOT_GRANTED] + e->in[SLOT_UP]);
    if (delay > 0)
        event_int(&ev, "delay", delay);
    engine_events_end(e, &ev);
}

void say_end(struct engine *e, int64_t now)
{
    char name[ENGINE_NAME_MAX];
    struct event ev;

    engine_event(e, EVENT_END, now, &ev);
    event_str(&ev, "state", job_state_name(e->state));
    event_int(&ev, "exit", e->unsaved && e->exit == 0 ? HISTORY_UNSAVED_EXIT : e->exit);
    if (e->by_task)
        event_str(&ev, "whose", engine_task_name(e, e->story.task, name));
    event_str(&ev, "text", e->end_text);
    if (e->unsaved)
        event_bool(&ev, "unsaved", 1);
    engine_events_end(e, &ev);
}

void say_request(struct engine *e, const char *what, const char *task, const char *who, int64_t now)
{
    struct event ev;

    engine_event(e, EVENT_REQUEST, now, &ev);
    event_str(&ev, "what", what);
    event_str(&ev, "task", task);
    event_str(&ev, "who", who);
    if (str_eq(what, "stop"))
        event_int(&ev, "grace", e->grace);
    engine_events_end(e, &ev);
}

void say_scale(struct engine *e, const struct role *r, uint32_t count, const char *who, int64_t now)
{
    struct event ev;

    engine_event(e, EVENT_REQUEST, now, &ev);
    event_str(&ev, "what", "scale");
    event_str(&ev, "role", r->spec->name);
    event_int(&ev, "count", count);
    event_str(&ev, "who", who);
    engine_events_end(e, &ev);
}

void say_note(struct engine *e, const char *level, const char *text, int64_t now)
{
    struct event ev;

    engine_event(e, EVENT_NOTE, now, &ev);
    event_str(&ev, "level", level);
    event_str(&ev, "text", text);
    engine_events_end(e, &ev);
}

int engine_note(struct engine *e, const char *level, const char *text, int64_t now, struct err *err)
{
    int r = engine_enter(e, err);

    if (r < 0)
        return r;
    say_note(e, level, text, now);
    return engine_leave(e, err);
}

/* ---- tasks ---- */

static void begin_task(struct engine *e, enum event_kind k, uint32_t id, int64_t now,
                       struct event *ev)
{
    char name[ENGINE_NAME_MAX];

    engine_event(e, k, now, ev);
    event_str(ev, "task", engine_task_name(e, id, name));
}

void say_task(struct engine *e, const struct unit *u, int64_t now)
{
    const struct task *t = &u->t;
    struct event ev;

    begin_task(e, EVENT_TASK, t->id, now, &ev);
    event_str(&ev, "state", task_state_name(t->state));
    event_int(&ev, "generation", t->generation);
    event_int(&ev, "attempt", t->attempt);
    if (t->state == TASK_GRANTED)
        event_int(&ev, "agent", t->agent);
    if (t->state == TASK_READY || (t->state == TASK_RUNNING && u->held))
        event_ports(&ev, "ports", t->port, t->n_ports);
    if (t->state == TASK_RUNNING)
        event_int(&ev, "pid", t->pid);
    if (t->state == TASK_RUNNING && t->ready)
        event_bool(&ev, "ready", 1);
    if (task_has_ended(t->state)) {
        event_int(&ev, "code", t->code);
        event_str(&ev, "class", fail_key(t->fail));
        if (t->stopping)
            event_bool(&ev, "stopped", 1);
        if (t->results)
            event_bool(&ev, "results", 1);
    }
    engine_events_end(e, &ev);
}

void say_ready(struct engine *e, const struct unit *u, int64_t now)
{
    struct event ev;

    begin_task(e, EVENT_READY, u->t.id, now, &ev);
    engine_events_end(e, &ev);
}

void say_container(struct engine *e, const struct slot *s, const char *state, enum fail_class cls,
                   int64_t now)
{
    struct event ev;

    begin_task(e, EVENT_CONTAINER, s->first, now, &ev);
    event_str(&ev, "state", state);
    event_str(&ev, "class", cls == FAIL_NONE ? NULL : fail_key(cls));
    engine_events_end(e, &ev);
}

static void put_failure(struct event *ev, const struct failure *f)
{
    event_str(ev, "class", fail_key(f->cls));
    event_int(ev, "code", f->code);
    event_int(ev, "signal", f->signal);
    event_int(ev, "when", f->when);
    event_int(ev, "generation", f->generation);
    event_int(ev, "attempt", f->attempt);
    event_str(ev, "text", f->text);
    event_str(ev, "lines", f->lines);
    event_str(ev, "hint", failure_hint(f->cls, f->code, f->signal));
}

void say_failure(struct engine *e, const struct failure *f, const struct judgement *j, int64_t now)
{
    struct event ev;

    begin_task(e, EVENT_FAILURE, f->task, now, &ev);
    put_failure(&ev, f);
    event_bool(&ev, "counted", j->counted);
    event_str(&ev, "then", policy_action_name(j->then));
    if (j->gone)
        event_bool(&ev, "gone", 1);
    engine_events_end(e, &ev);
}

void say_story(struct engine *e, int64_t now)
{
    struct event ev;

    begin_task(e, EVENT_STORY, e->story.task, now, &ev);
    put_failure(&ev, &e->story);
    engine_events_end(e, &ev);
}

void say_restart(struct engine *e, const struct unit *u, int64_t delay, const char *reason,
                 int64_t now)
{
    char name[ENGINE_NAME_MAX];
    struct event ev;

    e->restarts++;
    engine_event(e, EVENT_RESTART, now, &ev);
    event_str(&ev, "what", u ? "task" : "gang");
    if (u) {
        event_str(&ev, "task", engine_task_name(e, u->t.id, name));
        event_int(&ev, "attempt", u->starts);
        event_int(&ev, "used", u->budget.n);
        event_int(&ev, "max", role_of(e, u)->restart.max);
    } else {
        event_int(&ev, "generation", e->generation);
        event_int(&ev, "used", e->gang.n);
    }
    event_int(&ev, "young", u ? u->young : e->young);
    event_int(&ev, "delay", delay);
    event_str(&ev, "reason", reason);
    engine_events_end(e, &ev);
}

/* What a task says of itself is hostile: it becomes part of the line only as JSON of our making. */
static json_t *metrics_json(const char *text)
{
    json_t *v = NULL;

    if (!text || json_parse("metrics", text, strlen(text), &v, NULL) < 0)
        return NULL;
    if (!json_is_object(v)) {
        json_decref(v);
        return NULL;
    }
    return v;
}

static void engine_events_put_progress(const struct engine *e, const struct unit *u,
                                       struct event *ev)
{
    AUTO_JSON *metrics = metrics_json(u->metrics);
    char name[ENGINE_NAME_MAX];

    event_str(ev, "task", engine_task_name(e, u->t.id, name));
    event_int(ev, "step", u->t.step);
    event_int(ev, "total", u->t.total);
    event_json(ev, "metrics", metrics);
}

void say_progress(struct engine *e, struct unit *u, int64_t now)
{
    struct event ev;

    engine_event(e, EVENT_PROGRESS, now, &ev);
    engine_events_put_progress(e, u, &ev);
    engine_events_end(e, &ev);
    if (u->told < u->started || !u->told)
        u->first_told = now;
    u->told = u->shown = now;
    u->untold = false;
    timer_set(e, TIMER_PROGRESS, u, NEVER);
}

/* Those who look at the job see it; the log does not. Without memory for it they see the next. */
static void show_progress(struct engine *e, struct unit *u, int64_t now)
{
    struct event ev;

    u->shown = now;
    timer_set(e, TIMER_PROGRESS, u, NEVER);
    if (!e->watched || e->live.len > LIVE_MAX)
        return;
    event_begin_live(&ev, &e->live, u->reported, EVENT_PROGRESS);
    engine_events_put_progress(e, u, &ev);
    (void)event_end(&ev);
}

/* When the log may have the next one of a task: the first of each start, then after a minute, two,
 * four and so on, and every hour. So the log of a job that runs for a week has some two hundred
 * of each task, and a new master knows what is at most an hour old until the task reports again. */
static int64_t engine_events_next_record(const struct unit *u)
{
    int64_t pause = u->told - u->first_told;

    if (!u->told || u->told < u->started)
        return 0;
    if (pause < RECORD_MIN_MS)
        pause = RECORD_MIN_MS;
    return u->told + (pause < RECORD_MAX_MS ? pause : RECORD_MAX_MS);
}

void progress_due(struct engine *e, struct unit *u, int64_t now)
{
    if (!u->untold)
        return;
    if (now >= engine_events_next_record(u))
        say_progress(e, u, now);
    else
        show_progress(e, u, now);
}

/* A task may report a thousand times a second. What is newest is kept here; lines are made at most
 * once a second for those who watch, and much more seldom for the log. */
void engine_on_progress(struct engine *e, uint32_t task, int64_t step, int64_t total,
                        const char *metrics_json, int64_t now)
{
    struct unit *u;

    if (engine_unit_of(e, task, &u, NULL) < 0 || u->t.state != TASK_RUNNING)
        return;
    u->t.step = step;
    u->t.total = total;
    u->untold = true;
    u->reported = now;
    free(u->metrics);
    u->metrics = metrics_json ? strndup(metrics_json, METRICS_MAX) : NULL;
    if (now >= u->shown + SHOW_MS || now >= engine_events_next_record(u))
        progress_due(e, u, now);
    else
        timer_set(e, TIMER_PROGRESS, u, u->shown + SHOW_MS);
}

void engine_watch(struct engine *e, bool on)
{
    e->watched = on;
}

int engine_live(struct engine *e, struct buf *out)
{
    int r = e->live.len ? buf_add(out, e->live.data, e->live.len) : 0;

    buf_reset(&e->live);
    if (e->live.cap > KEEP_MAX)
        buf_done(&e->live);
    return r;
}

int engine_untold(const struct engine *e, struct buf *out)
{
    int r = 0;

    for (uint32_t i = 0; i < e->n_units && r == 0; i++) {
        const struct unit *u = &e->units[i];
        struct event ev;

        if (!u->untold)
            continue;
        event_begin_live(&ev, out, u->reported, EVENT_PROGRESS);
        engine_events_put_progress(e, u, &ev);
        r = event_end(&ev);
    }
    return r;
}
