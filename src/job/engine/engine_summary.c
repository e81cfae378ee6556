/* engine_summary.c - all that the engine knows, as lines: see engine.h. A part of the events log
 * that begins with them can be read without the parts before it.
 *
 *     {"t":…,"event":"summary","what":"job","next":900, the job's fields, "roles":[…]}
 *     {"t":…,"event":"summary","what":"task","task":"worker:0", …}   containers in their order
 *     {"t":…,"event":"summary","what":"budget","of":"gang","at":[…]}
 *     {"t":…,"event":"summary","what":"story", …}
 *     {"t":…,"event":"summary","what":"end","records":5}             without it, it is none
 *
 * They have no number: nothing happened. */
#include "job/engine/summary_private.h"

#include <string.h>

#define TIMES_MAX 2000 /* in one line */

struct writer {
    const struct engine *e;
    struct buf *out;
    int64_t now;
    int bad;
};

static void engine_begin(struct writer *w, const char *what, struct event *ev)
{
    event_begin_live(ev, w->out, w->now, EVENT_SUMMARY);
    event_str(ev, "what", what);
}

static void engine_summary_do_end(struct writer *w, struct event *ev)
{
    int r = event_end(ev);

    if (w->bad == 0)
        w->bad = r;
}

/* Zero is what a missing field means, so most of them are left out: a summary has a line for each
 * task. */
static void put_number(struct event *ev, const char *key, int64_t v)
{
    if (v != 0 && v <= SUMMARY_NUMBER_MAX && v >= -SUMMARY_NUMBER_MAX)
        event_int(ev, key, v);
}

static void put_field(struct event *ev, const struct summary_field *f, const void *of)
{
    const void *p = (const char *)of + f->at;

    switch (f->kind) {
    case SUMMARY_BOOL:
        if (*(const bool *)p)
            event_bool(ev, f->key, 1);
        break;
    case SUMMARY_U8:
        put_number(ev, f->key, *(const uint8_t *)p);
        break;
    case SUMMARY_U32:
    case SUMMARY_COUNT:
        put_number(ev, f->key, *(const uint32_t *)p);
        break;
    case SUMMARY_AGENT:
        if (*(const uint32_t *)p != ENGINE_NO_AGENT)
            event_int(ev, f->key, *(const uint32_t *)p);
        break;
    case SUMMARY_INT:
        put_number(ev, f->key, *(const int *)p);
        break;
    case SUMMARY_NUMBER:
        put_number(ev, f->key, *(const int64_t *)p);
        break;
    }
}

/* The budget of the task, or of the job when `u` is NULL. */
static void put_timers(const struct writer *w, const struct unit *u, struct event *ev)
{
    for (size_t i = 0; i < COUNT_OF(summary_timers); i++) {
        enum timer k = summary_timers[i].kind;
        int64_t at = NEVER;

        if ((k >= TIMER_JOB_) == (u != NULL))
            at = u ? u->at[k - TIMER_JOB_] : w->e->at[k];
        if (at != NEVER)
            put_number(ev, summary_timers[i].key, at);
    }
}

static void engine_put_times(struct writer *w, const char *of, const struct budget *b)
{
    for (uint32_t i = 0; i < b->n; i += TIMES_MAX) {
        AUTO_JSON *list = json_array();
        struct event ev;

        for (uint32_t k = i; k < b->n && k < i + TIMES_MAX; k++)
            if (json_array_append_new(list, json_integer(b->at[k])) < 0)
                w->bad = -ENOMEM;
        engine_begin(w, "budget", &ev);
        event_str(&ev, "of", of);
        event_json(&ev, "at", list);
        engine_summary_do_end(w, &ev);
    }
}

static int engine_roles_json(const struct engine *e, json_t **ret)
{
    AUTO_JSON *list = json_array();

    for (uint32_t i = 0; i < e->n_roles; i++) {
        const struct role *r = &e->roles[i];
        json_t *one = NULL;

        if (json_make(&one, NULL, "{s:s, s:I, s:I, s:b, s:b, s:b}", "name", r->spec->name, "count",
                      (json_int_t)r->count, "procs", (json_int_t)r->procs, "decides", r->decides,
                      "side", r->side, "open", r->open) < 0 ||
            json_array_append_new(list, one) < 0)
            return -ENOMEM;
    }
    *ret = take(list);
    return 0;
}

