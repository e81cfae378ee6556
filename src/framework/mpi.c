/* mpi.c - MPI programs started directly, without mpirun and ssh, by the PMI-1 protocol.
 *
 * The agent makes the descriptor that PMI_FD names. The other variables are those that scripts and
 * frameworks look at to learn their rank, whichever MPI they were written for. */
#include "framework/frameworks.h"
#include "framework/task.h"

static const struct framework_role roles[] = {
    { .name = "worker",
      .decides = true,
      .ranked = true,
      .doc = "one MPI rank, or --procs of them" },
    { 0 },
};

static int mpi_task(const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);
    struct world w;

    if (!world_of(t, &w))
        return 0;
    env_number(&e, "PMI_RANK", w.rank);
    env_number(&e, "PMI_SIZE", w.size);
    env_number(&e, "PMI_SPAWNED", 0);
    env_number(&e, "OMPI_COMM_WORLD_RANK", w.rank);
    env_number(&e, "OMPI_COMM_WORLD_SIZE", w.size);
    env_number(&e, "OMPI_COMM_WORLD_LOCAL_RANK", w.local_rank);
    env_number(&e, "OMPI_COMM_WORLD_LOCAL_SIZE", w.local_size);
    env_number(&e, "OMPI_COMM_WORLD_NODE_RANK", w.local_rank);
    env_number(&e, "MV2_COMM_WORLD_RANK", w.rank);
    env_number(&e, "MV2_COMM_WORLD_SIZE", w.size);
    env_number(&e, "MV2_COMM_WORLD_LOCAL_RANK", w.local_rank);
    env_number(&e, "MV2_COMM_WORLD_LOCAL_SIZE", w.local_size);
    env_number(&e, "MPI_LOCALRANKID", w.local_rank);
    env_number(&e, "MPI_LOCALNRANKS", w.local_size);
    return env_end(&e, err);
}

const struct framework framework_mpi = {
    .name = "mpi",
    .summary = "MPI programs (MPICH, MVAPICH, Intel MPI) by PMI-1, without mpirun",
    .doc = "The command is the MPI program itself, not mpirun. Workers (-n, with --procs several "
           "in a container) get PMI_FD, PMI_RANK and PMI_SIZE, and the rank variables of Open MPI, "
           "MVAPICH and Intel MPI for scripts that look at them. Open MPI's own library needs "
           "PMIx, which is not supported. The job succeeds when all workers succeed; MPI_Abort "
           "ends the job with the code it is given. A restart restarts all workers.",
    .aliases = (const char *const[]){ "pmi", "mpich", NULL },
    .proven = true,
    .roles = roles,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_RELEASE,
    .servers = FRAMEWORK_PMI,
    .task = mpi_task,
};
