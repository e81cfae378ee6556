/* mxnet.c - MXNet's distributed key-value store, which is ps-lite.
 *
 * One scheduler, servers and workers, all running the user's own command: `import mxnet` looks at
 * DMLC_ROLE and never returns in a scheduler or a server. Servers and workers choose ports
 * themselves and tell the scheduler; only its port must be known beforehand. Nobody but a worker
 * ends by itself when something went wrong, so workers alone decide. */
#include "framework/frameworks.h"
#include "framework/task.h"

static const struct framework_role roles[] = {
    { .name = "scheduler",
      .one = true,
      .ports = 1,
      .make = FRAMEWORK_SERVING,
      .doc = "brings servers and workers together; made by itself when there are servers" },
    { .name = "server", .doc = "holds a part of the parameters" },
    { .name = "worker", .ranked = true, .decides = true, .doc = "trains" },
    { 0 },
};

/* Both addresses are numeric: ZeroMQ binds no names. */
static int task(const struct framework_task *t, struct err *err)
{
    const struct cluster_role *own = cluster_role(t->cluster, t->role->name);
    const struct cluster_task *root = task_first(t, "scheduler");
    struct env e = env_of(t);

    if (!framework_role(t->framework, t->role->name) || !own || t->rank >= own->n)
        return 0;
    env_text(&e, "DMLC_ROLE", t->role->name);
    env_number(&e, "DMLC_NUM_WORKER", (long long)task_count(t, "worker"));
    env_number(&e, "DMLC_NUM_SERVER", (long long)task_count(t, "server"));
    env_text(&e, "DMLC_NODE_HOST", own->tasks[t->rank].host);
    env_number(&e, "DMLC_TASK_ID", t->rank);
    env_number(&e, "DMLC_NUM_ATTEMPT", t->attempt);
    if (str_eq(t->role->name, "worker"))
        env_number(&e, "DMLC_WORKER_ID", t->rank);
    if (str_eq(t->role->name, "server"))
        env_number(&e, "DMLC_SERVER_ID", t->rank);
    if (root) {
        env_text(&e, "DMLC_PS_ROOT_URI", root->host);
        env_number(&e, "DMLC_PS_ROOT_PORT", root->port[0]);
    }
    return env_end(&e, err);
}

static const char *const aliases[] = { "mx", "ps-lite", "pslite", NULL };

const struct framework framework_mxnet = {
    .name = "mxnet",
    .summary = "MXNet with a distributed key-value store (ps-lite)",
    .doc = "Workers (-n) and servers (-s, as many as workers when not said) run the job's command; "
           "a scheduler is added. All get DMLC_ROLE, DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT, "
           "DMLC_NUM_WORKER, DMLC_NUM_SERVER, DMLC_NODE_HOST, DMLC_TASK_ID and DMLC_NUM_ATTEMPT. "
           "ps-lite numbers its workers by address, so kv.rank need not be YDL_RANK. The job has "
           "succeeded when all workers have. With -s 0 there is no scheduler, for kvstores that "
           "are not distributed. Restarts are of the whole gang: ps-lite does not take a node back "
           "unless PS_HEARTBEAT_INTERVAL and PS_HEARTBEAT_TIMEOUT are set.",
    .aliases = aliases,
    .roles = roles,
    .worker_role = "worker",
    .server_role = "server",
    .as_many_servers = true,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_SHARE, /* ZeroMQ sets SO_REUSEADDR */
    .task = task,
};
