/* mxnet.c - MXNet's distributed key-value store, which is ps-lite.
 *
 * One scheduler, servers and workers, all running the user's own command: `import mxnet` looks at
 * DMLC_ROLE and never returns in a scheduler or a server. Servers and workers choose ports
 * themselves and tell the scheduler; only its port must be known beforehand. Nobody but a worker
 * ends by itself when something went wrong, so workers alone decide. */
#include "framework/frameworks.h"
#include "framework/native.h"
#include "framework/task.h"

static const struct framework_role roles[] = {
    { .name = "scheduler",
      .one = true,
      .ports = 1,
      .make = FRAMEWORK_SERVING,
      .doc = "connects servers and workers; added automatically when there are servers" },
    { .name = "server", .doc = "holds part of the parameters" },
    { .name = "worker", .ranked = true, .decides = true, .doc = "trains" },
    { 0 },
};

/* A scheduler only brings others together, so any will do; a server may be sent an optimizer that
 * only Python can read, so by itself it stays as it is. Where just the workers have a command,
 * nothing but ydl-native could play the others. In an image it may not be there. */
static int mxnet_complete(struct spec *s, struct spec_faults *f)
{
    static const char *const words[] = { "mxnet", NULL };
    static const char *const names[] = { "scheduler", "server" };
    const struct strs *beside = native_beside(s);
    bool only = beside->n > 0 && s->command.n == 0;
    int r = 0;

    (void)f;
    for (size_t i = 0; i < COUNT_OF(names) && r == 0; i++) {
        struct spec_role *role = spec_role(s, names[i]);
        bool sure = s->native == SPEC_NATIVE_YES || only;
        struct native_words w = { words, .fallback = !sure };

        if (!role || role->count == 0 || role->command.n > 0 || s->native == SPEC_NATIVE_NO)
            continue;
        if (sure || (i == 0 && native_is_python(beside) && !s->image && !role->image))
            r = native_role(role, &w, beside);
    }
    return r;
}

/* Both addresses are numeric: ZeroMQ binds no names. The scheduler binds its port without a second
 * try, so that port must be its own; servers and workers try others. DMLC_NODE_HOST is always set:
 * without it ps-lite takes the address of some network card. */
static int mxnet_task(const struct framework_task *t, struct err *err)
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

const struct framework framework_mxnet = {
    .name = "mxnet",
    .summary = "MXNet with a distributed key-value store (ps-lite)",
    .doc = "Workers (-n) and servers (-s, by default as many as workers) run the job's command; "
           "a scheduler is added. All get DMLC_ROLE, DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT, "
           "DMLC_NUM_WORKER, DMLC_NUM_SERVER, DMLC_NODE_HOST, DMLC_TASK_ID and DMLC_NUM_ATTEMPT. "
           "ps-lite numbers its workers by address, so kv.rank need not be YDL_RANK. The job "
           "succeeds when all workers succeed. With -s 0 there is no scheduler, for kvstores that "
           "are not distributed. A restart restarts all tasks: ps-lite does not take a node back "
           "unless PS_HEARTBEAT_INTERVAL and PS_HEARTBEAT_TIMEOUT are set. With 'native: auto' the "
           "scheduler is ydl-native if libmxnet.so is found beside the command's Python; with "
           "'native: yes' the servers are too, and then cannot run optimizers written in Python: "
           "see ydl-native-mxnet(1).",
    .aliases = (const char *const[]){ "mx", "ps-lite", "pslite", NULL },
    .proven = true,
    .roles = roles,
    .server_role = "server",
    .as_many_servers = true,
    .native = true,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_SHARE, /* ZeroMQ sets SO_REUSEADDR */
    .complete = mxnet_complete,
    .task = mxnet_task,
};
