/* horovod.c - Horovod over gloo, with a fixed world.
 *
 * A "host" of Horovod's is a container here: within it processes see each other's GPUs and files,
 * which is what hvd.local_rank() is used for. Two containers on one machine are two hosts. */
#include "framework/frameworks.h"
#include "framework/task.h"

/* The "cross" rank goes over containers: it is the place among the processes of the same local
 * rank, of which every container has one. */
static int horovod_task(const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);
    struct world w;

    if (!world_of(t, &w))
        return 0;
    env_printf(&e, "HOROVOD_HOSTNAME", "%s-%u", w.self->node, w.slot);
    env_number(&e, "HOROVOD_RANK", w.rank);
    env_number(&e, "HOROVOD_SIZE", w.size);
    env_number(&e, "HOROVOD_LOCAL_RANK", w.local_rank);
    env_number(&e, "HOROVOD_LOCAL_SIZE", w.local_size);
    env_number(&e, "HOROVOD_CROSS_RANK", w.slot);
    env_number(&e, "HOROVOD_CROSS_SIZE", w.slots);
    env_text(&e, "HOROVOD_CONTROLLER", "gloo");
    env_text(&e, "HOROVOD_CPU_OPERATIONS", "gloo");
    env_text(&e, "HOROVOD_GLOO_RENDEZVOUS_ADDR", t->server_host ? t->server_host : "");
    env_number(&e, "HOROVOD_GLOO_RENDEZVOUS_PORT", t->server_port);
    /* Without an interface gloo takes the one that the machine's name leads to, which for a job on
     * one machine may be any. */
    if (str_starts(w.self->host, "127.") && !task_said(t, "HOROVOD_GLOO_IFACE"))
        env_text(&e, "HOROVOD_GLOO_IFACE", "lo");
    return env_end(&e, err);
}

const struct framework framework_horovod = {
    .name = "horovod",
    .summary = "Horovod over gloo, without horovodrun, ssh or MPI",
    .doc = "The master runs the key-value server that gloo needs. Workers (-n, with --procs one "
           "process for each GPU) get HOROVOD_RANK, HOROVOD_SIZE, their local and cross ranks (a "
           "container is "
           "a host), HOROVOD_GLOO_RENDEZVOUS_ADDR and _PORT. If machines have several networks, "
           "set HOROVOD_GLOO_IFACE. The job succeeds when all workers succeed; a restart restarts "
           "all of them.",
    .aliases = (const char *const[]){ "hvd", NULL },
    .proven = true,
    .roles = task_workers,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_RELEASE,
    .servers = FRAMEWORK_HOROVOD,
    .task = horovod_task,
};
