/* serve_targets.c - `ydl serve targets`: what Prometheus is to read, in the form that its discovery
 * takes from files and over HTTP: a list of {targets, labels}. */
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_request.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct targets {
    const struct cli *cli;
    json_t *list;
    bool *found; /* for each operand */
};

/* Does the user want this one? */
static bool targets_wanted(const struct targets *t, const char *name, const char *id)
{
    bool wanted = t->cli->n_operands == 0;

    for (size_t i = 0; i < t->cli->n_operands; i++) {
        if (!str_eq(t->cli->operands[i], name) && !str_eq(t->cli->operands[i], id))
            continue;
        wanted = t->found[i] = true;
    }
    return wanted;
}

/* A command's server has its numbers there alone: /metrics is the program's own. */
#define METRICS_PATH "/monitoring/prometheus/metrics"

static int add_label(json_t *labels, const char *name, json_t *value)
{
    return json_object_set_new(labels, name, value);
}

/* What a replica serves is what its group has in the plan. */
static int label_replica(json_t *labels, const json_t *plan, const char *role, int64_t index)
{
    json_t *model = NULL;
    const json_t *v = deployment_in_group(plan, role, &model);

    if (add_label(labels, "replica", json_sprintf("%s-%lld", role, (long long)index)) < 0 ||
        add_label(labels, "__metrics_path__", json_string(METRICS_PATH)) < 0)
        return -ENOMEM;
    if (!v)
        return 0;
    return add_label(labels, "model", json_text(format_text(model, "name"))) < 0 ||
                   add_label(labels, "version",
                             json_sprintf("%lld", (long long)json_int_or(v, "version", 0))) < 0
               ? -ENOMEM
               : 0;
}

static json_t *labels_of(const json_t *status, const json_t *plan, const json_t *task)
{
    const char *role = format_text(task, "role");
    bool gateway = str_eq(role, SERVE_GATEWAY);
    bool tls = gateway && json_is_object(json_object_get(plan, "tls"));
    AUTO_JSON *labels =
        json_pack("{s:o, s:s}", "deployment", json_text(format_text(status, "name")), "role",
                  gateway ? "gateway" : "replica");

    if (!labels ||
        (!gateway && label_replica(labels, plan, role, json_int_or(task, "rank", 0)) < 0) ||
        (tls && add_label(labels, "__scheme__", json_string("https")) < 0))
        return NULL;
    return take(labels);
}

/* A task that has ended for good has nothing to tell; one that is started again will have. */
static int targets_add(json_t *list, const json_t *status, const json_t *plan, const json_t *task,
                       struct err *err)
{
    json_int_t port = json_integer_value(json_array_get(json_object_get(task, "ports"), 0));
    const char *only = str_eq(format_text(task, "role"), SERVE_GATEWAY) ? serve_host(plan) : NULL;
    const char *host = only ? only : json_string_value(json_object_get(task, "host"));
    AUTO_JSON *labels = NULL;

    if (!host || !*host || port <= 0)
        return 0;
    labels = labels_of(status, plan, task);
    if (!labels ||
        json_array_append_new(
            list, json_pack("{s:[o], s:O}", "targets",
                            json_sprintf(strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, (int)port),
                            "labels", labels)) < 0)
        return err_oom(err);
    return 0;
}

static int targets_look(void *arg, struct client *c, struct err *err)
{
    struct targets *t = arg;
    AUTO_JSON *status = NULL;
    AUTO_JSON *plan = NULL;
    const json_t *tasks, *task;
    size_t i;
    int r = client_status(c, true, &status, err);

    if (r < 0 || !str_eq(format_text(status, "framework"), SERVE_FRAMEWORK) ||
        !targets_wanted(t, format_text(status, "name"), client_id(c)))
        return r;
    (void)serve_plan_of(c, 0, &plan, NULL); /* a moment after its start there is none */
    tasks = json_object_get(status, "tasks");
    json_array_foreach(tasks, i, task)
    {
        if (r == 0)
            r = targets_add(t->list, status, plan, task, err);
    }
    return r;
}

