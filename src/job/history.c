/* history.c - what a job's events log says about it, for people who look at it: the lines, applied
 * one after the other, give the state of the job and of its tasks at the last of them. See
 * history.h.
 *
 * A log may come from a crashed disk or from a newer ydl: a field of the wrong type is as good as
 * none, a task that no role has is nobody's, and every number has its bounds. */
#include "base/array.h"
#include "job/history_private.h"

#include <string.h>

#define MISSING_MAX 1000 /* sentences; the rest is counted */
#define COUNT_MAX UINT32_MAX

int history_new(struct history **ret, struct err *err)
{
    struct history *h = calloc(1, sizeof(*h));

    if (!h)
        return err_oom(err);
    h->created = h->started = h->ended = h->exit = -1;
    *ret = h;
    return 0;
}

static void free_roles(struct history *h)
{
    for (uint32_t i = 0; i < h->n_roles; i++) {
        for (uint32_t k = 0; k < h->roles[i].n_tasks; k++) {
            json_decref(h->roles[i].tasks[k].ports);
            json_decref(h->roles[i].tasks[k].metrics);
        }
        free(h->roles[i].tasks);
        json_decref(h->roles[i].name);
    }
    free(h->roles);
    h->roles = NULL;
    h->n_roles = 0;
}

struct history *history_free(struct history *h)
{
    if (!h)
        return NULL;
    free_roles(h);
    agent_log_done(&h->agents);
    json_decref(h->job);
    json_decref(h->name);
    json_decref(h->user);
    json_decref(h->platform);
    json_decref(h->framework);
    json_decref(h->reason);
    json_decref(h->whose);
    json_decref(h->story);
    json_decref(h->unsaved);
    json_decref(h->published);
    json_decref(h->missing);
    free(h);
    return NULL;
}

/* ---- fields ---- */

/* Something that is counted on. */
static int64_t count_of(const json_t *v, const char *key)
{
    int64_t n = json_int_or(v, key, 0);

    return n < 0 || n > COUNT_MAX ? 0 : n;
}

static const char *history_text_of(const json_t *v, const char *key)
{
    return json_string_value(json_object_get(v, key));
}

/* Takes the string that is there, or none. */
static void history_keep(json_t **to, const json_t *v, const char *key)
{
    json_t *x = json_object_get(v, key);

    json_decref(*to);
    *to = json_is_string(x) ? json_incref(x) : NULL;
}

static void keep_said(json_t **to, const json_t *v, const char *key)
{
    if (json_is_string(json_object_get(v, key)))
        history_keep(to, v, key);
}

/* ---- roles and tasks ---- */

static int resize(struct history_role *r, uint32_t count)
{
    uint32_t n = count * r->procs;

    r->count = count;
    while (r->n_tasks < n)
        if (ARRAY_ADD(r->tasks, r->n_tasks, (struct history_task){ .agent = -1 }) < 0)
            return -ENOMEM;
    return 0;
}

static bool history_fits(int64_t count, int64_t procs)
{
    return count >= 0 && procs >= 1 && count <= SPEC_TASKS_MAX && procs <= SPEC_TASKS_MAX &&
           count * procs <= SPEC_TASKS_MAX;
}

static int history_add_role(struct history *h, const json_t *v)
{
    int64_t count = json_int_or(v, "count", 0), procs = json_int_or(v, "procs", 1);
    struct history_role *r = &h->roles[h->n_roles];

    if (!history_text_of(v, "name") || !history_fits(count, procs))
        return 0;
    *r = (struct history_role){ .procs = (uint32_t)procs,
                                .decides = json_is_true(json_object_get(v, "decides")),
                                .side = json_is_true(json_object_get(v, "side")) };
    history_keep(&r->name, v, "name");
    h->n_roles++;
    return resize(r, (uint32_t)count);
}

static int set_roles(struct history *h, const json_t *list)
{
    size_t n = json_array_size(list);
    int r = 0;

    if (n == 0 || n > SPEC_ROLES_MAX)
        return 0;
    free_roles(h);
    h->roles = calloc(n, sizeof(*h->roles));
    if (!h->roles)
        return -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++)
        r = history_add_role(h, json_array_get(list, i));
    return r;
}

static struct history_role *role_named(const struct history *h, const char *name, size_t n)
{
    for (uint32_t i = 0; i < h->n_roles; i++) {
        const json_t *own = h->roles[i].name;

        if (json_string_length(own) == n && memcmp(json_string_value(own), name, n) == 0)
            return &h->roles[i];
    }
    return NULL;
}

