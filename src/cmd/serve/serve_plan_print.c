/* serve_plan_print.c - one document, printed as it is or as a sheet and a table. See
 * serve_plan_print.h. */
#include "cmd/serve/serve_plan_print.h"
#include "cli/doc.h"
#include "serve/deployment/deployment_plan.h"

#include <stdio.h>

/* clang-format off */
static const struct table_column lines[] = {
    { "deployment", false, "{name}" },
    { "platform",   false, "{platform}" },
    { "queue",      false, "{queue}" },
    { "label",      false, "{label}" },
    { "address",    false, "{scheme}://{host}, {port}" },
    { "gateways",   false, "{gateways}, each with an address of its own" },
    { "gateway",    false, "{gateway}: the addresses are those of the replicas" },
    { "key",        false, "one of {key_file}" },
    { "registry",   false, "{registry}" },
};

static const struct table_column columns[] = {
    { "MODEL",    false, "{model}:{version}" },
    { "FOLLOWS",  false, "@{follows}" },
    { "FORMAT",   false, "{format}" },
    { "SIZE",     true,  "{bytes|size}" },
    { "REPLICAS", true,  "{replicas}" },
    { "ROLES",    false, "{groups}" },
    { "CPUS",     true,  "{cpus}" },
    { "MEMORY",   true,  "{memory}" },
    { "GPUS",     true,  "{gpus}" },
    { "BATCH",    true,  "{batch}" },
    { "DEVICE",   false, "{device}" },
};
/* clang-format on */

static json_t *plan_print_model(const struct serve_plan_view *v, const struct serve_model *m)
{
    const json_t *planned = deployment_model(v->plan, m->v.m.name);

    return json_pack(
        "{s:s, s:I, s:o, s:s, s:I, s:s, s:i, s:O, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O?}",
        "model", m->v.m.name, "version", (json_int_t)m->v.m.version, "follows", json_text(m->alias),
        "format", m->v.m.format, "bytes", (json_int_t)m->v.m.bytes, "path", m->v.path, "replicas",
        (int)m->replicas, "groups", json_object_get(planned, "groups"), "cpus", json_text(m->cpus),
        "memory", json_text(m->memory), "gpus", json_text(m->gpus), "batch", json_text(m->batch),
        "batch_delay", json_text(m->batch_delay), "device", json_text(m->device), "library",
        serve_version_library_json(&m->v), "autoscale", json_object_get(planned, "autoscale"));
}

static int plan_print_make(const struct serve_plan_view *v, json_t **ret, struct err *err)
{
    AUTO_JSON *models = json_array();

    for (size_t i = 0; models && i < v->n; i++)
        if (json_array_append_new(models, plan_print_model(v, &v->models[i])) < 0)
            return err_oom(err);
    return json_make(ret, err, "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:o, s:s, s:O}",
                     "name", v->name, "platform", job_places[v->w->on], "queue",
                     json_text(v->w->queue), "label", json_text(v->w->label), "host",
                     json_text(v->w->host), "port", json_text(v->w->port), "gateway",
                     json_text(v->w->gateway), "gateways", v->w->direct ? 0 : (int)v->w->count,
                     "tls", v->w->certificate != NULL, "key_file", json_text(v->w->key_file),
                     "registry", v->models[0].v.registry, "models", models);
}

/* Each library once. */
static void print_libraries(const struct serve_plan_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct serve_version *one = &v->models[i].v;
        AUTO_FREE char *text = serve_version_library(one);
        bool before = !one->library; /* a program of its own */

        for (size_t k = 0; k < i; k++)
            before = before || str_eq(v->models[k].v.library, one->library);
        if (!before)
            printf("library: %s\n", text ? text : "?");
    }
}

int serve_plan_print(const struct serve_plan_view *v, struct err *err)
{
    static const struct doc_layout layout = { .width = 12 };
    AUTO_JSON *doc = NULL;
    int r = plan_print_make(v, &doc, err);

    if (r < 0 || v->json)
        return r < 0 ? r : json_print(stdout, doc, err);
    if (v->w->count <= 1)
        (void)json_object_del(doc, "gateways");
    if (json_object_set_new(doc, "port",
                            v->w->port ? json_sprintf("port %s", v->w->port)
                                       : json_string("a free port")) < 0 ||
        json_object_set_new(doc, "scheme", json_string(v->w->certificate ? "https" : "http")) < 0 ||
        (!v->w->host && !v->w->direct &&
         json_object_set_new(doc, "host", json_string("the gateway's node")) < 0))
        return err_oom(err);
    r = doc_sheet(doc, &layout, lines, COUNT_OF(lines), err);
    if (r == 0)
        r = doc_table(json_object_get(doc, "models"), columns, COUNT_OF(columns), err);
    if (r == 0)
        print_libraries(v);
    return r;
}
