/* jax.c - JAX processes that meet at process 0. */
#include "framework/frameworks.h"
#include "framework/task.h"

#include <string.h>

/* Several processes share a container's GPUs: each gets its part of them, by number. */
static int devices(const struct framework_task *t, const struct world *w, struct env *e)
{
    unsigned each = w->local_size > 1 ? t->role->gpus / w->local_size : 0;
    AUTO_BUF b = { .max = 4 * KIB };
    int r = 0;

    if (each == 0 || t->role->gpus % w->local_size != 0)
        return 0;
    for (unsigned i = 0; i < each && r == 0; i++)
        r = buf_printf(&b, "%s%u", i > 0 ? "," : "", w->local_rank * each + i);
    if (r < 0 || !buf_text(&b))
        return -ENOMEM;
    env_text(e, "JAX_LOCAL_DEVICE_IDS", buf_text(&b));
    return 0;
}

/* With no arguments, jax.distributed.initialize() knows no launcher of this kind, but it knows Open
 * MPI's by these variables, and the address of the coordinator wins over the one that it would make
 * of the URI. It then gives each process the one GPU of its local rank: where a process has several
 * GPUs it would lose all but one, in versions that do not read JAX_LOCAL_DEVICE_IDS. */
static void as_open_mpi(const struct framework_task *t, const struct world *w, struct env *e)
{
    char address[TASK_ADDRESS_MAX];
    bool six = strchr(w->first->host, ':') != NULL;

    if (t->role->gpus > w->local_size)
        return;
    env_printf(e, "OMPI_MCA_orte_hnp_uri", "0.0;%s://%s", six ? "tcp6" : "tcp",
               task_address(w->first, address));
    env_number(e, "OMPI_COMM_WORLD_SIZE", w->size);
    env_number(e, "OMPI_COMM_WORLD_RANK", w->rank);
    env_number(e, "OMPI_COMM_WORLD_LOCAL_RANK", w->local_rank);
}

/* JAX itself reads the address only. The number of processes and the rank are for scripts that pass
 * them on, as they are used to from Kubeflow. */
static int jax_task(const struct framework_task *t, struct err *err)
{
    char address[TASK_ADDRESS_MAX];
    struct env e = env_of(t);
    struct world w;

    if (!world_of(t, &w))
        return 0;
    env_text(&e, "JAX_COORDINATOR_ADDRESS", task_address(w.first, address));
    env_number(&e, "JAX_NUM_PROCESSES", w.size);
    env_number(&e, "JAX_PROCESS_ID", w.rank);
    as_open_mpi(t, &w, &e);
    if (devices(t, &w, &e) < 0)
        return err_oom(err);
    return env_end(&e, err);
}

const struct framework framework_jax = {
    .name = "jax",
    .summary = "JAX on several processes (jax.distributed)",
    .doc = "Workers (-n) get what jax.distributed.initialize() reads when it is called without "
           "arguments: JAX_COORDINATOR_ADDRESS and the variables of Open MPI's launcher. If a "
           "process has more than one GPU, pass initialize(num_processes="
           "int(os.environ['JAX_NUM_PROCESSES']), process_id=int(os.environ['JAX_PROCESS_ID'])), "
           "or it uses only one of them. With --procs, JAX_LOCAL_DEVICE_IDS assigns the "
           "container's GPUs to its processes. Proxy variables (http_proxy …) can make JAX hang: "
           "unset them. The job succeeds when all workers succeed; a restart restarts all of them.",
    .proven = true,
    .roles = task_listeners,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_SHARE, /* gRPC */
    .task = jax_task,
};
