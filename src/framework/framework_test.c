/* framework_test.c - claims about each framework: the exact environment and command of its tasks.
 */
#include "framework/framework_testing.h"
#include "test.h"

#include <string.h>

/* ---- finding one ---- */

static void a_framework_has_one_name_and_answers_to_its_aliases(void **state)
{
    /* clang-format off */
    static const struct { const char *said, *name; } rows[] = {
        { NULL, "none" }, { "none", "none" }, { "torch", "pytorch" }, { "tf", "tensorflow" },
        { "tf1", "tensorflow-flags" }, { "mx", "mxnet" }, { "lgbm", "lightgbm" },
        { "xgb", "xgboost" }, { "hvd", "horovod" }, { "ds", "deepspeed" }, { "pmi", "mpi" },
        { "dmlc", "rabit" }, { "dask", "dask" }, { "ray", "ray" }, { "jax", "jax" },
    };
    /* clang-format on */
    const struct framework *fw = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(framework_find(rows[i].said, &fw, NULL), 0);
        assert_string_equal(fw->name, rows[i].name);
    }
}

static void a_misspelt_framework_is_told_the_nearest(void **state)
{
    /* clang-format off */
    static const struct { const char *said, *text; } rows[] = {
        { "pytroch", "unknown framework 'pytroch'; did you mean 'pytorch'?" },
        { "tensorflwo", "unknown framework 'tensorflwo'; did you mean 'tensorflow'?" },
        { "cobol", "unknown framework 'cobol'" },
    };
    /* clang-format on */
    const struct framework *fw = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(framework_find(rows[i].said, &fw, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].text);
        assert_non_null(strstr(err.hint, "none"));
    }
}

static void no_name_or_alias_means_two_frameworks(void **state)
{
    const struct framework *fw = NULL;

    (void)state;
    for (size_t i = 0; framework_table[i]; i++) {
        const struct framework *one = framework_table[i];

        assert_int_equal(framework_find(one->name, &fw, NULL), 0);
        assert_ptr_equal(fw, one);
        for (const char *const *a = one->aliases; a && *a; a++) {
            assert_int_equal(framework_find(*a, &fw, NULL), 0);
            assert_ptr_equal(fw, one);
        }
    }
}

static void the_table_is_complete_and_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; framework_table[i]; i++) {
        const struct framework *fw = framework_table[i];

        assert_true(i == 0 || strcmp(framework_table[i - 1]->name, fw->name) < 0);
        assert_non_null(fw->summary);
        assert_non_null(fw->doc);
        assert_int_not_equal(fw->restart, SPEC_RESTART_DEFAULT);
        assert_non_null(framework_role(fw, FRAMEWORK_WORKER));
        assert_true(framework_role(fw, FRAMEWORK_WORKER)->ranked);
        assert_true(!fw->server_role || framework_role(fw, fw->server_role));
        for (const struct framework_role *r = fw->roles; r->name; r++) {
            assert_non_null(r->doc);
            assert_true(!r->after || framework_role(fw, r->after)->ports > 0);
            assert_false(r->decides && r->side);
        }
    }
}

/* ---- what tasks get ---- */

struct row {
    const char *job, *role;
    unsigned rank;
    const char *command, *env; /* NULL: not looked at */
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_JOB j = { 0 };
        AUTO_FREE char *env = NULL, *command = NULL;

        job_plan(&j, rows[i].job);
        env = job_env(&j, rows[i].role, rows[i].rank, false);
        command = job_command(&j, rows[i].role, rows[i].rank);
        if (rows[i].env)
            assert_string_equal(env, rows[i].env);
        if (rows[i].command)
            assert_string_equal(command, rows[i].command);
    }
}

#define MX "framework: mxnet\ncommand: python t.py\n"

