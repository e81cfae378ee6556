/* rabit.c - dmlc-core's rabit, and XGBoost up to 2.0: a tracker in the master gives out ranks. */
#include "framework/frameworks.h"
#include "framework/task.h"

int rabit_task_env(const struct framework_task *t, int width, struct err *err)
{
    const struct cluster_role *own = cluster_role(t->cluster, t->role->name);
    struct env e = env_of(t);
    struct world w;

    if (!world_of(t, &w))
        return 0;
    if (own && t->rank < own->n)
        env_text(&e, "DMLC_NODE_HOST", own->tasks[t->rank].host);
    env_text(&e, "DMLC_ROLE", "worker");
    env_text(&e, "DMLC_TRACKER_URI", t->server_host ? t->server_host : "");
    env_number(&e, "DMLC_TRACKER_PORT", t->server_port);
    env_printf(&e, "DMLC_TASK_ID", "%0*u", width, w.rank);
    env_number(&e, "DMLC_NUM_WORKER", w.size);
    env_number(&e, "DMLC_NUM_SERVER", 0);
    env_number(&e, "DMLC_NUM_ATTEMPT", t->attempt);
    return env_end(&e, err);
}

static int rabit_task(const struct framework_task *t, struct err *err)
{
    return rabit_task_env(t, 1, err);
}

const struct framework framework_rabit = {
    .name = "rabit",
    .summary = "rabit programs, and XGBoost up to 2.0",
    .doc = "The master runs the rabit tracker. Workers (-n) get DMLC_TRACKER_URI, "
           "DMLC_TRACKER_PORT, DMLC_TASK_ID, DMLC_NUM_WORKER and DMLC_NUM_ATTEMPT; the tracker "
           "assigns the ranks. The job succeeds when all workers succeed. A failed worker is "
           "restarted alone: rabit takes it back with its old rank.",
    .aliases = (const char *const[]){ "dmlc", "xgboost1", NULL },
    .proven = true,
    .roles = task_workers,
    .restart = SPEC_RESTART_TASK,
    .port = FRAMEWORK_PORT_RELEASE,
    .servers = FRAMEWORK_RABIT,
    .rejoins = true,
    .task = rabit_task,
};
