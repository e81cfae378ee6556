/* info.c - `ydl cluster info`: the cluster on one page. */
#include "base/str.h"
#include "cli/doc.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/totals.h"
#include "cmd/cluster/verbs.h"
#include "loop/fiber.h"

/* Three questions that are asked at the same time on one connection. */
struct answers {
    struct cluster *k;
    Yarn__GetClusterMetricsResponse *metrics;
    Yarn__GetClusterNodesResponse *nodes;
    struct yarn_queue *root;
};

static int ask_metrics(void *arg, struct err *err)
{
    struct answers *a = arg;

    return yarn_metrics(a->k->yarn, &a->metrics, err);
}

static int info_ask_nodes(void *arg, struct err *err)
{
    static const Yarn__NodeState states[] = { YARN__NODE_STATE__NODE_RUNNING,
                                              YARN__NODE_STATE__NODE_DECOMMISSIONING };
    struct answers *a = arg;

    return yarn_nodes(a->k->yarn, states, COUNT_OF(states), &a->nodes, err);
}

static int ask_queues(void *arg, struct err *err)
{
    struct answers *a = arg;

    return yarn_queue(a->k->yarn, NULL, true, &a->root, err);
}

static int info_ask(struct answers *a, struct err *err)
{
    static int (*const questions[])(void *arg, struct err *err) = { ask_metrics, info_ask_nodes,
                                                                    ask_queues };

    return group_all(a->k->x->loop, questions, COUNT_OF(questions), a, err);
}

static void info_forget(struct answers *a)
{
    rpc_free(a->metrics);
    rpc_free(a->nodes);
    yarn_queue_free(a->root);
}

static size_t count_leaves(const struct yarn_queue *q)
{
    size_t n = q->n == 0;

    for (size_t i = 0; i < q->n; i++)
        n += count_leaves(&q->children[i]);
    return n;
}

/* The RM tells nobody its version, but each release has added fields to its answers. */
static const char *version_of(const struct answers *a)
{
    if (a->root->info->queue_path[0])
        return "3.4";
    return a->metrics->metrics->has_num_decommissioning_nms ? "3.3" : NULL;
}

static int info_json(const struct answers *a, const struct totals *t, json_t **ret, struct err *err)
{
    const struct rpc_address *rm = rpc_service_address(yarn_client_service(a->k->yarn));
    const Yarn__ClusterMetrics *m = a->metrics->metrics;
    const Yarn__QueueStatistics *s = a->root->info->statistics;

    return json_make(
        ret, err,
        "{s:{s:o, s:o, s:i, s:o}, s:{s:i, s:i, s:i, s:i, s:i, s:i, s:i}, s:o, s:o, s:I, "
        "s:{s:o, s:o}}",
        "resourcemanager", "id", json_text(rm->id), "host", json_text(rm->host), "port", rm->port,
        "version_at_least", json_text(version_of(a)), "nodes", "running", (int)m->num_active_nms,
        "lost", (int)m->num_lost_nms, "unhealthy", (int)m->num_unhealthy_nms, "decommissioning",
        (int)m->num_decommissioning_nms, "decommissioned", (int)m->num_decommissioned_nms,
        "rebooted", (int)m->num_rebooted_nms, "shut_down", (int)m->num_shutdown_nms, "used",
        totals_json(t, true), "total", totals_json(t, false), "queues",
        (json_int_t)count_leaves(a->root), "applications", "running",
        s ? json_integer(s->num_apps_running) : json_null(), "waiting",
        s ? json_integer(s->num_apps_pending) : json_null());
}

static int put_rm(const json_t *v, struct buf *out)
{
    const json_t *rm = json_object_get(v, "resourcemanager");
    bool named = json_is_string(json_object_get(rm, "id"));
    int r = named ? doc_text(rm, "{id} at ", out) : 0;

    if (r >= 0)
        r = doc_text(rm, named ? "{host}:{port}, active" : "{host}:{port}", out);
    if (r >= 0 && json_is_string(json_object_get(rm, "version_at_least")))
        r = doc_text(rm, ", Hadoop {version_at_least} or newer", out);
    return r;
}

static int put_nodes(const json_t *v, struct buf *out)
{
    const json_t *nodes = json_object_get(v, "nodes"), *n;
    const char *key;
    int r = 0;

    json_object_foreach((json_t *)nodes, key, n)
    {
        bool first = out->len == 0;

        if (r == 0 && (first || json_integer_value(n) > 0))
            r = buf_printf(out, "%s%lld %s", first ? "" : ", ", (long long)json_integer_value(n),
                           str_eq(key, "shut_down") ? "shut down" : key);
    }
    return r;
}

/* clang-format off */
static const struct table_column lines[] = {
    { "ResourceManager", .put = put_rm },
    { "nodes",           .put = put_nodes },
    { "memory",          .text = "{used.memory_mb|mb} of {total.memory_mb|mb} used" },
    { "cores",           .text = "{used.vcores} of {total.vcores} used" },
};
static const struct table_column more_lines[] = {
    { "queues",          .text = "{queues}" },
    { "applications",    .text = "{applications.running} running, {applications.waiting} waiting" },
};
/* clang-format on */

static int info_print(const json_t *v, const struct totals *t, struct err *err)
{
    static const struct doc_layout layout = { 0, 16 };
    int r = doc_sheet(v, &layout, lines, COUNT_OF(lines), err);

    totals_print(t);
    return r < 0 ? r : doc_sheet(v, &layout, more_lines, COUNT_OF(more_lines), err);
}

static int info_work(struct cluster *k, struct err *err)
{
    struct answers a = { .k = k };
    AUTO_TOTALS t = { 0 };
    AUTO_JSON *v = NULL;
    int r = info_ask(&a, err);

    for (size_t i = 0; r == 0 && i < a.nodes->n_nodes; i++)
        r = totals_add(&t, a.nodes->nodes[i]->used, a.nodes->nodes[i]->capability, err);
    if (r == 0)
        r = info_json(&a, &t, &v, err);
    if (r == 0)
        r = k->json ? json_print(stdout, v, err) : info_print(v, &t, err);
    info_forget(&a);
    return r;
}

/* clang-format off */
const struct cli_verb verb_cluster_info = {
    .name = "info", .summary = "show the cluster at a glance", CLUSTER_VERB(info_work),
    .text = "Shows the active ResourceManager, the number of nodes in each state, how much of "
            "their memory, cores and other resources is in use, and the number of queues and "
            "applications.",
    CLI_EXAMPLES({ "ydl cluster info --json | jq .total.memory_mb",
                   "print the memory of all nodes" }),
};
/* clang-format on */
