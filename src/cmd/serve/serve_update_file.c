/* serve_update_file.c - `ydl serve update -f`: a deployment becomes what its file says, as far as
 * it can while it runs: other versions of its models, and another number of replicas. */
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_request.h"
#include "cmd/serve/serve_update.h"
#include "cmd/serve/serve_want.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

struct file_update {
    struct job_call *x;
    struct serve_file file;
    struct serve_change change; /* with what the file says of updates */
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

/* Is another version to be served, or is an alias to be followed, or no longer? */
static int compare_version(const struct file_update *u, const json_t *model,
                           const struct serve_file_model *f, struct model_ref *ret_ref,
                           int64_t *ret_version, struct err *err)
{
    const char *registry = json_string_value(json_object_get(u->plan, "registry"));
    const char *follows = json_string_value(json_object_get(model, "follow"));
    const struct serve_find how = {
        .registry = registry, .lib = f->library, .python = f->python, .quiet = u->x->globals->quiet
    };
    AUTO_SERVE_VERSION v = { 0 };
    int r = model_ref_parse(f->model, ret_ref, err);

    if (r == 0)
        r = serve_version_find(u->x->loop, &how, ret_ref, &v, err);
    if (r < 0)
        return r;
    *ret_version = v.m.version;
    return json_int_or(model, "serve", 0) != v.m.version ||
           !str_eq(follows ? follows : "", ret_ref->alias);
}

static int update_version(struct file_update *u, const json_t *model,
                          const struct serve_file_model *f, struct err *err)
{
    struct serve_change c = u->change;
    int64_t version = 0;
    int r = compare_version(u, model, f, &c.ref, &version, err);

    if (r <= 0)
        return r;
    c.model = format_text(model, "name");
    c.lib = f->library;
    r = serve_change(u->x, u->plan, &c, err);
    return r != 0 ? r : note(u, c.model, "version", version, err);
}

static int update_replicas(struct file_update *u, const json_t *model,
                           const struct serve_file_model *f, struct err *err)
{
    AUTO_JSON *q = NULL;
    char id[SERVE_ID] = "";
    int r;

    if (json_int_or(model, "replicas", 0) == (int64_t)f->replicas)
        return 0;
    r = json_make(&q, err, "{s:s, s:O, s:i}", "do", "scale", "model",
                  json_object_get(model, "name"), "replicas", (int)f->replicas);
    if (r == 0)
        r = serve_request(u->x, q, id, err);
    return r < 0 ? r : note(u, format_text(model, "name"), "replicas", f->replicas, err);
}

/* The model of the plan that an entry of the file is about; NULL: there is none. */
static json_t *planned(const struct file_update *u, const struct serve_file_model *f)
{
    AUTO_FREE char *name = strndup(f->model, strcspn(f->model, ":@"));

    return name ? deployment_model(u->plan, name) : NULL;
}

/* What cannot change while it runs. */
static int check_same(const struct file_update *u, struct err *err)
{
    const char *registry = json_string_value(json_object_get(u->plan, "registry"));
    size_t n = json_array_size(json_object_get(u->plan, "models"));
    bool same = n == u->file.n;

    for (size_t i = 0; i < u->file.n && same; i++)
        same = planned(u, &u->file.models[i]) != NULL;
    if (same && (!u->file.registry || str_eq(u->file.registry, registry)))
        return 0;
    err_set(err, -EINVAL,
            same ? "the deployment '%s' has another registry: %s"
                 : "the deployment '%s' does not have the models of the file",
            u->name, registry);
    err_hint(err, "stop it (ydl serve stop %s) and deploy the file", u->name);
    return -EINVAL;
}

static void take_settings(struct file_update *u)
{
    const struct serve_file_update *f = &u->file.update;
    struct serve_change *c = &u->change;
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

static int update_all(struct file_update *u, struct err *err)
{
    int r = check_same(u, err);

    for (size_t i = 0; i < u->file.n && r == 0; i++) {
        const json_t *model = planned(u, &u->file.models[i]);

        r = update_replicas(u, model, &u->file.models[i], err);
        if (r == 0)
            r = update_version(u, model, &u->file.models[i], err);
    }
    if (r != 0)
        return r;
    if (u->json)
        return doc_print(err, "{s:s, s:O}", "job", client_id(u->x->client), "changed", u->changed);
    if (json_array_size(u->changed) == 0)
        printf("%s: nothing to change\n", u->name);
    return 0;
}

static int find_and_update(struct file_update *u, struct err *err)
{
    struct job_call *x = u->x;
    AUTO_FREE char *first =
        strndup(u->file.models[0].model, strcspn(u->file.models[0].model, ":@"));
    AUTO_JSON *status = NULL;
    int r = first && u->changed ? 0 : err_oom(err);

    if (r < 0)
        return r;
    u->name = x->cli->n_operands > 0 ? x->cli->operands[0] : u->file.name ? u->file.name : first;
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
    struct file_update u = { .x = x, .change = *c, .json = said->json, .changed = json_array() };
    int r = serve_want_file(x->cli, path, &u.file, err);

    globals.json = false; /* all changes are one document */
    x->globals = &globals;
    if (r == 0)
        r = find_and_update(&u, err);
    x->globals = said;
    serve_file_done(&u.file);
    json_decref(u.plan);
    json_decref(u.changed);
    return r;
}
