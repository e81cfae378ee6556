/* serve_update_file.c - `ydl serve update -f`: a deployment becomes what its file says, as far as
 * it can while it runs: other versions of its models, and another number of replicas. Everything is
 * looked at before anything is changed; what only a new deployment can have is refused. */
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_registry.h"
#include "cmd/serve/serve_request.h"
#include "cmd/serve/serve_settings.h"
#include "cmd/serve/serve_update.h"
#include "cmd/serve/yarn/serve_copies.h"
#include "launch/launch_options.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

/* What is to become of one model. */
struct file_change {
    struct model_ref ref;
    int64_t version;
    bool another; /* version, or alias that it follows */
};

struct file_update {
    struct job_call *x;
    struct serve_want want;
    struct file_change changes[SERVE_FILE_MODELS];
    struct serve_change how; /* with what the file says of updates */
    const char *name;
    json_t *plan;
    json_t *changed; /* what was done, for programs */
    bool json;
};

static int note(const struct file_update *u, const char *model, const char *what, int64_t n,
                struct err *err)
{
    if (!u->json)
        printf("%s: %s: %s %lld\n", u->name, model, what, (long long)n);
    return json_array_append_new(u->changed, json_pack("{s:s, s:s, s:I}", "model", model, "change",
                                                       what, "to", (json_int_t)n)) < 0
               ? err_oom(err)
               : 0;
}

/* The model of the plan that an entry of the file is about; NULL: there is none. */
static json_t *planned(const struct file_update *u, size_t i)
{
    const char *model = u->want.models[i].model;
    AUTO_FREE char *name = strndup(model, strcspn(model, ":@"));

    return name ? deployment_model(u->plan, name) : NULL;
}

/* ---- what differs ---- */

static int refuse(const struct file_update *u, struct err *err)
{
    err_hint(err, "stop it with 'ydl serve stop %s' and deploy the file; nothing was changed",
             u->name);
    return err->code;
}

/* A version that goes on keeps the library that it was started with. */
static int check_library(const struct file_update *u, size_t i, const struct serve_version *v,
                         struct err *err)
{
    const struct serve_want_model *m = &u->want.models[i];
    const json_t *now =
        json_object_get(deployment_version(planned(u, i), u->changes[i].version), "library");

    if ((!m->lib && !m->python) || !v->library || !json_is_string(now) ||
        str_eq(json_string_value(now), v->library))
        return 0;
    (void)err_set(err, -EINVAL, "%s:%lld runs with '%s', and in the file with '%s'", v->m.name,
                  (long long)v->m.version, json_string_value(now), v->library);
    return refuse(u, err);
}

/* Is another version to be served, or is an alias to be followed, or no longer? */
static int compare_version(struct file_update *u, size_t i, struct err *err)
{
    const struct serve_want_model *m = &u->want.models[i];
    const json_t *model = planned(u, i);
    const char *follows = json_string_value(json_object_get(model, "follow"));
    const struct serve_find how = {
        .registry = serve_copies_registry(u->plan),
        .plan = u->plan,
        .lib = m->lib,
        .python = deployment_is_on_yarn(u->plan) ? NULL : m->python,
        .quiet = u->x->globals->quiet,
    };
    struct file_change *c = &u->changes[i];
    AUTO_SERVE_VERSION v = { 0 };
    int r = model_ref_parse(m->model, &c->ref, err);

    if (r == 0)
        r = serve_version_find(u->x, &how, &c->ref, &v, err);
    if (r < 0)
        return r;
    c->version = v.m.version;
    c->another = json_int_or(model, "serve", 0) != v.m.version;
    r = c->another ? 0 : check_library(u, i, &v, err);
    c->another |= !str_eq(follows ? follows : "", c->ref.alias);
    return r;
}

static int check_settings(const struct file_update *u, struct err *err)
{
    AUTO_BUF keys = { .max = 4 * KIB };
    int r = serve_settings_differ(u->plan, &u->want, &keys, err);

    if (r <= 0)
        return r;
    (void)err_set(err, -EINVAL, "'%s' needs a new deployment for what the file says now: %.300s",
                  u->name, buf_text(&keys) ? buf_text(&keys) : "");
    return refuse(u, err);
}

/* Does the file name the registry of the plan, in whatever way? */
static int names_registry(const struct file_update *u, const char *registry, struct err *err)
{
    AUTO_SERVE_REGISTRY r = { 0 };
    int e = u->want.registry ? serve_registry_open(u->x, u->want.registry, &r, err) : 0;

    return e < 0 ? e : !u->want.registry || str_eq(r.place, registry);
}

/* It is where it is: --on, $YDL_ON and defaults say nothing about it. */
static int check_place(struct file_update *u, struct err *err)
{
    const char *file = u->want.file.platform;
    bool yarn = deployment_is_on_yarn(u->plan);

    serve_want_place(&u->want, yarn ? OPTIONS_YARN : OPTIONS_LOCAL);
    if (!file || str_eq(file, job_places[u->want.on]))
        return 0;
    (void)err_set(err, -EINVAL, "the deployment '%s' runs on %s, and on %s in the file", u->name,
                  job_places[u->want.on], file);
    return refuse(u, err);
}

