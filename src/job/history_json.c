/* history_json.c - a job's past as the document that `status --json` shows. */
#include "job/history_private.h"

static json_t *maybe(const json_t *v)
{
    return v ? json_incref((json_t *)v) : json_null();
}

static json_t *maybe_text(const char *text)
{
    return text && *text ? json_text(text) : json_null();
}

static json_t *maybe_int(int64_t v, bool there)
{
    return there ? json_integer(v) : json_null();
}

/* ---- progress ---- */

/* The one that is furthest behind: the others wait for it. */
static const struct history_task *slowest(const struct history_role *r)
{
    const struct history_task *found = NULL;

    for (uint32_t i = 0; i < history_n_tasks(r); i++) {
        const struct history_task *k = &r->tasks[i];

        if ((k->step > 0 || k->total > 0) && (!found || k->step < found->step))
            found = k;
    }
    return found;
}

static json_t *time_left(const struct history_task *k)
{
    double did = (double)k->step - (double)k->first_step;
    double left = (double)k->total - (double)k->step;
    double took = (double)k->last_at - (double)k->first_at;
    double eta;

    if (k->total <= 0 || did <= 0 || took <= 0 || left < 0)
        return json_null();
    eta = left * took / did;
    return eta < 1e15 ? json_integer((json_int_t)eta) : json_null();
}

static json_t *progress_json(const struct history *h)
{
    const struct history_task *k = NULL;
    json_t *v = NULL;

    for (int want = 1; want >= 0 && !k; want--)
        for (uint32_t i = 0; i < h->n_roles && !k; i++)
            if (h->roles[i].decides == (want == 1))
                k = slowest(&h->roles[i]);
    if (!k)
        return json_null();
    (void)json_make(&v, NULL, "{s:I, s:I, s:o}", "step", (json_int_t)k->step, "total",
                    (json_int_t)k->total, "eta_ms", time_left(k));
    return v;
}

/* ---- roles and tasks ---- */

static json_t *states_json(const struct history_role *r)
{
    json_int_t n[TASK_STATES_] = { 0 };
    AUTO_JSON *v = json_object();

    for (uint32_t i = 0; i < history_n_tasks(r); i++)
        n[r->tasks[i].state]++;
    for (int s = 0; v && s < TASK_STATES_; s++)
        if (n[s] > 0 &&
            json_object_set_new(v, task_state_name((enum task_state)s), json_integer(n[s])) < 0)
            return NULL;
    return take(v);
}

static json_t *history_json_role_json(const struct history_role *r)
{
    const struct history_task *k = slowest(r);
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:O, s:I, s:o, s:o, s:o}", "name", r->name, "count",
                    (json_int_t)r->count, "states", states_json(r), "step",
                    maybe_int(k ? k->step : 0, k), "total", maybe_int(k ? k->total : 0, k));
    return v;
}

static json_t *task_name(const struct history_role *r, uint32_t rank)
{
    return json_sprintf("%s:%u", json_string_value(r->name), rank);
}

static json_t *task_json(const struct history *h, const struct history_role *r, uint32_t rank)
{
    const struct history_task *k = &r->tasks[rank];
    bool ended = k->state >= TASK_DONE, placed = k->agent >= 0;
    const struct logged_agent *a = agent_log_find(&h->agents, k->agent);
    bool failed = k->cls != FAIL_NONE;
    json_t *v = NULL, *more = NULL;

    (void)json_make(&v, NULL, "{s:o, s:O, s:I, s:s, s:b, s:I, s:I, s:o, s:o, s:o}", "task",
                    task_name(r, rank), "role", r->name, "rank", (json_int_t)rank, "state",
                    task_state_name(k->state), "ready", k->ready, "generation",
                    (json_int_t)k->generation, "attempt", (json_int_t)k->attempt, "agent",
                    maybe_int(k->agent, placed), "node", maybe_text(a ? a->node : NULL), "host",
                    maybe_text(a ? a->host : NULL));
    (void)json_make(
        &more, NULL, "{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "ports",
        k->ports ? json_incref(k->ports) : json_array(), "pid", maybe_int(k->pid, k->pid > 0),
        "since", maybe_int(k->since, k->since > 0), "code", maybe_int(k->code, ended), "class",
        failed ? json_string(fail_key(k->cls)) : json_null(), "step", (json_int_t)k->step, "total",
        (json_int_t)k->total, "metrics", maybe(k->metrics));
    if (!v || !more || json_object_update(v, more) < 0) {
        json_decref(v);
        v = NULL;
    }
    json_decref(more);
    return v;
}

static json_t *history_json_roles_json(const struct history *h)
{
    AUTO_JSON *list = json_array();

    for (uint32_t i = 0; list && i < h->n_roles; i++)
        if (json_array_append_new(list, history_json_role_json(&h->roles[i])) < 0)
            return NULL;
    return take(list);
}

static json_t *history_json_tasks_json(const struct history *h)
{
    AUTO_JSON *list = json_array();

    for (uint32_t i = 0; list && i < h->n_roles; i++)
        for (uint32_t k = 0; k < history_n_tasks(&h->roles[i]); k++)
            if (json_array_append_new(list, task_json(h, &h->roles[i], k)) < 0)
                return NULL;
    return take(list);
}

static json_t *story_json(const struct history *h)
{
    static const char *const keys[] = { "task", "class", "code", "signal",
                                        "text", "lines", "hint", "when" };
    AUTO_JSON *v = json_object();

    if (!h->story)
        return json_null();
    for (size_t i = 0; v && i < COUNT_OF(keys); i++)
        if (json_object_set_new(v, keys[i], maybe(json_object_get(h->story, keys[i]))) < 0)
            return NULL;
    return take(v);
}

static json_t *missing_json(const struct history *h)
{
    return h->missing
               ? json_pack("{s:I, s:O}", "tasks", (json_int_t)h->n_missing, "texts", h->missing)
               : json_null();
}

/* A job that succeeded, but whose results were not saved. */
static int64_t history_json_exit_of(const struct history *h)
{
    return h->exit == 0 && h->unsaved ? HISTORY_UNSAVED_EXIT : h->exit;
}

int history_json(const struct history *h, int with_tasks, json_t **ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    AUTO_JSON *end = NULL;
    int r;

    r = json_make(
        &v, err, "{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "job",
        maybe(h->job), "name", maybe(h->name), "user", maybe(h->user), "platform",
        maybe(h->platform), "framework", maybe(h->framework), "state", job_state_name(h->state),
        "reason", maybe(h->reason), "generation", (json_int_t)h->generation, "restarts",
        (json_int_t)h->restarts, "created", maybe_int(h->created, h->created >= 0), "started",
        maybe_int(h->started, h->started >= 0), "ended", maybe_int(h->ended, h->ended >= 0), "exit",
        maybe_int(history_json_exit_of(h), h->exit >= 0), "whose", maybe(h->whose));
    if (r == 0)
        r = json_make(&end, err, "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "roles",
                      history_json_roles_json(h), "tasks",
                      with_tasks ? history_json_tasks_json(h) : json_array(), "story",
                      story_json(h), "progress", progress_json(h), "unsaved", maybe(h->unsaved),
                      "missing", missing_json(h), "published", maybe(h->published));
    if (r < 0)
        return r;
    if (!with_tasks)
        (void)json_object_del(end, "tasks");
    if (json_object_update(v, end) < 0)
        return err_oom(err);
    *ret = take(v);
    return 0;
}
