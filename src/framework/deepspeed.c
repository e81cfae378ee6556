/* deepspeed.c - DeepSpeed without its launcher: torch's environment, and three more. Where one of
 * torch's is missing, deepspeed.init_distributed() would look for MPI. */
#include "framework/frameworks.h"
#include "framework/task.h"

static int deepspeed_task(const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);
    struct world w;
    int r = pytorch_task(t, err);

    if (r < 0 || !world_of(t, &w))
        return r;
    env_number(&e, "LOCAL_SIZE", w.local_size);
    env_number(&e, "CROSS_RANK", w.slot);
    env_number(&e, "CROSS_SIZE", w.slots);
    return env_end(&e, err);
}

const struct framework framework_deepspeed = {
    .name = "deepspeed",
    .summary = "DeepSpeed scripts, without the deepspeed launcher",
    .doc = "The command is the script (python train.py --deepspeed …), not 'deepspeed train.py': "
           "workers (-n, with --procs one process for each GPU) get torchrun's variables and "
           "LOCAL_SIZE, CROSS_RANK and CROSS_SIZE, which is all that deepspeed.init_distributed() "
           "needs: no ssh, no hostfile. Success and restarts are as with pytorch.",
    .aliases = (const char *const[]){ "ds", NULL },
    .roles = task_listeners,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_SHARE,
    .task = deepspeed_task,
    .error = pytorch_error,
};
