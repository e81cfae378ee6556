/* nodes.c - `ydl cluster nodes`: the NodeManagers. */
#include "base/str.h"
#include "cli/doc.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/cluster_report.h"
#include "cmd/cluster/verbs.h"

#include <string.h>

#define GPU "yarn.io/gpu"
#define STATES 16

struct args {
    struct strs states;
};

static int put_gpus(const json_t *v, struct buf *out)
{
    json_t *used = json_object_get(json_object_get(v, "used"), "others");
    json_t *total = json_object_get(json_object_get(v, "total"), "others");
    int64_t n = json_int_or(total, GPU, 0);

    return n <= 0 ? buf_add_str(out, "-")
                  : buf_printf(out, "%lld of %lld", (long long)json_int_or(used, GPU, 0),
                               (long long)n);
}

/* clang-format off */
static const struct table_column columns[] = {
    { "STATE",      false, "{state}" },
    { "HOST",       false, "{id}" },
    { "RACK",       false, "{rack}" },
    { "CONTAINERS", true,  "{containers}" },
    { "MEMORY",     true,  "{used.memory_mb|mb} of {total.memory_mb|mb}" },
    { "CORES",      true,  "{used.vcores} of {total.vcores}" },
    { "GPUS",       true,  .put = put_gpus },
    { "LABELS",     false, "{labels}" },
};
/* clang-format on */

static int by_host(const void *a, const void *b)
{
    static const Yarn__NodeId none = YARN__NODE_ID__INIT;
    const Yarn__NodeReport *x = *(Yarn__NodeReport *const *)a, *y = *(Yarn__NodeReport *const *)b;
    const Yarn__NodeId *i = x->node_id ? x->node_id : &none, *j = y->node_id ? y->node_id : &none;
    int r = strcmp(i->host, j->host);

    return r ? r : (i->port > j->port) - (i->port < j->port);
}

/* Why a node cannot be used stands below the table. */
static int print_health(const json_t *nodes, struct err *err)
{
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *n = json_array_get(nodes, i);
        AUTO_BUF text = { .max = MIB };
        char clean[2048];

        if (!str_eq(json_string_value(json_object_get(n, "state")), "UNHEALTHY"))
            continue;
        if (doc_text(n, "{id}: {health}", &text) < 0 || !buf_text(&text))
            return err_oom(err);
        str_clean(clean, sizeof(clean), buf_text(&text));
        if (!str_ends(clean, ": "))
            printf("%s\n", clean);
    }
    return 0;
}

static int nodes_work(struct cluster *k, struct err *err)
{
    const struct args *a = cluster_args(k);
    AUTO_RPC Yarn__GetClusterNodesResponse *answer = NULL;
    AUTO_JSON *list = json_array();
    Yarn__NodeState states[STATES];
    size_t n = a->states.n < STATES ? a->states.n : STATES;
    int r = 0;

    for (size_t i = 0; i < n; i++)
        if (yarn_node_state_parse(a->states.v[i], &states[i], err) < 0)
            return CLI_USAGE;
    r = yarn_nodes(k->yarn, states, n, &answer, err);
    if (r < 0)
        return r;
    if (answer->n_nodes)
        qsort(answer->nodes, answer->n_nodes, sizeof(*answer->nodes), by_host);
    for (size_t i = 0; i < answer->n_nodes; i++)
        if (json_array_append_new(list, fact_node(answer->nodes[i])) < 0)
            return err_oom(err);
    if (k->json)
        return doc_print(err, "{s:O}", "nodes", list);
    r = doc_table(list, columns, COUNT_OF(columns), err);
    return r < 0 ? r : print_health(list, err);
}

/* clang-format off */
const struct cli_verb verb_cluster_nodes = {
    .name = "nodes", .summary = "list nodes", CLUSTER_VERB(nodes_work),
    .text = "Lists the nodes with their state, resources in use, and labels. Lost nodes are "
            "listed as long as the ResourceManager remembers them.",
    CLI_OPTS(struct args,
        { "state", 's', CLI_LIST, offsetof(struct args, states), NULL, "STATE",
          "list only this state: running, lost, unhealthy, decommissioning, decommissioned, "
          "rebooted, shutdown, new" }),
    CLI_EXAMPLES({ "ydl cluster nodes --state lost --state unhealthy", "list broken nodes" }),
};
/* clang-format on */
