/* nodes.c - `ydl cluster nodes`: the NodeManagers. */
#include "cli/table.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/cluster_report.h"
#include "cmd/cluster/verbs.h"

#include <string.h>

#define GPU "yarn.io/gpu"
#define STATES 16

struct args {
    struct strs states;
};

/* clang-format off */
static const struct table_column columns[] = {
    { "STATE",      false }, { "HOST",   false }, { "RACK", false }, { "CONTAINERS", true },
    { "MEMORY",     true  }, { "CORES",  true  }, { "GPUS", true  }, { "LABELS", false },
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

static void nodes_add_row(struct table *t, const Yarn__NodeReport *n)
{
    char used[FACT_SIZE], total[FACT_SIZE], labels[256];
    int64_t gpus = yarn_amount_of(n->capability, GPU);

    table_cell(t, "%s", yarn_node_state_name(n->state));
    table_cell(t, "%s:%d", n->node_id ? n->node_id->host : "?",
               n->node_id ? (int)n->node_id->port : 0);
    table_cell(t, "%s", n->rack_name[0] ? n->rack_name : "-");
    table_cell(t, "%d", (int)n->num_containers);
    table_cell(t, "%s of %s", fact_memory(yarn_memory(n->used), used),
               fact_memory(yarn_memory(n->capability), total));
    table_cell(t, "%d of %d", (int)yarn_vcores(n->used), (int)yarn_vcores(n->capability));
    if (gpus > 0)
        table_cell(t, "%lld of %lld", (long long)yarn_amount_of(n->used, GPU), (long long)gpus);
    else
        table_cell(t, "-");
    table_cell(t, "%s", fact_join((char *const *)n->labels, n->n_labels, labels, sizeof(labels)));
}

/* Why a node cannot be used stands below the table. */
static void print_health(const Yarn__GetClusterNodesResponse *answer)
{
    char clean[2048];

    for (size_t i = 0; i < answer->n_nodes; i++) {
        const Yarn__NodeReport *n = answer->nodes[i];

        if (n->state != YARN__NODE_STATE__NODE_UNHEALTHY || !n->health_report[0])
            continue;
        str_clean(clean, sizeof(clean), n->health_report);
        printf("%s:%d: %s\n", n->node_id ? n->node_id->host : "?",
               n->node_id ? (int)n->node_id->port : 0, clean);
    }
}

static int nodes_print_text(const Yarn__GetClusterNodesResponse *answer, struct err *err)
{
    AUTO_TABLE t = { 0 };
    int r;

    table_begin(&t, stdout, columns, COUNT_OF(columns));
    for (size_t i = 0; i < answer->n_nodes; i++)
        nodes_add_row(&t, answer->nodes[i]);
    r = table_end(&t, err);
    if (r == 0)
        print_health(answer);
    return r;
}

static int nodes_print_json(const Yarn__GetClusterNodesResponse *answer, struct err *err)
{
    AUTO_JSON *list = json_array();
    AUTO_JSON *v = NULL;
    int r;

    for (size_t i = 0; list && i < answer->n_nodes; i++)
        if (json_array_append_new(list, fact_node(answer->nodes[i])) < 0)
            return err_oom(err);
    r = json_make(&v, err, "{s:o}", "nodes", take(list));
    return r < 0 ? r : json_print(stdout, v, err);
}

static int nodes_work(struct cluster *k, struct err *err)
{
    const struct args *a = cluster_args(k);
    AUTO_RPC Yarn__GetClusterNodesResponse *answer = NULL;
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
    return k->json ? nodes_print_json(answer, err) : nodes_print_text(answer, err);
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
