/* app.c - `ydl cluster app ID`: everything about one application. */
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/cluster_report.h"
#include "cmd/cluster/verbs.h"
#include "loop/loop.h"

#include <string.h>

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

static int app_print_json(const struct known *n, struct err *err)
{
    AUTO_JSON *app = fact_app(n->report->report);
    AUTO_JSON *list = json_array();
    AUTO_JSON *v = NULL;
    int r = app && list ? app_add_more(app, n->report->report, err) : err_oom(err);

    for (size_t i = 0; r == 0 && n->attempts && i < n->attempts->n_attempts; i++)
        if (json_array_append_new(list, fact_attempt(n->attempts->attempts[i])) < 0)
            r = err_oom(err);
    if (r == 0 && json_object_set_new(app, "attempts", take(list)) < 0)
        r = err_oom(err);
    if (r == 0)
        r = json_make(&v, err, "{s:o}", "application", take(app));
    return r < 0 ? r : json_print(stdout, v, err);
}

/* ---- text ---- */

/* "label  text"; lines after the first are indented, and nothing is printed for no text. */
static void app_line(const char *label, const char *text)
{
    char clean[4096];

    while (*text) {
        size_t n = strcspn(text, "\n");
        AUTO_FREE char *one = strndup(text, n);

        if (one && *one) {
            str_clean(clean, sizeof(clean), one);
            printf("  %-13s %s\n", label, clean);
            label = "";
        }
        text += n + (text[n] == '\n');
    }
}

__attribute__((format(printf, 2, 3))) static void linef(const char *label, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text = NULL;
        return;
    }
    app_line(label, text);
}

static void print_times(const Yarn__ApplicationReport *a)
{
    char when[FACT_TIME], end[FACT_TIME], span[FACT_SPAN];

    linef("started", "%s", fact_when(a->start_time, when));
    if (a->finish_time > 0)
        linef("finished", "%s", fact_when(a->finish_time, end));
    linef("time", "%s", fact_span(a->start_time, a->finish_time, loop_wall(), span));
}

static void app_print_usage(const Yarn__ApplicationResourceUsageReport *usage)
{
    char text[256];

    if (!usage)
        return;
    if (usage->num_used_containers > 0)
        linef("uses", "%d containers: %s", (int)usage->num_used_containers,
              yarn_resource_text(usage->used_resources, text, sizeof(text)));
    linef("used so far", "%lld MB-seconds, %lld core-seconds", (long long)usage->memory_seconds,
          (long long)usage->vcore_seconds);
}

static const char *unless_na(const char *text)
{
    return strcmp(text, "N/A") == 0 ? "" : text;
}

static void print_attempt(const Yarn__ApplicationAttemptReport *a)
{
    char id[YARN_ATTEMPT_ID_TEXT], container[YARN_CONTAINER_ID_TEXT];

    printf("%s\n", yarn_attempt_id_text(yarn_attempt_id_of(a->attempt_id), id));
    app_line("state", yarn_attempt_state_name(a->state));
    app_line("host", unless_na(a->host));
    if (a->am_container_id)
        app_line("container",
                 yarn_container_id_text(yarn_container_id_of(a->am_container_id), container));
    app_line("diagnostics", unless_na(a->diagnostics));
}

static void app_print_text(const struct known *n)
{
    const Yarn__ApplicationReport *a = n->report->report;
    char id[YARN_APP_ID_TEXT], tags[512];

    printf("%s\n", yarn_app_id_text(n->id, id));
    app_line("name", a->name);
    app_line("type", a->application_type);
    app_line("user", a->user);
    app_line("queue", a->queue);
    if (a->priority)
        linef("priority", "%d", (int)a->priority->priority);
    app_line("label", a->app_node_label_expression);
    if (a->n_application_tags)
        app_line("tags", fact_join((char *const *)a->application_tags, a->n_application_tags, tags,
                                   sizeof(tags)));
    app_line("state", yarn_app_state_name(a->state));
    if (yarn_app_state_final(a->state))
        app_line("result", yarn_final_status_name(a->final_status));
    else
        linef("progress", "%.0f %%", (double)a->progress * 100);
    print_times(a);
    app_print_usage(a->resource_usage);
    app_line("page", unless_na(a->tracking_url));
    app_line("diagnostics", unless_na(a->diagnostics));
    for (size_t i = 0; n->attempts && i < n->attempts->n_attempts; i++)
        print_attempt(n->attempts->attempts[i]);
}

static int app_work(struct cluster *k, struct err *err)
{
    struct known n = { 0 };
    int r = cluster_app_id(k->x->cli->operands[0], &n.id, err);

    if (r == 0)
        r = app_ask(k, &n, err);
    if (r == 0 && k->json)
        r = app_print_json(&n, err);
    else if (r == 0)
        app_print_text(&n);
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