/* What cannot change while it runs. */
static int check_same(const struct file_update *u, struct err *err)
{
    const char *registry = serve_copies_registry(u->plan);
    size_t n = json_array_size(json_object_get(u->plan, "models"));
    bool same = n == u->want.n;
    int r = 0;

    for (size_t i = 0; i < u->want.n && same; i++)
        same = planned(u, i) != NULL;
    if (same)
        r = names_registry(u, registry, err);
    if (r != 0)
        return r < 0 ? r : check_settings(u, err);
    (void)err_set(err, -EINVAL,
                  same ? "the deployment '%s' has another registry: %s"
                       : "the deployment '%s' does not have the models of the file",
                  u->name, registry);
    return refuse(u, err);
}

/* ---- changing it ---- */

static int update_version(struct file_update *u, size_t i, struct err *err)
{
    struct serve_change c = u->how;
    int r;

    if (!u->changes[i].another)
        return 0;
    c.ref = u->changes[i].ref;
    c.model = format_text(planned(u, i), "name");
    c.lib = u->want.models[i].lib;
    if (!deployment_is_on_yarn(u->plan))
        c.python = u->want.models[i].python;
    r = serve_change(u->x, u->plan, &c, err);
    return r != 0 ? r : note(u, c.model, "version", u->changes[i].version, err);
}

/* The rule of the file, or null; the number counts where there is none. */
static int replicas_request(const struct serve_want_model *w, const json_t *model, json_t **ret,
                            struct err *err)
{
    AUTO_JSON *rule = w->autoscale.max ? autoscale_json(&w->autoscale) : json_null();
    const json_t *now = json_object_get(model, "autoscale");
    bool same = now ? json_equal(now, rule) : json_is_null(rule);
    int r;

    if (same && (now || json_int_or(model, "replicas", 0) == (int64_t)w->replicas))
        return 0;
    r = json_make(ret, err, "{s:s, s:O}", "do", "scale", "model", json_object_get(model, "name"));
    if (r < 0)
        return r;
    if ((!same && json_object_set(*ret, "autoscale", rule) < 0) ||
        (!w->autoscale.max && json_object_set_new(*ret, "replicas", json_integer(w->replicas)) < 0))
        return err_oom(err);
    return 1;
}

static int update_replicas(struct file_update *u, size_t i, struct err *err)
{
    const struct serve_want_model *w = &u->want.models[i];
    const json_t *model = planned(u, i);
    AUTO_JSON *q = NULL;
    char id[SERVE_ID] = "";
    int r = replicas_request(w, model, &q, err);

    if (r <= 0)
        return r;
    r = serve_request(u->x, q, id, err);
    if (r < 0)
        return r;
    return w->autoscale.max
               ? note(u, format_text(model, "name"), "autoscale up to", w->autoscale.max, err)
               : note(u, format_text(model, "name"), "replicas", w->replicas, err);
}

static void take_settings(struct file_update *u)
{
    const struct serve_file_update *f = &u->want.file.update;
    struct serve_change *c = &u->how;
    unsigned n = 0;

    if (f->canary && serve_file_percent(f->canary, &n) == 0) {
        c->percent = n / 100.0;
        c->slower = 2;
        c->watch = 0;
    }
    if (f->errors && serve_file_percent(f->errors, &n) == 0)
        c->errors = n / 100.0;
    if (f->slower && serve_file_factor(f->slower, &n) == 0)
        c->slower = n / 100.0;
    if (f->requests > 0)
        c->requests = f->requests;
}

/* Also when something went wrong half way. */
static int print_changed(const struct file_update *u, struct err *err)
{
    if (u->json)
        return doc_print(err, "{s:s, s:O}", "job", client_id(u->x->client), "changed", u->changed);
    if (json_array_size(u->changed) == 0)
        printf("%s: nothing to change\n", u->name);
    return 0;
}

static int update_all(struct file_update *u, struct err *err)
{
    int r = check_place(u, err);

    if (r == 0)
        r = check_same(u, err);
    for (size_t i = 0; i < u->want.n && r == 0; i++)
        r = compare_version(u, i, err);
    if (r != 0)
        return r;
    for (size_t i = 0; i < u->want.n && r == 0; i++) {
        r = update_replicas(u, i, err);
        if (r == 0)
            r = update_version(u, i, err);
    }
    if (r == 0)
        return print_changed(u, err);
    if (json_array_size(u->changed) > 0)
        (void)print_changed(u, NULL);
    return r;
}

static int find_and_update(struct file_update *u, struct err *err)
{
    struct job_call *x = u->x;
    const char *model = u->want.models[0].model;
    AUTO_FREE char *first = strndup(model, strcspn(model, ":@"));
    AUTO_JSON *status = NULL;
    int r = first && u->changed ? 0 : err_oom(err);

    if (r < 0)
        return r;
    u->name = x->cli->n_operands > 0 ? x->cli->operands[0] : u->want.name ? u->want.name : first;
    take_settings(u);
    r = serve_find_named(x, u->name, &status, err);
    if (r == 0)
        r = serve_plan(x, &u->plan, err);
    return r == 0 ? update_all(u, err) : r;
}

int serve_update_file(struct job_call *x, const char *path, const struct serve_change *c,
                      struct err *err)
{
    const struct globals *said = x->globals;
    struct globals globals = *said;
    struct file_update *u = calloc(1, sizeof(*u));
    int r = u ? 0 : err_oom(err);

    if (r < 0)
        return r;
    *u = (struct file_update){ .x = x, .how = *c, .json = said->json, .changed = json_array() };
    r = serve_want_file(x->cli, path, &u->want, err);
    globals.json = false; /* all changes are one document */
    x->globals = &globals;
    if (r == 0)
        r = find_and_update(u, err);
    x->globals = said;
    serve_want_done(&u->want);
    json_decref(u->plan);
    json_decref(u->changed);
    free(u);
    return r;
}
