/* xgboost.c - XGBoost from 2.1: another tracker than rabit's, the same names for it. */
#include "framework/frameworks.h"
#include "framework/task.h"

/* The tracker sorts ids as text, so they all need the same number of digits to sort like ranks. */
static int xgboost_task(const struct framework_task *t, struct err *err)
{
    int width = 1;

    for (size_t last = task_count(t, "worker"); last > 10; last = (last + 9) / 10)
        width++;
    return rabit_task_env(t, width, err);
}

const struct framework framework_xgboost = {
    .name = "xgboost",
    .summary = "XGBoost from 2.1, with its tracker in the master",
    .doc = "The master runs XGBoost's tracker. Workers (-n) get DMLC_TRACKER_URI, "
           "DMLC_TRACKER_PORT, DMLC_TASK_ID and DMLC_NUM_WORKER, which the script passes to "
           "collective.CommunicatorContext(dmlc_tracker_uri=…): XGBoost does not read them itself. "
           "Ranks are those of the tasks. The job succeeds when all workers succeed; a restart "
           "restarts all of them. For XGBoost up to 2.0 see rabit.",
    .aliases = (const char *const[]){ "xgb", NULL },
    .proven = true,
    .roles = task_workers,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_RELEASE,
    .servers = FRAMEWORK_XGBOOST,
    .task = xgboost_task,
};
