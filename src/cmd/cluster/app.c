/* app.c - `ydl cluster app ID`: everything about one application. */
#include "cli/doc.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/cluster_report.h"
#include "cmd/cluster/verbs.h"

#include <stdio.h>

/* What is known of it. */
struct known {
    struct yarn_app_id id;
    Yarn__GetApplicationReportResponse *report;
    Yarn__GetApplicationAttemptsResponse *attempts; /* NULL: the RM has forgotten them */
};

static int app_ask(struct cluster *k, struct known *n, struct err *err)
{
    int r = yarn_report(k->yarn, n->id, &n->report, err);

    if (r < 0)
        return r;
    r = yarn_attempts(k->yarn, n->id, &n->attempts, err);
    if (r == -ENOENT) {
        err_clear(err);
        r = 0;
    }
    return r;
}

/* ---- JSON ---- */

static int app_add_more(json_t *v, const Yarn__ApplicationReport *a, struct err *err)
{
    const Yarn__ApplicationResourceUsageReport *usage = a->resource_usage;
    AUTO_JSON *more = NULL;
    int r = json_make(&more, err, "{s:o, s:o, s:o, s:o, s:i, s:b, s:I, s:I}", "diagnostics",
                      json_text(a->diagnostics), "priority",
                      a->priority ? json_integer(a->priority->priority) : json_null(), "label",
                      a->app_node_label_expression[0] ? json_text(a->app_node_label_expression)
                                                      : json_null(),
                      "host", json_text(a->host), "rpc_port", (int)a->rpc_port, "unmanaged",
                      (int)a->unmanaged_application, "memory_mb_seconds",
                      (json_int_t)(usage ? usage->memory_seconds : 0), "vcore_seconds",
                      (json_int_t)(usage ? usage->vcore_seconds : 0));

    if (r == 0 && json_object_update(v, more) < 0)
        r = err_oom(err);
    return r;
}

static int app_json(const struct known *n, json_t **ret, struct err *err)
{
    AUTO_JSON *app = fact_app(n->report->report);
    json_t *list = json_array();
    int r = app ? app_add_more(app, n->report->report, err) : err_oom(err);

    for (size_t i = 0; r == 0 && n->attempts && i < n->attempts->n_attempts; i++)
        if (json_array_append_new(list, fact_attempt(n->attempts->attempts[i])) < 0)
            r = err_oom(err);
    if (!app || json_object_set_new(app, "attempts", list) < 0)
        r = err_oom(err);
    *ret = r == 0 ? take(app) : NULL;
    return r;
}

/* ---- text ---- */

static int put_result(const json_t *v, struct buf *out)
{
    return fact_ended(v) ? doc_text(v, "{final_status}", out) : 0;
}

static int put_progress(const json_t *v, struct buf *out)
{
    double percent = json_number_value(json_object_get(v, "progress"));

    return fact_ended(v) ? 0 : buf_printf(out, "%.0f %%", percent);
}

/* clang-format off */
static const struct table_column lines[] = {
    { "name",        .text = "{name}" },
    { "type",        .text = "{type}" },
    { "user",        .text = "{user}" },
    { "queue",       .text = "{queue}" },
    { "priority",    .text = "{priority}" },
    { "label",       .text = "{label}" },
    { "tags",        .text = "{tags}" },
    { "state",       .text = "{state}" },
    { "result",      .put = put_result },
    { "progress",    .put = put_progress },
    { "started",     .text = "{started_ms|when}" },
    { "finished",    .text = "{finished_ms|when}" },
    { "time",        .put = fact_put_span },
    { "uses",        .text = "{uses}" },
    { "used so far", .text = "{memory_mb_seconds} MB-seconds, {vcore_seconds} core-seconds" },
    { "page",        .text = "{tracking_url|known}" },
    { "diagnostics", .text = "{diagnostics|known}" },
};
static const struct table_column attempt_lines[] = {
    { "state",       .text = "{state}" },
    { "host",        .text = "{host|known}" },
    { "container",   .text = "{container}" },
    { "diagnostics", .text = "{diagnostics|known}" },
};
/* clang-format on */

static int print_sheet(const json_t *v, const struct table_column *l, size_t n, struct err *err)
{
    static const struct doc_layout layout = { 2, 13 };

    printf("%s\n", json_string_value(json_object_get(v, "id")));
    return doc_sheet(v, &layout, l, n, err);
}

static int app_print(json_t *app, const Yarn__ApplicationResourceUsageReport *usage,
                     struct err *err)
{
    const json_t *attempts = json_object_get(app, "attempts");
    char uses[256], text[300];
    int r;

    if (usage && usage->num_used_containers > 0) {
        snprintf(text, sizeof(text), "%d containers: %s", (int)usage->num_used_containers,
                 yarn_resource_text(usage->used_resources, uses, sizeof(uses)));
        (void)json_object_set_new(app, "uses", json_text(text));
    }
    r = print_sheet(app, lines, COUNT_OF(lines), err);
    for (size_t i = 0; r == 0 && i < json_array_size(attempts); i++)
        r = print_sheet(json_array_get(attempts, i), attempt_lines, COUNT_OF(attempt_lines), err);
    return r;
}

static int app_work(struct cluster *k, struct err *err)
{
    struct known n = { 0 };
    AUTO_JSON *app = NULL;
    int r = cluster_app_id(k->x->cli->operands[0], &n.id, err);

    if (r == 0)
        r = app_ask(k, &n, err);
    if (r == 0)
        r = app_json(&n, &app, err);
    if (r == 0)
        r = k->json ? doc_print(err, "{s:O}", "application", app)
                    : app_print(app, n.report->report->resource_usage, err);
    rpc_free(n.report);
    rpc_free(n.attempts);
    return r;
}

/* clang-format off */
const struct cli_verb verb_cluster_app = {
    .name = "app", .summary = "show everything about an application", .operands = "ID", .least = 1,
    .most = 1, .ask = "Which application?", CLUSTER_VERB(app_work),
    CLI_EXAMPLES({ "ydl cluster app application_1794718682665_0075",
                   "show its state, diagnostics and attempts" }),
};
/* clang-format on */