static void engine_put_job(struct writer *w, const struct engine_facts *facts)
{
    const struct engine *e = w->e;
    AUTO_JSON *roles = NULL;
    struct event ev;

    if (engine_roles_json(e, &roles) < 0)
        w->bad = -ENOMEM;
    engine_begin(w, "job", &ev);
    event_int(&ev, "next", (int64_t)e->seq);
    event_str(&ev, "state", job_state_name(e->state));
    say_facts(&ev, facts);
    for (size_t i = 0; i < COUNT_OF(summary_engine); i++)
        put_field(&ev, &summary_engine[i], e);
    event_int(&ev, "grace", e->grace);
    event_str(&ev, "names", e->names);
    put_timers(w, NULL, &ev);
    event_json(&ev, "roles", roles);
    engine_summary_do_end(w, &ev);
    engine_put_times(w, "gang", &e->gang);
    engine_put_times(w, "losses", &e->losses);
    engine_put_times(w, "files", &e->files);
}

static void put_story(struct writer *w)
{
    const struct failure *f = &w->e->story;
    char name[ENGINE_NAME_MAX];
    struct event ev;

    if (!f->set)
        return;
    engine_begin(w, "story", &ev);
    event_str(&ev, "task", engine_task_name(w->e, f->task, name));
    event_str(&ev, "class", fail_key(f->cls));
    event_int(&ev, "code", f->code);
    event_int(&ev, "signal", f->signal);
    event_int(&ev, "when", f->when);
    event_int(&ev, "generation", f->generation);
    event_int(&ev, "attempt", f->attempt);
    event_str(&ev, "text", f->text);
    event_str(&ev, "lines", f->lines);
    engine_summary_do_end(w, &ev);
}

static void put_slot(const struct slot *s, struct event *ev)
{
    event_str(ev, "slot", summary_slots[s->state]);
    if (s->agent != ENGINE_NO_AGENT)
        event_int(ev, "slot_agent", s->agent);
    if (s->leave)
        event_bool(ev, "leave", 1);
    if (s->leaving)
        event_bool(ev, "leaving", 1);
    if (s->moving)
        event_bool(ev, "moving", 1);
}

/* A container's own fields stand with its first task. */
static void engine_put_task(struct writer *w, const struct slot *s, const struct unit *u)
{
    AUTO_JSON *metrics = NULL;
    char name[ENGINE_NAME_MAX];
    struct event ev;

    if (u->metrics)
        (void)json_parse("metrics", u->metrics, strlen(u->metrics), &metrics, NULL);
    engine_begin(w, "task", &ev);
    event_str(&ev, "task", engine_task_name(w->e, u->t.id, name));
    event_str(&ev, "state", task_state_name(u->t.state));
    for (size_t i = 0; i < COUNT_OF(summary_task); i++)
        put_field(&ev, &summary_task[i], u);
    if (u->t.fail != FAIL_NONE)
        event_str(&ev, "class", fail_key(u->t.fail));
    if (u->t.n_ports > 0)
        event_ports(&ev, "ports", u->t.port, u->t.n_ports);
    put_timers(w, u, &ev);
    event_json(&ev, "metrics", metrics);
    if (u->t.id == s->first)
        put_slot(s, &ev);
    engine_summary_do_end(w, &ev);
    engine_put_times(w, name, &u->budget);
}

int engine_summary(const struct engine *e, const struct engine_facts *facts, int64_t now,
                   struct buf *out)
{
    struct writer w = { .e = e, .out = out, .now = now };

    engine_put_job(&w, facts);
    for (uint32_t i = 0; i < e->n_slots && w.bad == 0; i++)
        for (uint32_t k = 0; k < e->roles[e->slots[i].role].procs; k++)
            engine_put_task(&w, &e->slots[i], &e->units[e->slots[i].first + k]);
    put_story(&w);
    return w.bad;
}

/* The number of lines is the proof that the summary is whole: one that was cut off by a crash is
 * passed over by its readers. */
int engine_summary_end(struct buf *out, int64_t now)
{
    const uint8_t *at = out->data, *stop = out->data + out->len;
    int64_t n = 1;
    struct event ev;

    for (; at < stop && (at = memchr(at, '\n', (size_t)(stop - at))) != NULL; at++)
        n++;
    event_begin_live(&ev, out, now, EVENT_SUMMARY);
    event_str(&ev, "what", "end");
    event_int(&ev, "records", n);
    return event_end(&ev);
}