/* ---- a stable order ---- */

static const char *label(const json_t *target, const char *name)
{
    return format_text(json_object_get(target, "labels"), name);
}

/* Names in the order of people: a-2 before a-10. */
static int compare_replicas(const char *a, const char *b)
{
    const char *x = strrchr(a, '-'), *y = strrchr(b, '-');
    size_t n = x ? (size_t)(x - a) : 0;
    int order;

    if (!x || !y || y - b != x - a || strncmp(a, b, n) != 0)
        return strcmp(a, b);
    order = (int)strlen(x) - (int)strlen(y);
    return order ? order : strcmp(x, y);
}

static int compare(const void *a, const void *b)
{
    static const char *const by[] = { "deployment", "role" };
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int order = 0;

    for (size_t i = 0; i < COUNT_OF(by) && order == 0; i++)
        order = strcmp(label(x, by[i]), label(y, by[i]));
    if (order == 0)
        order = compare_replicas(label(x, "replica"), label(y, "replica"));
    return order;
}

static json_t *sorted(const json_t *list)
{
    size_t n = json_array_size(list);
    AUTO_FREE json_t **v = calloc(n + 1, sizeof(json_t *));
    AUTO_JSON *ret = json_array();

    for (size_t i = 0; v && i < n; i++)
        v[i] = json_array_get(list, i);
    if (!v || !ret)
        return NULL;
    qsort(v, n, sizeof(json_t *), compare);
    for (size_t i = 0; i < n; i++)
        if (json_array_append(ret, v[i]) < 0)
            return NULL;
    return take(ret);
}

static int targets_print(const struct targets *t, struct err *err)
{
    AUTO_JSON *list = NULL;

    for (size_t i = 0; i < t->cli->n_operands; i++) {
        if (t->found[i])
            continue;
        err_set(err, -ENOENT, "there is no deployment '%s'", t->cli->operands[i]);
        err_hint(err, "'ydl serve list' shows those there are");
        return -ENOENT;
    }
    list = sorted(t->list);
    return list ? json_print(stdout, list, err) : err_oom(err);
}

static int serve_targets_work(struct job_call *x, struct err *err)
{
    AUTO_JSON *list = json_array();
    AUTO_FREE bool *found = calloc(x->cli->n_operands + 1, sizeof(*found));
    struct targets t = { .cli = x->cli, .list = list, .found = found };
    int r = list && found ? job_each(x, JOB_EACH_RUNNING, SIZE_MAX, targets_look, &t, err)
                          : err_oom(err);

    return r < 0 ? r : targets_print(&t, err);
}

/* clang-format off */
const struct cli_verb verb_serve_targets = {
    .name = "targets", .summary = "list what Prometheus can read",
    .operands = "[DEPLOYMENT…]", .most = CLI_ANY, JOB_VERB(serve_targets_work),
    .text = "Prints the addresses of all replicas and gateways as JSON, in the form that "
            "Prometheus takes targets in (http_sd_configs, file_sd_configs): each has the labels "
            "deployment, role (gateway or replica) and, for a replica, model, version and replica. "
            "The label __metrics_path__ says where its metrics are. The order stays the same. When a "
            "deployment cannot be asked, nothing is printed and the exit status is not 0.",
    .opts = job_where_opts, .args_size = sizeof(struct job_where),
    CLI_EXAMPLES({ "ydl serve targets > new && mv new /etc/prometheus/ydl.json",
                   "tell Prometheus, for file_sd_configs" },
                 { "ydl serve targets resnet", "of one deployment" }),
    CLI_SECTIONS(
      { "KEYS",
        "A replica shows " METRICS_PATH " to everybody who can reach its port, as it does "
        "/v2/health/ready: these are numbers, and discovery has no place for a key. A gateway's "
        "/metrics want the deployment's own key (--key-file), if it has one." }),
};
/* clang-format on */
