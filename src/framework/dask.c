/* dask.c - a Dask cluster for the time of one job: scheduler, workers, and the user's program as
 * their client. The client decides; scheduler and workers never end by themselves. */
#include "framework/framework_roles.h"
#include "framework/frameworks.h"
#include "framework/task.h"

#include <inttypes.h>

/* The dashboard's usual port may be taken by another job on the machine: any will do.
 * --death-timeout: a worker whose scheduler is gone for a minute ends by itself. */
static const struct framework_role roles[] = {
    { .name = "scheduler",
      .one = true,
      .ports = 1,
      .make = FRAMEWORK_ALWAYS,
      .command = "dask scheduler --host {host} --port {port} --dashboard-address :0",
      .doc = "runs 'dask scheduler'; added automatically" },
    { .name = "worker",
      .ranked = true,
      .command = "dask worker tcp://{hosts:scheduler} --host {host} --name {role}-{rank} "
                 "--death-timeout 60",
      .after = "scheduler",
      .doc = "runs 'dask worker'" },
    { .name = "client",
      .decides = true,
      .make = FRAMEWORK_DRIVER,
      .after = "scheduler",
      .doc = "runs the job's command" },
    { 0 },
};

/* Dask would take the whole machine's memory and cores for its own. */
static int dask_complete(struct spec *s, struct spec_faults *f)
{
    struct spec_role *w = spec_role(s, "worker");
    bool fresh = false;
    int r = 0;

    (void)f;
    if (w)
        r = complete_command(w, framework_role(&framework_dask, "worker"), &fresh);
    if (r < 0 || !fresh)
        return r;
    if (w->cpus > 0)
        r = strs_printf(&w->command, "--nthreads=%u", w->cpus);
    if (r == 0 && w->memory > 0)
        r = strs_printf(&w->command, "--memory-limit=%" PRIu64,
                        w->memory / (w->procs ? w->procs : 1));
    if (r == 0 && w->gpus > 0)
        r = strs_printf(&w->command, "--resources=GPU=%u", w->gpus);
    return r;
}

static int dask_task(const struct framework_task *t, struct err *err)
{
    const struct cluster_task *scheduler = task_first(t, "scheduler");
    char address[TASK_ADDRESS_MAX];
    struct env e = env_of(t);

    if (scheduler)
        env_printf(&e, "DASK_SCHEDULER_ADDRESS", "tcp://%s", task_address(scheduler, address));
    return env_end(&e, err);
}

const struct framework framework_dask = {
    .name = "dask",
    .summary = "a Dask cluster, and the job's command as its client",
    .doc = "A scheduler and workers (-n) run the dask program; the job's command runs in the role "
           "'client', and Client() there finds the cluster by DASK_SCHEDULER_ADDRESS. Dask gets "
           "the memory, cpus and gpus of its workers. The job succeeds when the client does; then "
           "the other tasks are stopped. A failed task is restarted alone.",
    .proven = true,
    .roles = roles,
    .elastic = true,
    .restart = SPEC_RESTART_TASK,
    .port = FRAMEWORK_PORT_SHARE, /* tornado sets SO_REUSEADDR */
    .complete = dask_complete,
    .task = dask_task,
};