static struct history_task *task_in(const struct history *h, const json_t *v)
{
    const char *name = history_text_of(v, "task");
    const char *colon = name ? strrchr(name, ':') : NULL;
    struct history_role *r = colon ? role_named(h, name, (size_t)(colon - name)) : NULL;
    int64_t rank;

    if (!r || str_to_i64(colon + 1, 0, (int64_t)r->n_tasks - 1, &rank) < 0)
        return NULL;
    return &r->tasks[rank];
}

/* ---- what the records say ---- */

static int history_on_job(struct history *h, const json_t *v, int64_t t)
{
    const char *state = history_text_of(v, "state");

    if (state)
        (void)job_state_from(state, &h->state);
    if (h->state == JOB_NEW && h->created < 0)
        h->created = t;
    if (h->state == JOB_RUNNING && h->started < 0)
        h->started = t;
    h->generation = json_int_or(v, "generation", h->generation);
    history_keep(&h->reason, v, "reason");
    keep_said(&h->job, v, "job");
    keep_said(&h->name, v, "name");
    keep_said(&h->user, v, "user");
    keep_said(&h->platform, v, "platform");
    keep_said(&h->framework, v, "framework");
    return set_roles(h, json_object_get(v, "roles"));
}

/* Resets what a state makes untrue. */
static void history_forget(struct history_task *k)
{
    if (k->state != TASK_RUNNING)
        k->ready = false;
    if (k->state == TASK_WAITING) {
        k->agent = -1;
        json_decref(k->ports);
        k->ports = NULL;
    }
    if (k->state <= TASK_PREPARING) {
        k->pid = k->code = 0;
        k->cls = FAIL_NONE;
    }
    if (k->state == TASK_RUNNING)
        k->reported = false;
}

static int history_on_task(struct history *h, const json_t *v, int64_t t)
{
    struct history_task *k = task_in(h, v);
    const char *state = history_text_of(v, "state"), *cls = history_text_of(v, "class");
    json_t *ports = json_object_get(v, "ports");

    if (!k || !state || task_state_from(state, &k->state) < 0)
        return 0;
    history_forget(k);
    k->since = t;
    k->generation = json_int_or(v, "generation", k->generation);
    k->attempt = json_int_or(v, "attempt", k->attempt);
    k->agent = json_int_or(v, "agent", k->agent);
    k->pid = json_int_or(v, "pid", k->pid);
    k->code = json_int_or(v, "code", k->code);
    k->ready = json_is_true(json_object_get(v, "ready"));
    if (cls)
        (void)fail_from_key(cls, &k->cls);
    if (json_is_array(ports)) {
        json_decref(k->ports);
        k->ports = json_incref(ports);
    }
    return 0;
}

static int history_on_ready(struct history *h, const json_t *v, int64_t t)
{
    struct history_task *k = task_in(h, v);

    (void)t;
    if (k)
        k->ready = true;
    return 0;
}

static int history_on_progress(struct history *h, const json_t *v, int64_t t)
{
    struct history_task *k = task_in(h, v);
    json_t *metrics = json_object_get(v, "metrics");

    if (!k)
        return 0;
    k->step = json_int_or(v, "step", k->step);
    k->total = json_int_or(v, "total", k->total);
    if (!k->reported) {
        k->reported = true;
        k->first_step = k->step;
        k->first_at = t;
    }
    k->last_at = t;
    if (json_is_object(metrics)) {
        json_decref(k->metrics);
        k->metrics = json_incref(metrics);
    }
    return 0;
}

static int history_on_restart(struct history *h, const json_t *v, int64_t t)
{
    (void)t;
    h->restarts++;
    if (str_eq(history_text_of(v, "what"), "gang"))
        h->generation = json_int_or(v, "generation", h->generation);
    return 0;
}

static int history_on_gang(struct history *h, const json_t *v, int64_t t)
{
    (void)t;
    h->generation = json_int_or(v, "generation", h->generation);
    return 0;
}

/* Only of those that a task has, or had last, it is shown where they are. */
static void forget_agents(struct history *h)
{
    for (uint32_t i = 0; i < h->n_roles; i++)
        for (uint32_t k = 0; k < h->roles[i].n_tasks; k++) {
            struct logged_agent *a = agent_log_find(&h->agents, h->roles[i].tasks[k].agent);

            if (a)
                a->used = true;
        }
    agent_log_forget(&h->agents);
}

static int history_on_agent(struct history *h, const json_t *v, int64_t t)
{
    (void)t;
    if (agent_log_is_long(&h->agents))
        forget_agents(h);
    return agent_log_add(&h->agents, v);
}

