/* slider_look.c - `slider status`, `list`, `exists` and `lookup`; see slider_verb.h. */
#include "cli/doc.h"
#include "client/client_yarn_private.h"
#include "cmd/slider/slider_start.h"
#include "cmd/slider/slider_verb.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define CREATED 2 /* Slider's numbers for an instance that was never started, … */
#define LIVE 3    /* … that runs, … */
#define STOPPED 4 /* … and that ran */

/* ---- states ---- */

/* A job's state in YARN's words, which Slider uses. */
static const char *yarn_state(const char *state)
{
    static const struct {
        const char *ours, *theirs;
    } rows[] = {
        { "NEW", "ACCEPTED" },    { "ASKING", "ACCEPTED" },   { "FORMING", "RUNNING" },
        { "RUNNING", "RUNNING" }, { "FINISHING", "RUNNING" }, { "SUCCEEDED", "FINISHED" },
        { "FAILED", "FAILED" },   { "KILLED", "KILLED" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(rows[i].ours, state))
            return rows[i].theirs;
    return "STOPPED";
}

/* One application: its definition, and its job where there has been one. */
struct app {
    const char *name;
    struct slider_docs docs;
    bool live;
    json_t *status;    /* of its job; NULL: none is known */
    const char *state; /* YARN's word; borrowed */
};

static void app_done(struct app *a)
{
    slider_docs_done(&a->docs);
    json_decref(a->status);
}

static int app_read(struct slider *s, const char *name, bool tasks, struct app *a, struct err *err)
{
    int r;

    *a = (struct app){ .name = name, .state = "STOPPED" };
    r = slider_store_read(s, name, &a->docs, err);
    if (r == 0)
        r = slider_find_job(s, &a->docs, err);
    if (r < 0)
        return r;
    a->live = r > 0;
    if (!s->x->client)
        return 0;
    r = client_status(s->x->client, tasks, &a->status, err);
    if (r == -ENOENT) { /* its files are gone too */
        err_clear(err);
        return 0;
    }
    if (r == 0)
        a->state = yarn_state(format_text(a->status, "state"));
    return r;
}

/* Where YARN shows it; "" on this machine, or when nobody knows. */
static const char *url_of(const struct slider *s)
{
    const Yarn__ApplicationReport *report = NULL;

    if (s->x->client && str_eq(client_where(s->x->client), "yarn"))
        report = report_of(yarn_of(s->x->client));
    return report && report->tracking_url ? report->tracking_url : "";
}

/* ---- status ---- */

static int64_t state_count(const json_t *role, const char *state)
{
    return json_int_or(json_object_get(role, "states"), state, 0);
}

/* What is asked for and what there is, of one component. */
static json_t *role_facts_json(const json_t *role)
{
    int64_t live = state_count(role, "RUNNING"), failed = state_count(role, "FAILED");

    return json_pack("{s:I, s:I, s:I, s:O?}", "role.requested.instances",
                     (json_int_t)json_int_or(role, "count", 0), "role.actual.instances",
                     (json_int_t)live, "role.failed.instances", (json_int_t)failed, "states",
                     json_object_get(role, "states"));
}

static json_t *live_json(const json_t *task)
{
    return json_pack("{s:s, s:s, s:s, s:O?, s:O?, s:O?}", "role", format_text(task, "role"), "host",
                     format_text(task, "host"), "state", format_text(task, "state"), "ports",
                     json_object_get(task, "ports"), "container", json_object_get(task, "agent"),
                     "attempt", json_object_get(task, "attempt"));
}

/* roles, instances, statistics and status.live of a job's document. */
static int add_role_facts(json_t *doc, const json_t *status)
{
    json_t *roles = json_object_get(doc, "roles"), *statistics = json_object_get(doc, "statistics");
    const json_t *role;
    size_t i;

    json_array_foreach(json_object_get(status, "roles"), i, role)
    {
        const char *name = format_text(role, "name");

        if (json_object_set_new(roles, name, role_facts_json(role)) < 0 ||
            json_object_set_new(
                statistics, name,
                json_pack("{s:I, s:I, s:I}", "containers.live",
                          (json_int_t)state_count(role, "RUNNING"), "containers.completed",
                          (json_int_t)state_count(role, "SUCCEEDED"), "containers.failed",
                          (json_int_t)state_count(role, "FAILED"))) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_instances(json_t *doc, const json_t *status)
{
    json_t *instances = json_object_get(doc, "instances");
    json_t *live = json_object_get(json_object_get(doc, "status"), "live");
    const json_t *task;
    size_t i;

    json_array_foreach(json_object_get(status, "tasks"), i, task)
    {
        const char *role = format_text(task, "role"), *name = format_text(task, "task");
        json_t *list = json_object_get(instances, role), *of = json_object_get(live, role);

        if (!list && json_object_set_new(instances, role, list = json_array()) < 0)
            return -ENOMEM;
        if (!of && json_object_set_new(live, role, of = json_object()) < 0)
            return -ENOMEM;
        if (json_array_append_new(list, json_text(name)) < 0 ||
            json_object_set_new(of, name, live_json(task)) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Is all there that was asked for? */
static json_t *liveness_json(const json_t *status)
{
    int64_t wanted = 0, there = 0;
    const json_t *role;
    size_t i;

    json_array_foreach(json_object_get(status, "roles"), i, role)
    {
        wanted += json_int_or(role, "count", 0);
        there += state_count(role, "RUNNING");
    }
    return json_pack("{s:b, s:I, s:I}", "allRequestsSatisfied", there >= wanted && wanted > 0,
                     "requestsOutstanding", (json_int_t)(wanted > there ? wanted - there : 0),
                     "activeRequests", (json_int_t)0);
}

static json_t *info_json(const struct slider *s, const struct app *a)
{
    const json_t *v = a->status;

    return json_pack("{s:s, s:s, s:s, s:s, s:O?, s:O?, s:O?, s:O?}", "info.am.app.id",
                     format_text(a->docs.internal, "job"), "yarn.state", a->state,
                     "info.am.web.url", url_of(s), "info.job.state", format_text(v, "state"),
                     "info.job.exit", json_object_get(v, "exit"), "info.job.reason",
                     json_object_get(v, "reason"), "info.job.generation",
                     json_object_get(v, "generation"), "info.stop.message",
                     json_object_get(a->docs.internal, "message"));
}

/* Member by member the document of Slider's own `status`. What has no counterpart here is there and
 * empty. */
static int slider_describe(const struct slider *s, const struct app *a, json_t **ret,
                           struct err *err)
{
    const char *type = json_string_value(
        json_object_get(json_object_get(a->docs.metainfo, "application"), "name"));
    const json_t *options = json_object_get(a->docs.config, "global");
    const json_t *internal = a->docs.internal;
    int state = a->live ? LIVE : json_object_get(internal, "job") ? STOPPED : CREATED;
    int r = json_make(ret, err,
                      "{s:s, s:s, s:s, s:i, s:I, s:I, s:o, s:o, s:{}, s:{}, s:{}, s:{}, s:{s:{}}, "
                      "s:o}",
                      "version", "1.0", "name", a->name, "type", type ? type : "agent", "state",
                      state, "createTime", (json_int_t)json_int_or(internal, "created", 0),
                      "updateTime", (json_int_t)json_int_or(internal, "updated", 0), "options",
                      options ? json_incref((json_t *)options) : json_object(), "info",
                      info_json(s, a), "statistics", "instances", "roles", "clientProperties",
                      "status", "live", "liveness", liveness_json(a->status));

    if (r == 0 && a->status &&
        (add_role_facts(*ret, a->status) < 0 || (a->live && add_instances(*ret, a->status) < 0)))
        r = err_oom(err);
    return r;
}

int slider_status(struct slider *s, struct err *err)
{
    AUTO_JSON *doc = NULL;
    struct app a = { 0 };
    int r = app_read(s, s->name, true, &a, err);

    if (r == 0)
        r = slider_describe(s, &a, &doc, err);
    if (r == 0)
        r = slider_put(s, doc, err);
    app_done(&a);
    return r;
}

/* ---- list ---- */

/* Words of an option may be repeated, and have commas in them. */
static bool wanted_component(const struct slider *s, const char *role)
{
    const struct legacy_args *args = s->ask->args;
    bool any = false;

    for (size_t i = 0; i < args->n; i++) {
        AUTO_STRS words = { 0 };

        if (!legacy_is(args->hits[i].option, "--components"))
            continue;
        any = true;
        if (strs_split(&words, args->hits[i].value, ", ") == 0 && strs_has(&words, role))
            return true;
    }
    return !any;
}

/* Of which version its containers are. */
static bool wanted_version(const struct slider *s, const struct app *a)
{
    const char *wanted = slider_value(s, "--version");
    const json_t *app = json_object_get(a->docs.metainfo, "application");

    return !wanted || str_eq(wanted, json_string_value(json_object_get(app, "version")));
}

static void print_containers(const struct slider *s, const json_t *tasks)
{
    const json_t *task;
    size_t i;

    json_array_foreach(tasks, i, task)
    {
        char name[256], host[256], state[64];

        if (!wanted_component(s, format_text(task, "role")))
            continue;
        str_clean(name, sizeof(name), format_text(task, "task"));
        str_clean(host, sizeof(host), format_text(task, "host"));
        str_clean(state, sizeof(state), format_text(task, "state"));
        printf("    %-26s  %10s  %s\n", name, state, host);
    }
}

static bool slider_is_wanted(const struct slider *s, const struct app *a)
{
    const char *state = slider_value(s, "--state");

    if (slider_given(s, "--live"))
        return a->live;
    return !state || strcasecmp(state, a->state) == 0;
}

static int slider_add_row(const struct slider *s, const struct app *a, json_t *list,
                          struct err *err)
{
    const json_t *tasks = slider_given(s, "--containers") && wanted_version(s, a)
                              ? json_object_get(a->status, "tasks")
                              : NULL;
    const char *id = format_text(a->docs.internal, "job"), *url = url_of(s);
    AUTO_JSON *row = NULL;
    int r;

    if (!s->json) {
        printf("%-30s  %10s  %-42s  %s\n", a->name, a->state, id, url);
        print_containers(s, tasks);
        return 0;
    }
    r = json_make(&row, err, "{s:s, s:s, s:s, s:s, s:b, s:O?}", "name", a->name, "state", a->state,
                  "job", id, "url", url, "live", a->live, "tasks", tasks);
    return r < 0 ? r : json_array_append(list, row) < 0 ? err_oom(err) : 0;
}

static int check_list(const struct slider *s, struct err *err)
{
    if (slider_given(s, "--live") && slider_given(s, "--state"))
        return cli_bad(err, "--live and --state cannot be combined");
    if (!slider_given(s, "--containers") &&
        (slider_given(s, "--version") || slider_given(s, "--components")))
        return cli_bad(err, "--version and --components require --containers");
    return 0;
}

static int slider_list_all(struct slider *s, const struct strs *names, json_t *list, size_t *ret_n,
                           struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < names->n; i++) {
        struct app a = { 0 };

        if (s->name && !str_eq(s->name, names->v[i]))
            continue;
        r = app_read(s, names->v[i], slider_given(s, "--containers"), &a, err);
        if (r < 0) {
            r = slider_store_skip(s, names->v[i], r, err);
        } else if (slider_is_wanted(s, &a)) {
            r = slider_add_row(s, &a, list, err);
            (*ret_n)++;
        }
        app_done(&a);
    }
    return r;
}

int slider_list(struct slider *s, struct err *err)
{
    AUTO_STRS names = { 0 };
    AUTO_JSON *list = json_array();
    size_t n = 0;
    int r = list ? check_list(s, err) : err_oom(err);

    if (r == 0)
        r = slider_store_list(s, &names, err);
    if (r == 0)
        r = slider_list_all(s, &names, list, &n, err);
    slider_say_notes(s);
    if (r == 0 && s->json)
        r = doc_print(err, "{s:O}", "applications", list);
    if (r == 0 && fflush(stdout) == EOF)
        r = err_sys(err, "write to standard output");
    return r < 0 ? r : s->name && n == 0 ? SLIDER_FALSE : 0;
}

/* ---- one question each ---- */

int slider_exists(struct slider *s, struct err *err)
{
    bool asked = slider_given(s, "--live") || slider_given(s, "--state"), yes;
    AUTO_JSON *doc = NULL;
    struct app a = { 0 };
    int r = check_list(s, err);

    if (r == 0)
        r = app_read(s, s->name, false, &a, err);
    yes = !asked || (r == 0 && slider_is_wanted(s, &a));
    if (r == 0)
        r = json_make(&doc, err, "{s:s, s:b, s:s}", "name", s->name, "exists", yes, "state",
                      a.state);
    if (r == 0 && (s->json || slider_given(s, "--out")))
        r = slider_put(s, doc, err);
    else if (r == 0 && !slider_given(s, "--quiet"))
        printf("%s: %s\n", s->name, a.state);
    app_done(&a);
    return r < 0 ? r : yes ? 0 : SLIDER_FALSE;
}

int slider_lookup(struct slider *s, struct err *err)
{
    const char *id = slider_value(s, "--id");
    AUTO_JSON *internal = NULL;
    AUTO_JSON *status = NULL;
    int r = id ? json_make(&internal, err, "{s:s}", "job", id)
               : cli_bad(err, "--id is missing: which application?");
    struct slider_docs d = { .internal = internal };

    if (r == 0)
        r = slider_find_job(s, &d, err);
    if (r == -EINVAL)
        return err->code = CLI_USAGE;
    if (r >= 0 && !s->x->client)
        return slider_fail(s, SLIDER_UNKNOWN, -ENOENT, err, "there is no application '%.60s'", id);
    if (r >= 0)
        r = client_status(s->x->client, false, &status, err);
    return r < 0 ? r : slider_put(s, status, err);
}