static void ps_lite_nodes_know_their_part_and_the_scheduler(void **state)
{
    static const struct row rows[] = {
        { MX "#! workers 2\n#! servers 1\n", "worker", 1, "python t.py",
          "DMLC_NODE_HOST=127.0.0.1\nDMLC_NUM_ATTEMPT=0\nDMLC_NUM_SERVER=1\nDMLC_NUM_WORKER=2\n"
          "DMLC_PS_ROOT_PORT=10000\nDMLC_PS_ROOT_URI=127.0.0.1\nDMLC_ROLE=worker\n"
          "DMLC_TASK_ID=1\nDMLC_WORKER_ID=1" },
        { MX "#! workers 2\n#! servers 1\n", "server", 0, "python t.py",
          "DMLC_NODE_HOST=127.0.0.1\nDMLC_NUM_ATTEMPT=0\nDMLC_NUM_SERVER=1\nDMLC_NUM_WORKER=2\n"
          "DMLC_PS_ROOT_PORT=10000\nDMLC_PS_ROOT_URI=127.0.0.1\nDMLC_ROLE=server\n"
          "DMLC_SERVER_ID=0\nDMLC_TASK_ID=0" },
        { MX "#! workers 2\n#! servers 1\n", "scheduler", 0,
          "ydl-native mxnet --fallback -- python t.py",
          "DMLC_NODE_HOST=127.0.0.1\nDMLC_NUM_ATTEMPT=0\nDMLC_NUM_SERVER=1\nDMLC_NUM_WORKER=2\n"
          "DMLC_PS_ROOT_PORT=10000\nDMLC_PS_ROOT_URI=127.0.0.1\nDMLC_ROLE=scheduler\n"
          "DMLC_TASK_ID=0" },
        { MX "#! workers 1\n#! servers 0\n", "worker", 0, "python t.py",
          "DMLC_NODE_HOST=127.0.0.1\nDMLC_NUM_ATTEMPT=0\nDMLC_NUM_SERVER=0\nDMLC_NUM_WORKER=1\n"
          "DMLC_ROLE=worker\nDMLC_TASK_ID=0\nDMLC_WORKER_ID=0" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

/* ---- roles without Python ---- */

static void ydl_native_plays_what_native_says(void **state)
{
#define MXC "framework: mxnet\n#! workers 2\n#! servers 1\n"
#define TFC "framework: tensorflow\n"
#define CLIENT "roles: {ps: 1, worker: 2, client: {command: \"python c.py --ps {hosts:ps}\"}}\n"
#define N "ydl-native "
    /* clang-format off */
    static const struct row rows[] = {
        /* auto: a scheduler beside Python, and nothing that may be sent a pickle */
        { MXC "command: python t.py\n", "server", 0, "python t.py", NULL },
        { MXC "command: ./t.py a\n", "scheduler", 0, N "mxnet --fallback -- ./t.py a", NULL },
        { MXC "command: ./train a\n", "scheduler", 0, "./train a", NULL },
        { MXC "command: python t.py\nimage: i\n", "scheduler", 0, "python t.py", NULL },
        { MXC "command: python t.py\nroles: {scheduler: {command: x}}\n", "scheduler", 0, "x", NULL },
        /* where nothing else could play it */
        { MXC "roles: {worker: {command: ./train}}\n", "scheduler", 0, N "mxnet -- ./train", NULL },
        { MXC "roles: {worker: {command: ./train}}\n", "server", 0, N "mxnet -- ./train", NULL },
        { MXC "native: no\ncommand: python t.py\n", "scheduler", 0, "python t.py", NULL },
        { MXC "native: yes\ncommand: ./train\n", "scheduler", 0, N "mxnet -- ./train", NULL },
        { MXC "native: yes\ncommand: python t.py\n", "server", 0, N "mxnet -- python t.py", NULL },
        { MXC "native: yes\ncommand: python t.py\n", "worker", 0, "python t.py", NULL },
        /* TensorFlow: whoever is nothing but a server */
        { TFC "command: python t.py\n#! workers 2\n#! servers 1\n", "ps", 0, "python t.py", NULL },
        { TFC "native: yes\ncommand: python t.py\n#! workers 2\n#! servers 1\n", "ps", 0,
          N "tensorflow -- python t.py", NULL },
        { TFC "native: yes\ncommand: python t.py\n#! workers 2\n#! servers 1\n", "worker", 0,
          "python t.py", NULL },
        { TFC "native: yes\ncommand: python t.py\nroles: {chief: 1, ps: 1, worker: {cpus: 2}}\n",
          "worker", 0, N "tensorflow --intra-op=2 -- python t.py", NULL },
        { TFC "native: yes\ncommand: python t.py\nroles: {chief: 1, ps: 1, worker: 1}\n", "chief", 0,
          "python t.py", NULL },
        { TFC CLIENT, "worker", 1, N "tensorflow -- python c.py --ps 127.0.0.1:10000", NULL },
        { TFC CLIENT, "ps", 0, N "tensorflow -- python c.py --ps 127.0.0.1:10000", NULL },
        { TFC CLIENT, "client", 0, "python c.py --ps 127.0.0.1:10000", "" },
        { "framework: tf1\nnative: yes\ncommand: python t.py\n#! workers 1\n#! servers 1\n", "ps", 0,
          N "tensorflow --job-name ps --task-index 0 --job ps=127.0.0.1:10000 --job "
          "worker=127.0.0.1:10001 -- python t.py", NULL },
    };
    /* clang-format on */
    AUTO_JOB j = { 0 };

    (void)state;
    check(rows, COUNT_OF(rows));
    assert_int_equal(job_read(&j, NULL, "framework: pytorch\nnative: yes\ncommand: a\n"), -EINVAL);
    assert_string_equal(job_faults(&j), "native: framework 'pytorch' has no native servers");
}

/* MXNet 1.9.1 can take the first gradient for a weight when workers update their weights themselves
 * (doc/reference/native.md): a script has to know, so nobody is brought there by a switch of ours.
 */
static void native_servers_do_not_change_who_updates_the_weights(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_FREE char *env = NULL;

    (void)state;
    job_plan(&j, MXC "native: yes\ncommand: python t.py\n");
    env = job_env(&j, "worker", 0, false);
    assert_null(strstr(env, "MXNET_UPDATE_ON_KVSTORE"));
}

static void clients_wait_for_servers_and_decide(void **state)
{
    AUTO_JOB j = { 0 };
    const struct spec_role *client, *worker;

    (void)state;
    job_plan(&j, TFC CLIENT);
    client = spec_role(&j.spec, "client");
    worker = spec_role(&j.spec, "worker");
    assert_int_equal(client->decides, 1);
    assert_int_equal(worker->decides, 0);
    assert_int_equal(worker->ready.kind, SPEC_READY_PORT);
    assert_int_equal(client->after.n, 2);
    assert_string_equal(client->after.v[1].role, "worker");
}

#define TF "framework: tensorflow\ncommand: python t.py\nroles: "

static void tf_config_lists_every_role_but_the_evaluator(void **state)
{
    static const struct row rows[] = {
        { TF "{worker: 2}", "worker", 1, "python t.py",
          "TF_CONFIG={\"cluster\":{\"worker\":[\"127.0.0.1:10000\",\"127.0.0.1:10001\"]},"
          "\"task\":{\"type\":\"worker\",\"index\":1}}" },
        { TF "{worker: 1, ps: 1, chief: 1, evaluator: 1}", "ps", 0, NULL,
          "TF_CONFIG={\"cluster\":{\"chief\":[\"127.0.0.1:10002\"],\"worker\":[\"127.0.0.1:10000\"]"
          ",\"ps\":[\"127.0.0.1:10001\"]},\"task\":{\"type\":\"ps\",\"index\":0}}" },
        { TF "{worker: 1, ps: 1, chief: 1, evaluator: 1}", "evaluator", 0, NULL,
          "TF_CONFIG={\"cluster\":{\"chief\":[\"127.0.0.1:10002\"],\"worker\":[\"127.0.0.1:10000\"]"
          ",\"ps\":[\"127.0.0.1:10001\"]},\"task\":{\"type\":\"evaluator\",\"index\":0}}" },
        { TF "{worker: 1, helper: 1}", "helper", 0, NULL, "" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

static void every_rank_gets_the_same_tf_config_but_its_task(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_FREE char *first = NULL;
    size_t same;

    (void)state;
    job_plan(&j, TF "{chief: 1, worker: 30, ps: 3}");
    first = job_env(&j, "chief", 0, false);
    same = (size_t)(strstr(first, "\"task\":") - first);
    for (size_t i = 0; i < j.spec.n_roles; i++)
        for (unsigned rank = 0; rank < j.spec.roles[i].count; rank++) {
            AUTO_FREE char *other = job_env(&j, j.spec.roles[i].name, rank, false);

            assert_memory_equal(other, first, same);
        }
}

static void old_tensorflow_scripts_get_four_arguments(void **state)
{
    static const struct row rows[] = {
        { "framework: tf1\ncommand: python t.py --steps 5\n#! workers 2\n#! servers 1\n", "worker",
          1,
          "python t.py --steps 5 --ps_hosts=127.0.0.1:10000 "
          "--worker_hosts=127.0.0.1:10001,127.0.0.1:10002 --job_name=worker --task_index=1",
          "" },
        { "framework: tf1\ncommand: python t.py\n#! workers 1\n", "worker", 0,
          "python t.py --worker_hosts=127.0.0.1:10000 --job_name=worker --task_index=0", "" },
        { "framework: tf1\ncommand: python t.py\nroles: {worker: 1, board: 1}", "board", 0,
          "python t.py", "" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

#define PT "framework: pytorch\ncommand: python t.py\n"

static void torch_gets_what_torchrun_would_set(void **state)
{
    static const struct row rows[] = {
        { PT "#! workers 2\n#! procs 2\n#! max-restarts 4\n", "worker", 3, "python t.py",
          "GROUP_RANK=1\nGROUP_WORLD_SIZE=2\nINIT_METHOD=tcp://127.0.0.1:10000\nLOCAL_RANK=1\n"
          "LOCAL_WORLD_SIZE=2\nMASTER_ADDR=127.0.0.1\nMASTER_PORT=10000\nOMP_NUM_THREADS=1\nRANK="
          "3\n"
          "ROLE_NAME=worker\nROLE_RANK=3\nROLE_WORLD_SIZE=4\nTORCHELASTIC_MAX_RESTARTS=4\n"
          "TORCHELASTIC_RESTART_COUNT=0\nTORCHELASTIC_RUN_ID=local-1\n"
          "TORCHELASTIC_USE_AGENT_STORE=False\nTORCH_NCCL_ASYNC_ERROR_HANDLING=1\nWORLD=4\n"
          "WORLD_SIZE=4" },
        { PT "roles: {worker: 2, master: 1, log: 1}", "worker", 0, NULL,
          "GROUP_RANK=1\nGROUP_WORLD_SIZE=3\nINIT_METHOD=tcp://127.0.0.1:10002\nLOCAL_RANK=0\n"
          "LOCAL_WORLD_SIZE=1\nMASTER_ADDR=127.0.0.1\nMASTER_PORT=10002\nOMP_NUM_THREADS=1\nRANK="
          "1\n"
          "ROLE_NAME=worker\nROLE_RANK=0\nROLE_WORLD_SIZE=2\nTORCHELASTIC_MAX_RESTARTS=0\n"
          "TORCHELASTIC_RESTART_COUNT=0\nTORCHELASTIC_RUN_ID=local-1\n"
          "TORCHELASTIC_USE_AGENT_STORE=False\nTORCH_NCCL_ASYNC_ERROR_HANDLING=1\nWORLD=3\n"
          "WORLD_SIZE=3" },
        { PT "roles: {worker: 2, master: 1, log: 1}", "log", 0, NULL, "" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

static void deepspeed_gets_torchs_variables_and_three_more(void **state)
{
    static const struct row rows[] = {
        { "framework: deepspeed\ncommand: python t.py\n#! workers 2\n", "worker", 1, "python t.py",
          "CROSS_RANK=1\nCROSS_SIZE=2\nGROUP_RANK=1\nGROUP_WORLD_SIZE=2\n"
          "INIT_METHOD=tcp://127.0.0.1:10000\nLOCAL_RANK=0\nLOCAL_SIZE=1\nLOCAL_WORLD_SIZE=1\n"
          "MASTER_ADDR=127.0.0.1\nMASTER_PORT=10000\nOMP_NUM_THREADS=1\nRANK=1\n"
          "ROLE_NAME=worker\nROLE_RANK=1\nROLE_WORLD_SIZE=2\nTORCHELASTIC_MAX_RESTARTS=0\n"
          "TORCHELASTIC_RESTART_COUNT=0\nTORCHELASTIC_RUN_ID=local-1\n"
          "TORCHELASTIC_USE_AGENT_STORE=False\nTORCH_NCCL_ASYNC_ERROR_HANDLING=1\nWORLD=2\n"
          "WORLD_SIZE=2" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

static void trackers_are_the_masters_and_ids_sort_like_ranks(void **state)
{
    static const struct row rows[] = {
        { "framework: xgboost\ncommand: t\n#! workers 11\n", "worker", 7, "t",
          "DMLC_NODE_HOST=127.0.0.1\nDMLC_NUM_ATTEMPT=0\nDMLC_NUM_SERVER=0\nDMLC_NUM_WORKER="
          "11\nDMLC_ROLE=worker\n"
          "DMLC_TASK_ID=07\nDMLC_TRACKER_PORT=10000\nDMLC_TRACKER_URI=127.0.0.1" },
        { "framework: xgboost\ncommand: t\n#! workers 10\n", "worker", 7, "t",
          "DMLC_NODE_HOST=127.0.0.1\nDMLC_NUM_ATTEMPT=0\nDMLC_NUM_SERVER=0\nDMLC_NUM_WORKER="
          "10\nDMLC_ROLE=worker\n"
          "DMLC_TASK_ID=7\nDMLC_TRACKER_PORT=10000\nDMLC_TRACKER_URI=127.0.0.1" },
        { "framework: xgboost\ncommand: t\n#! workers 101\n", "worker", 100, "t",
          "DMLC_NODE_HOST=127.0.0.1\nDMLC_NUM_ATTEMPT=0\nDMLC_NUM_SERVER=0\nDMLC_NUM_WORKER="
          "101\nDMLC_ROLE=worker\n"
          "DMLC_TASK_ID=100\nDMLC_TRACKER_PORT=10000\nDMLC_TRACKER_URI=127.0.0.1" },
        { "framework: rabit\ncommand: t\n#! workers 11\n", "worker", 7, "t",
          "DMLC_NODE_HOST=127.0.0.1\nDMLC_NUM_ATTEMPT=0\nDMLC_NUM_SERVER=0\nDMLC_NUM_WORKER="
          "11\nDMLC_ROLE=worker\n"
          "DMLC_TASK_ID=7\nDMLC_TRACKER_PORT=10000\nDMLC_TRACKER_URI=127.0.0.1" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

static void horovod_takes_a_container_for_a_host(void **state)
{
    static const struct row rows[] = {
        { "framework: horovod\ncommand: t\nnodes: 1\n#! workers 2\n#! procs 2\n", "worker", 3, "t",
          "HOROVOD_CONTROLLER=gloo\nHOROVOD_CPU_OPERATIONS=gloo\nHOROVOD_CROSS_RANK=1\n"
          "HOROVOD_CROSS_SIZE=2\nHOROVOD_GLOO_IFACE=lo\nHOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1\n"
          "HOROVOD_GLOO_RENDEZVOUS_PORT=10000\nHOROVOD_HOSTNAME=node0-1\nHOROVOD_LOCAL_RANK=1\n"
          "HOROVOD_LOCAL_SIZE=2\nHOROVOD_RANK=3\nHOROVOD_SIZE=4" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

#define MPI(local)                                                                                 \
    "OMPI_COMM_WORLD_LOCAL_RANK=" #local "\nOMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=2\n"      \
    "OMPI_MCA_orte_hnp_uri=0.0;tcp://127.0.0.1:10000"

static void jax_processes_know_the_coordinator_and_their_gpus(void **state)
{
    static const struct row rows[] = {
        { "framework: jax\ncommand: t\n#! workers 2\n", "worker", 1, "t",
          "JAX_COORDINATOR_ADDRESS=127.0.0.1:10000\nJAX_NUM_PROCESSES=2\nJAX_PROCESS_ID=1\n" MPI(
              0) },
        { "framework: jax\ncommand: t\nroles: {worker: {procs: 2, gpus: 2}}", "worker", 1, "t",
          "JAX_COORDINATOR_ADDRESS=127.0.0.1:10000\nJAX_LOCAL_DEVICE_IDS=1\n"
          "JAX_NUM_PROCESSES=2\nJAX_PROCESS_ID=1\n" MPI(1) },
        { "framework: jax\ncommand: t\nroles: {worker: {procs: 2, gpus: 4}}", "worker", 1, "t",
          "JAX_COORDINATOR_ADDRESS=127.0.0.1:10000\nJAX_LOCAL_DEVICE_IDS=2,3\n"
          "JAX_NUM_PROCESSES=2\nJAX_PROCESS_ID=1" },
        { "framework: jax\ncommand: t\nroles: {worker: {procs: 2, gpus: 3}}", "worker", 1, "t",
          "JAX_COORDINATOR_ADDRESS=127.0.0.1:10000\nJAX_NUM_PROCESSES=2\nJAX_PROCESS_ID=1" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

#define LG_ENV                                                                                     \
    "LIGHTGBM_LOCAL_LISTEN_PORT=10001\nLIGHTGBM_MACHINES=127.0.0.1:10000,127.0.0.1:10001\n"        \
    "LIGHTGBM_NUM_MACHINES=2"

static void only_the_lightgbm_program_gets_arguments(void **state)
{
    static const struct row rows[] = {
        { "framework: lightgbm\ncommand: python t.py\n#! workers 2\n", "worker", 1, "python t.py",
          LG_ENV },
        { "framework: lightgbm\ncommand: /opt/lightgbm config=a.conf\n#! workers 2\n", "worker", 1,
          "/opt/lightgbm config=a.conf machines=127.0.0.1:10000,127.0.0.1:10001 num_machines=2 "
          "local_listen_port=10001",
          LG_ENV },
        { "framework: lightgbm\ncommand: lightgbm num_machines=9 local_listen_port={port}\n"
          "#! workers 2\n",
          "worker", 1,
          "lightgbm num_machines=9 local_listen_port=10001 "
          "machines=127.0.0.1:10000,127.0.0.1:10001",
          LG_ENV },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

static void mpi_ranks_have_the_names_of_every_mpi(void **state)
{
    static const struct row rows[] = {
        { "framework: mpi\ncommand: ./hello\n#! workers 2\n#! procs 2\n", "worker", 2, "./hello",
          "MPI_LOCALNRANKS=2\nMPI_LOCALRANKID=0\nMV2_COMM_WORLD_LOCAL_RANK=0\n"
          "MV2_COMM_WORLD_LOCAL_SIZE=2\nMV2_COMM_WORLD_RANK=2\nMV2_COMM_WORLD_SIZE=4\n"
          "OMPI_COMM_WORLD_LOCAL_RANK=0\nOMPI_COMM_WORLD_LOCAL_SIZE=2\n"
          "OMPI_COMM_WORLD_NODE_RANK=0\nOMPI_COMM_WORLD_RANK=2\nOMPI_COMM_WORLD_SIZE=4\n"
          "PMI_RANK=2\nPMI_SIZE=4\nPMI_SPAWNED=0" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

#define DASK "framework: dask\ncommand: python t.py\n#! workers 2\n"
#define RAY "framework: ray\ncommand: python t.py\n#! workers 2\n"

static void dask_and_ray_run_their_own_programs_around_the_users(void **state)
{
    static const struct row rows[] = {
        { DASK, "scheduler", 0,
          "dask scheduler --host 127.0.0.1 --port 10000 --dashboard-address :0",
          "DASK_SCHEDULER_ADDRESS=tcp://127.0.0.1:10000" },
        { DASK "#! mem 2g\n#! cpus 4\n#! gpus 1\n", "worker", 1,
          "dask worker tcp://127.0.0.1:10000 --host 127.0.0.1 --name worker-1 --death-timeout 60 "
          "--nthreads=4 --memory-limit=2147483648 --resources=GPU=1",
          "DASK_SCHEDULER_ADDRESS=tcp://127.0.0.1:10000" },
        { DASK, "client", 0, "python t.py", "DASK_SCHEDULER_ADDRESS=tcp://127.0.0.1:10000" },
        { RAY, "head", 0, "ray start --head --node-ip-address=127.0.0.1 --port=10000 --block", "" },
        { RAY "#! mem 1g\n#! cpus 4\n#! gpus 1\n", "worker", 0,
          "ray start --address=127.0.0.1:10000 --node-ip-address=127.0.0.1 --block --num-cpus=4 "
          "--num-gpus=1 --object-store-memory=322122546 --memory=751619278",
          "" },
        { RAY, "client", 0, "python t.py", "RAY_ADDRESS=127.0.0.1:10000" },
    };

    (void)state;
    check(rows, COUNT_OF(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_framework_has_one_name_and_answers_to_its_aliases),
        cmocka_unit_test(a_misspelt_framework_is_told_the_nearest),
        cmocka_unit_test(no_name_or_alias_means_two_frameworks),
        cmocka_unit_test(the_table_is_complete_and_in_order),
        cmocka_unit_test(ps_lite_nodes_know_their_part_and_the_scheduler),
        cmocka_unit_test(ydl_native_plays_what_native_says),
        cmocka_unit_test(native_servers_do_not_change_who_updates_the_weights),
        cmocka_unit_test(clients_wait_for_servers_and_decide),
        cmocka_unit_test(tf_config_lists_every_role_but_the_evaluator),
        cmocka_unit_test(every_rank_gets_the_same_tf_config_but_its_task),
        cmocka_unit_test(old_tensorflow_scripts_get_four_arguments),
        cmocka_unit_test(torch_gets_what_torchrun_would_set),
        cmocka_unit_test(deepspeed_gets_torchs_variables_and_three_more),
        cmocka_unit_test(trackers_are_the_masters_and_ids_sort_like_ranks),
        cmocka_unit_test(horovod_takes_a_container_for_a_host),
        cmocka_unit_test(jax_processes_know_the_coordinator_and_their_gpus),
        cmocka_unit_test(only_the_lightgbm_program_gets_arguments),
        cmocka_unit_test(mpi_ranks_have_the_names_of_every_mpi),
        cmocka_unit_test(dask_and_ray_run_their_own_programs_around_the_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