static int history_on_request(struct history *h, const json_t *v, int64_t t)
{
    const char *name = history_text_of(v, "role");
    struct history_role *r = name ? role_named(h, name, strlen(name)) : NULL;
    int64_t count = json_int_or(v, "count", -1);

    (void)t;
    if (!r || !str_eq(history_text_of(v, "what"), "scale") || !history_fits(count, r->procs))
        return 0;
    return resize(r, (uint32_t)count);
}

static int on_story(struct history *h, const json_t *v, int64_t t)
{
    (void)t;
    json_decref(h->story);
    h->story = json_incref((json_t *)v);
    return 0;
}

/* A master that took over may have said it once more. */
static int keep_missing(struct history *h, const json_t *v)
{
    json_t *text = json_object_get(v, "text");
    const json_t *old;
    size_t i;

    if (!h->missing)
        h->missing = json_array();
    json_array_foreach(h->missing, i, old)
    {
        if (json_equal(old, text))
            return 0;
    }
    h->n_missing += count_of(v, "missing");
    if (json_array_size(h->missing) >= MISSING_MAX)
        return h->missing ? 0 : -ENOMEM;
    return json_array_append(h->missing, text) < 0 ? -ENOMEM : 0;
}

/* Of several failures the first is usually the cause. */
static int history_on_note(struct history *h, const json_t *v, int64_t t)
{
    (void)t;
    if (json_int_or(v, "missing", 0) > 0 && history_text_of(v, "text") && keep_missing(h, v) < 0)
        return -ENOMEM;
    if (json_is_true(json_object_get(v, "unsaved")) && !h->unsaved)
        history_keep(&h->unsaved, v, "text");
    if (json_is_object(json_object_get(v, "published"))) {
        json_decref(h->published);
        h->published = json_incref(json_object_get(v, "published"));
    }
    return 0;
}

static int history_on_end(struct history *h, const json_t *v, int64_t t)
{
    const char *state = history_text_of(v, "state");

    if (state)
        (void)job_state_from(state, &h->state);
    h->ended = t;
    h->exit = json_int_or(v, "exit", 0);
    history_keep(&h->whose, v, "whose");
    history_keep(&h->reason, v, "text");
    return 0;
}

/* Takes over what the records before a summary would have said. A log may begin in the middle,
 * because its older parts were removed: a summary then says what they said. Where those parts were
 * read, it is passed over. */
static int history_on_summary(struct history *h, const json_t *v, int64_t t)
{
    const char *what = history_text_of(v, "what");

    if (str_eq(what, "job") && h->created < 0) {
        h->summing = true;
        h->created = json_int_or(v, "created", t);
        h->started = json_int_or(v, "started", -1);
        h->restarts = count_of(v, "restarts");
        return history_on_job(h, v, t);
    }
    if (str_eq(what, "end"))
        h->summing = false;
    if (!h->summing)
        return 0;
    if (str_eq(what, "agent"))
        return history_on_agent(h, v, t);
    if (!str_eq(what, "task") || history_on_task(h, v, json_int_or(v, "since", 0)) < 0)
        return 0;
    return json_object_get(v, "reported") ? history_on_progress(h, v, json_int_or(v, "reported", 0))
                                          : 0;
}

static int (*const readers[EVENT_KINDS_])(struct history *h, const json_t *v, int64_t t) = {
    [EVENT_JOB] = history_on_job,
    [EVENT_TASK] = history_on_task,
    [EVENT_READY] = history_on_ready,
    [EVENT_PROGRESS] = history_on_progress,
    [EVENT_RESTART] = history_on_restart,
    [EVENT_GANG] = history_on_gang,
    [EVENT_AGENT] = history_on_agent,
    [EVENT_REQUEST] = history_on_request,
    [EVENT_STORY] = on_story,
    [EVENT_NOTE] = history_on_note,
    [EVENT_END] = history_on_end,
    [EVENT_SUMMARY] = history_on_summary,
};

int history_apply(struct history *h, const char *line, size_t n, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *name;
    int r;

    if (n > EVENT_LINE_MAX)
        return err_set(err, -EINVAL, "events log: a line of %zu bytes", n);
    r = json_parse("events log", line, n, &v, err);
    if (r < 0)
        return r;
    name = history_text_of(v, "event");
    if (!name)
        return err_set(err, -EINVAL, "events log: a line without an event");
    for (int k = 0; k < EVENT_KINDS_; k++) {
        if (!readers[k] || !str_eq(event_name((enum event_kind)k), name))
            continue;
        if (readers[k](h, v, json_int_or(v, "t", 0)) < 0)
            return err_oom(err);
    }
    return 0;
}
