/* info.c - `ydl cluster info`: the cluster on one page. */
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/cluster_report.h"
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

static int info_print_json(const struct answers *a, const struct totals *t, struct err *err)
{
    const struct rpc_address *rm = rpc_service_address(yarn_client_service(a->k->yarn));
    const Yarn__ClusterMetrics *m = a->metrics->metrics;
    const Yarn__QueueStatistics *s = a->root->info->statistics;
    AUTO_JSON *v = NULL;
    int r = json_make(
        &v, err,
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

    return r < 0 ? r : json_print(stdout, v, err);
}

static void print_nodes(const Yarn__ClusterMetrics *m)
{
    const struct {
        const char *what;
        int n;
    } more[] = {
        { "lost", m->num_lost_nms },
        { "unhealthy", m->num_unhealthy_nms },
        { "decommissioning", m->num_decommissioning_nms },
        { "decommissioned", m->num_decommissioned_nms },
        { "rebooted", m->num_rebooted_nms },
        { "shut down", m->num_shutdown_nms },
    };

    printf("%-16s %d running", "nodes", (int)m->num_active_nms);
    for (size_t i = 0; i < COUNT_OF(more); i++)
        if (more[i].n > 0)
            printf(", %d %s", more[i].n, more[i].what);
    printf("\n");
}

static void info_print_text(const struct answers *a, const struct totals *t)
{
    const struct rpc_address *rm = rpc_service_address(yarn_client_service(a->k->yarn));
    const Yarn__QueueStatistics *s = a->root->info->statistics;
    const char *version = version_of(a);

    printf("%-16s %s%s%s:%d%s%s%s%s\n", "ResourceManager", rm->id ? rm->id : "",
           rm->id ? " at " : "", rm->host, rm->port, rm->id ? ", active" : "",
           version ? ", Hadoop " : "", version ? version : "", version ? " or newer" : "");
    print_nodes(a->metrics->metrics);
    totals_print(t);
    printf("%-16s %zu\n", "queues", count_leaves(a->root));
    if (s)
        printf("%-16s %lld running, %lld waiting\n", "applications", (long long)s->num_apps_running,
               (long long)s->num_apps_pending);
}

static int info_work(struct cluster *k, struct err *err)
{
    struct answers a = { .k = k };
    AUTO_TOTALS t = { 0 };
    int r = info_ask(&a, err);

    for (size_t i = 0; r == 0 && i < a.nodes->n_nodes; i++)
        r = totals_add(&t, a.nodes->nodes[i]->used, a.nodes->nodes[i]->capability, err);
    if (r == 0 && k->json)
        r = info_print_json(&a, &t, err);
    else if (r == 0)
        info_print_text(&a, &t);
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
