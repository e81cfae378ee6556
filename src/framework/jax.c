/* jax.c - JAX processes that meet at process 0. */
#include "framework/frameworks.h"
#include "framework/task.h"

static const struct framework_role roles[] = {
    { .name = "worker", .decides = true, .ranked = true, .ports = 1, .doc = "trains" },
    { 0 },
};

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

static int task(const struct framework_task *t, struct err *err)
{
    char address[TASK_ADDRESS_MAX];
    struct env e = env_of(t);
    struct world w;

    if (!world_of(t, &w))
        return 0;
    env_text(&e, "JAX_COORDINATOR_ADDRESS", task_address(w.first, address));
    env_number(&e, "JAX_NUM_PROCESSES", w.size);
    env_number(&e, "JAX_PROCESS_ID", w.rank);
    if (devices(t, &w, &e) < 0)
        return err_oom(err);
    return env_end(&e, err);
}

const struct framework framework_jax = {
    .name = "jax",
    .summary = "JAX on several processes (jax.distributed)",
    .doc = "Workers (-n) get JAX_COORDINATOR_ADDRESS, which jax.distributed.initialize() reads, "
           "and JAX_NUM_PROCESSES and JAX_PROCESS_ID, which the script hands to it: "
           "initialize(num_processes=int(os.environ['JAX_NUM_PROCESSES']), process_id=…). With "
           "--procs, JAX_LOCAL_DEVICE_IDS says which of the container's GPUs are whose. Proxy "
           "variables (http_proxy …) can hang it: unset them. The job has succeeded when all "
           "workers have; a restart is of the gang.",
    .proven = true,
    .roles = roles,
    .worker_role = "worker",
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_SHARE, /* gRPC */
    .task = task,
};
