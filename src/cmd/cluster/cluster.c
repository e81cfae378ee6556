/* cluster.c - `ydl cluster`: the YARN cluster as its ResourceManager sees it. */
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/verbs.h"
#include "cmd/verbs.h"

#include <string.h>

#define NEAR_QUEUES 4096

static int cluster_work(struct connection *x, void *arg, struct err *err)
{
    struct cluster k = { .x = x, .json = x->globals->json };
    AUTO_YARN_CLIENT *yarn = NULL;
    int r = yarn_client_new(x->session, &yarn, err);

    (void)arg;
    if (r < 0)
        return r;
    k.yarn = yarn;
    return ((cluster_fn *)x->cli->verb->work)(&k, err);
}

int cluster_run(struct cli *c, struct err *err)
{
    return connect_run(c, CONNECT_CONFIGURED, cluster_work, NULL, err);
}

int cluster_app_id(const char *text, struct yarn_app_id *ret, struct err *err)
{
    return yarn_app_id_parse(text, ret, err) < 0 ? CLI_USAGE : 0;
}

/* ---- a queue that is not there ---- */

/* Names of all queues, borrowed from the tree; their number. */
static size_t cluster_names_of(const struct yarn_queue *q, const char **names, size_t n)
{
    if (n < NEAR_QUEUES)
        names[n++] = q->info->queue_name;
    for (size_t i = 0; i < q->n; i++)
        n = cluster_names_of(&q->children[i], names, n);
    return n;
}

static void hint_nearest(struct cluster *k, const char *name, struct err *err)
{
    AUTO_YARN_QUEUE *root = NULL;
    AUTO_FREE const char **names = calloc(NEAR_QUEUES, sizeof(*names));
    const char *last = strrchr(name, '.'), *near;

    if (!names || yarn_queue(k->yarn, NULL, true, &root, NULL) < 0)
        return;
    near = str_nearest(last ? last + 1 : name, names, cluster_names_of(root, names, 0));
    if (!near)
        return;
    err->hint[0] = '\0'; /* a better one than what is there */
    err_hint(err, "did you mean '%s'? List all queues: ydl cluster queues", near);
}

int cluster_check_queue(struct cluster *k, const char *name, bool leaf, struct err *err)
{
    AUTO_YARN_QUEUE *q = NULL;
    int r = yarn_queue(k->yarn, name, false, &q, err);

    if (r == -ENOENT)
        hint_nearest(k, name, err);
    if (r < 0 || !leaf || q->n == 0)
        return r;
    err_set(err, -EINVAL, "the queue '%s' has queues below it: choose one of those", name);
    err_hint(err, "list them: ydl cluster queues %s", name);
    return -EINVAL;
}

/* ---- the verb ---- */

static const struct cli_verb *const subs[] = {
    &verb_cluster_app,    &verb_cluster_apps,     &verb_cluster_info,
    &verb_cluster_kill,   &verb_cluster_move,     &verb_cluster_nodes,
    &verb_cluster_queues, &verb_cluster_registry, NULL,
};

/* clang-format off */
const struct cli_verb verb_cluster = {
    .name = "cluster", .summary = "show the YARN cluster: nodes, queues, applications",
    .subs = subs,
    .text = "Shows the YARN cluster as its ResourceManager sees it, and manages applications.",
    CLI_EXAMPLES({ "ydl cluster info", "show whether the cluster is up, and how busy it is" },
                 { "ydl cluster apps --user $USER", "list your running applications" }),
    CLI_SECTIONS({ "JSON OUTPUT",
        "A resource is an object: memory_mb, vcores, and others, an object with the amount of each "
        "further type by its name, as yarn.io/gpu. Times are milliseconds since 1970, or null.\n\n"
        "info\tresourcemanager (id, host, port, version_at_least), nodes (running, lost, "
        "unhealthy, decommissioning, decommissioned, rebooted, shut_down), used and total "
        "(resources), queues (their number), applications (running, waiting).\n"
        "nodes\tnodes: a list of objects with id, host, port, rack, state, containers, used, "
        "total, labels, http, health, health_ms.\n"
        "queues\tqueue: an object with name, path, state, capacity, max_capacity and used in "
        "percent (null where the scheduler has none), running, waiting, labels, default_label, and "
        "children, a list of such objects.\n"
        "apps\tapplications: a list of objects with id, name, type, user, queue, state, "
        "final_status, progress in percent, submitted_ms, started_ms, finished_ms, containers, "
        "used, tags, tracking_url.\n"
        "app\tapplication: the same with diagnostics, priority, label, host, rpc_port, unmanaged, "
        "memory_mb_seconds, vcore_seconds, and attempts: a list of objects with id, state, host, "
        "container, tracking_url, diagnostics, started_ms, finished_ms.\n"
        "kill\tapplication: id, state, final_status, killed (by this command).\n"
        "move\tapplication: id, queue.\n"
        "registry\tpath, record (as stored, or null), below (a list of names)." }),
};
/* clang-format on */
