/* dmlc_test.c - see dmlc.c, dmlc_submit.c and mxnet_launch.c */
#include "cmd/front/front_testing.h"
#include "cmd/front/fronts.h"

#define JOB "examples/dmlc/imagenet.py" /* a script has to be there */
#define SIZES(n) "--role worker=" n ",memory=1024m,cpus=1 "
#define OLD_ENV                                                                                    \
    "--env DMLC_CPU_VCORES=1 --env DMLC_MEMORY_MB=1024 --env DMLC_MAX_ATTEMPT=3 --env "            \
    "DMLC_HDFS_OPTS=-Xmx128m --env LIBHDFS_OPTS=-Xmx128m --env PYTHONPATH=. "
#define NEW_ENV                                                                                    \
    "--env DMLC_WORKER_CORES=1 --env DMLC_SERVER_CORES=1 --env DMLC_WORKER_MEMORY_MB=1024 --env "  \
    "DMLC_SERVER_MEMORY_MB=1024 "

static void the_texts_line_works_as_written(void **state)
{
    static const struct front_row row = {
        "-hip 192.168.1.1 -n 1 -s 1 --yarn-scripts xxx/mxnet/dmlc-core/yarn/ python " JOB,
        "run --on yarn --framework mxnet " SIZES(
            "1") "--role server=1,memory=1024m,cpus=1 --role scheduler=1,place=client "
                 "--client-address 192.168.1.1 --avoid all --max-restarts 2 --env "
                 "DMLC_JOB_CLUSTER=yarn " OLD_ENV
                 "--name DMLC[nworker=1,nsever=1]:python -- python " JOB,
        "--yarn-scripts has no effect: ydl does not use Java"
    };

    (void)state;
    front_check(&front_dmlc, &row);
}

static const char *const passing[] = { "PATH=/usr/bin:/bin", "DMLC_MAX_ATTEMPT=1",
                                       "DMLC_TRACKER_URI=old", "PS_VERBOSE=1", NULL };

static void all_options_of_dmlc_yarn_have_their_effect(void **state)
{
    static const struct front_row rows[] = {
        { "-n 4 --name-node default ./prog a b",
          "run --on yarn --framework rabit " SIZES(
              "4") "--avoid all --max-restarts 2 --env "
                   "DMLC_JOB_CLUSTER=yarn " OLD_ENV "--name DMLC[nworker=4]:prog -- ./prog a b" },
        { "-n 1 --tracker xgboost --jobname j -q prod --on local python x.py",
          "run --queue prod --on local --framework xgboost --role worker=1 --env "
          "DMLC_JOB_CLUSTER=local --env DMLC_CPU_VCORES=1 --env DMLC_MEMORY_MB=1024 --env "
          "DMLC_MAX_ATTEMPT=1 --env DMLC_HDFS_OPTS=-Xmx128m --env LIBHDFS_OPTS=-Xmx128m --name j "
          "-- python x.py" },
        { "-n 1 -mem 2048 --vcores 2 -ac 0 --max-attempts 1 --libhdfs-opts -Xmx1g p", NULL,
          "option '--libhdfs-opts' needs a value (TEXT)" },
        { "-n 1 -mem 2048 --vcores 2 -ac 0 --max-attempts 1 --libhdfs-opts=-Xmx1g p",
          "run --on yarn --framework rabit --role worker=1,memory=2048m,cpus=2 --avoid all --env "
          "DMLC_JOB_CLUSTER=yarn --env DMLC_CPU_VCORES=2 --env DMLC_MEMORY_MB=2048 --env "
          "DMLC_MAX_ATTEMPT=1 --env DMLC_HDFS_OPTS=-Xmx1g --env LIBHDFS_OPTS=-Xmx1g --env "
          "PYTHONPATH=. --name DMLC[nworker=1]:p --no-ship -- p" },
        { "-n 1 -f README.md#VERSION -f LICENSE --tempdir /d --log-level DEBUG p",
          "run --on yarn --framework rabit " SIZES(
              "1") "--avoid all --max-restarts 2 --env "
                   "DMLC_JOB_CLUSTER=yarn " OLD_ENV
                   "--name DMLC[nworker=1]:p --files README.md --files "
                   "VERSION --files LICENSE --staging /d --verbose -- p" },
        { "-n 1 p -n 2 --lr 3",
          "run --on yarn --framework rabit " SIZES("2") "--avoid all --max-restarts 2 --env "
                                                        "DMLC_JOB_CLUSTER=yarn " OLD_ENV
                                                        "--name DMLC[nworker=2]:p -- p --lr 3",
          "put -- before the command" },
        { "-n 1 --env A=1 --env LIBHDFS_OPTS=x /etc/passwd /usr/bin/env",
          "run --env A=1 --env LIBHDFS_OPTS=x --on yarn --framework rabit " SIZES(
              "1") "--avoid all --max-restarts 2 --env DMLC_JOB_CLUSTER=yarn --env "
                   "DMLC_CPU_VCORES=1 --env "
                   "DMLC_MEMORY_MB=1024 --env DMLC_MAX_ATTEMPT=3 --env DMLC_HDFS_OPTS=-Xmx128m "
                   "--env "
                   "PYTHONPATH=. --name DMLC[nworker=1]:passwd --files /etc/passwd --files "
                   "/usr/bin/env -- "
                   "./passwd ./env" },
        { "-n 1 /usr/bin/env x",
          "run --on yarn --framework rabit " SIZES(
              "1") "--avoid all --env DMLC_JOB_CLUSTER=yarn "
                   "--env DMLC_MAX_ATTEMPT=1 --env DMLC_CPU_VCORES=1 --env DMLC_MEMORY_MB=1024 "
                   "--env "
                   "DMLC_MAX_ATTEMPT=1 --env DMLC_HDFS_OPTS=-Xmx128m --env LIBHDFS_OPTS=-Xmx128m "
                   "--env "
                   "PYTHONPATH=. --name DMLC[nworker=1]:env -- /usr/bin/env x",
          NULL, passing },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_dmlc, &rows[i]);
}

static void dmlc_submit_has_its_own_defaults(void **state)
{
    static const struct front_row rows[] = {
        { "--cluster yarn --num-workers 2 --num-servers 1 python " JOB " --lr 1",
          "run --on yarn --framework mxnet --role worker=2,memory=1g,cpus=1 --role "
          "server=1,memory=1g,cpus=1 --role scheduler=1,place=client --avoid all --max-restarts 2 "
          "--env DMLC_JOB_CLUSTER=yarn " NEW_ENV "--env PYTHONPATH=. --name "
          "DMLC[nworker=2,nsever=1]:python -- python " JOB " --lr 1" },
        { "--cluster local --num-w 2 --local-num-attempt 1 p",
          "run --on local --framework rabit --role worker=2 --max-restarts 1 --env "
          "DMLC_JOB_CLUSTER=local " NEW_ENV "--name DMLC[nworker=2]:p -- p" },
        { "--cluster local --num-workers 1 VERSION LICENSE",
          "run --on local --framework rabit --role worker=1 --env DMLC_JOB_CLUSTER=local " NEW_ENV
          "--name DMLC[nworker=1]:VERSION -- ./VERSION LICENSE" },
        { "--cluster yarn --num-workers 1 VERSION",
          "run --on yarn --framework rabit --role worker=1,memory=1g,cpus=1 --avoid all "
          "--max-restarts 2 --env DMLC_JOB_CLUSTER=yarn " NEW_ENV
          "--env PYTHONPATH=. --name DMLC[nworker=1]:VERSION -- ./VERSION" },
        { "--cluster yarn --num-workers 1 --auto-file-cache= VERSION",
          "run --on yarn --framework rabit --role worker=1,memory=1g,cpus=1 --avoid all "
          "--max-restarts 2 --env DMLC_JOB_CLUSTER=yarn " NEW_ENV
          "--env PYTHONPATH=. --name DMLC[nworker=1]:VERSION --no-ship -- VERSION" },
        { "--cluster local --num-workers 1 a..b/c..d~\xc3\xa9.py",
          "run --on local --framework rabit --role worker=1 --env DMLC_JOB_CLUSTER=local " NEW_ENV
          "--name DMLC[nworker=1]:c.d-py -- a..b/c..d \xc3\xa9.py" },
        { "--cluster local --num-workers 1 --worker-memory 1.5G --worker-cores 2 --archives a.zip "
          "p",
          "run --on local --framework rabit --role worker=1,memory=1.5G,cpus=2 --env "
          "DMLC_JOB_CLUSTER=local --env DMLC_WORKER_CORES=2 --env DMLC_SERVER_CORES=1 --env "
          "DMLC_WORKER_MEMORY_MB=1536 --env DMLC_SERVER_MEMORY_MB=1024 --name DMLC[nworker=1]:p -- "
          "p",
          "--archives has no effect" },
        { "--num-workers 1 p", NULL,
          "--cluster is missing: use --cluster yarn or --cluster local" },
        { "--cluster mpi --num-workers 1 p", NULL,
          "'mpi' is not supported: ydl runs on yarn or local" },
        { "--cluster moon --num-workers 1 p", NULL,
          "option '--cluster': 'moon' is not one of yarn, slurm, mpi, sge, local, ssh, mesos, "
          "kubernetes" },
        { "--cluster yarn --num-workers 1 --worker-memory 12 p", NULL,
          "option '--worker-memory': '12' is not a size such as 1g or 512m" },
        { "--cluster yarn --num-workers 1 --files nothing p", NULL, "there is no file 'nothing'" },
        { "--cluster yarn p", NULL, "the number of workers is missing (--num-workers)" },
        { "--cluster yarn --num-workers 1", NULL, "a command is missing" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_submit, &rows[i]);
}

/* Whatever the cluster is: what would be expected of them does not come. */
static void options_of_other_clusters_are_refused(void **state)
{
    static const struct front_row submit[] = {
        { "--cluster local --num-workers 1 --host-file h p", NULL,
          "--host-file: ydl takes no list of hosts; on YARN, --node-label selects nodes" },
        { "--cluster ssh --num-workers 1 --sync-dst-dir d p", NULL,
          "--sync-dst-dir: ydl does not copy by ssh; use --files to upload files" },
        { "--cluster yarn --num-workers 1 --sge-log-dir d p", NULL,
          "--sge-log-dir: ydl does not run on sge; 'ydl logs' shows what tasks wrote" },
        { "--cluster yarn --num-workers 1 --mesos-master h p", NULL,
          "--mesos-master: ydl does not run on mesos; use --cluster yarn or --cluster local" },
        { "--cluster yarn --num-workers 1 --slurm-worker-nodes 2 p", NULL,
          "--slurm-worker-nodes: ydl does not run on slurm; use --num-workers" },
        { "--cluster yarn --num-workers 1 --slurm-server-nodes=2 p", NULL,
          "--slurm-server-nodes: ydl does not run on slurm; use --num-servers" },
        { "--cluster yarn --num-workers 1 --kube-namespace n p", NULL,
          "--kube-namespace: ydl does not run on kubernetes; use --cluster yarn or --cluster "
          "local" },
        { "--cluster yarn --num-workers 1 --kube-worker-i i p", NULL,
          "--kube-worker-image: ydl does not run on kubernetes; use --docker-image" },
        { "--cluster yarn --num-workers 1 --kube-server-image i p", NULL,
          "--kube-server-image: ydl does not run on kubernetes; use --docker-image" },
        { "--cluster yarn --num-workers 1 --kube-worker-template f p", NULL,
          "--kube-worker-template: ydl does not run on kubernetes; use --cluster yarn or --cluster "
          "local" },
        { "--cluster yarn --num-workers 1 --kube-server-template f p", NULL,
          "--kube-server-template: ydl does not run on kubernetes; use --cluster yarn or --cluster "
          "local" },
        { "--cluster local --num-workers 1 -- p --host-file h",
          "run --on local --framework rabit --role worker=1 --env DMLC_JOB_CLUSTER=local " NEW_ENV
          "--name DMLC[nworker=1]:p -- p --host-file h" },
    };
    static const struct front_row launch[] = {
        { "-n 1 -H hosts p", NULL,
          "-H: ydl takes no list of hosts; on YARN, --node-label selects nodes" },
        { "-n 1 --sync-dst-dir d p", NULL,
          "--sync-dst-dir: ydl does not copy by ssh; use --files to upload files" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(submit); i++)
        front_check(&front_submit, &submit[i]);
    for (size_t i = 0; i < COUNT_OF(launch); i++)
        front_check(&front_launch, &launch[i]);
}

/* On this machine ydl itself looks. */
static void a_script_that_is_not_there_is_refused_on_yarn(void **state)
{
    static const struct front_row rows[] = {
        { "-n 1 python gone.py", NULL, "there is no script 'gone.py'" },
        { "-n 1 /usr/bin/python3 -u sub/gone.py x", NULL, "there is no script 'sub/gone.py'" },
    };
    static const char *const fine[] = {
        "-n 1 --on local python gone.py",
        "-n 1 -ac 0 python gone.py",
        "-n 1 -f README.md python gone.py",
        "-n 1 --archives LICENSE python gone.py",
        "-n 1 --docker-image i python gone.py",
        "-n 1 python /on/the/nodes.py",
        "-n 1 -- python -m gone.py",
        "-n 1 -- python -c gone.py",
        "-n 1 python data gone.py",
        "-n 1 ./prog gone.py",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_dmlc, &rows[i]);
    for (size_t i = 0; i < COUNT_OF(fine); i++) {
        AUTO_FRONT_CALL call = { 0 };
        AUTO_STRS words = { 0 };
        struct err err = ERR_INIT;
        int r = front_words_of(fine[i], &words);

        if (r == 0)
            r = front_translate(&front_dmlc, words.v, words.n, (char *const *)front_no_env, &call,
                                &err);
        if (r < 0 && r != -ENOMEM)
            fail_msg("%s: %s", fine[i], err.text);
    }
}

static void archives_are_unpacked_where_the_task_runs(void **state)
{
    AUTO_STRS words = { 0 };
    AUTO_FRONT_CALL call = { 0 };
    struct err err = ERR_INIT;
    int r = front_words_of("--cluster yarn --num-workers 1 --num-servers 1 --archives README.md "
                           "--archives LICENSE python x.py",
                           &words);

    (void)state;
    if (r == 0)
        r = front_translate(&front_submit, words.v, words.n, (char *const *)front_no_env, &call,
                            &err);
    if (r == -ENOMEM)
        return;
    assert_int_equal(r, 0);
    assert_true(strs_has(&call.words, "DMLC_JOB_ARCHIVES=README.md:LICENSE"));
    assert_string_equal(call.words.v[call.words.n - 3], "README.md LICENSE");
    assert_string_equal(call.words.v[call.words.n - 4], "client");
}

static const char *const has_a[] = { "PATH=/usr/bin:/bin", "A=1", NULL };

static void launch_has_as_many_servers_as_workers(void **state)
{
    static const struct front_row rows[] = {
        { "-n 2 --launcher local python x.py",
          "run --on local --framework mxnet --role worker=2 --role server=2 --env "
          "DMLC_JOB_CLUSTER=local -- python x.py" },
        { "-n 2 -s 1 --p3 python x.py --env A --env B",
          "run --on local --framework mxnet --role worker=2 --role server=1 --env "
          "DMLC_JOB_CLUSTER=local --env DMLC_PS_VAN_TYPE=p3 --env DMLC_PS_WATER_MARK=10 --env A=1 "
          "-- python x.py",
          "--env B: the variable is not set here", has_a },
        { "-n 2 --launcher yarn -s 1 python " JOB,
          "run --on yarn --framework mxnet --role worker=2,memory=1g,cpus=1 --role "
          "server=1,memory=1g,cpus=1 --role scheduler=1,place=client --avoid all --max-restarts 2 "
          "--env DMLC_JOB_CLUSTER=yarn --env PYTHONPATH=. -- python " JOB },
        { "-n 1 --launcher ssh p", NULL, "'ssh' is not supported: ydl runs on yarn or local" },
        { "-n 1 --env-server A=1 p", NULL, "option '--env-server': 'A=1' is not NAME:VALUE" },
        { "-n 1 --native yes p",
          "run --on local --framework mxnet --role worker=1 --role server=1 --env "
          "DMLC_JOB_CLUSTER=local --native yes -- p" },
        { "-n 1 --native cpp p",
          "run --on local --framework mxnet --role worker=1 --role server=1 --env "
          "DMLC_JOB_CLUSTER=local -- p",
          "--native cpp is not needed: a program in any language is run as it is" },
        { "-n 1 --launcher yarn python gone.py", NULL, "there is no script 'gone.py'" },
        { "-n 0 p", NULL, "option '--num-workers': 0 is less than the minimum, 1" },
        { "p", NULL, "the number of workers is missing (-n)" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_launch, &rows[i]);
}

static void variables_of_a_role_become_a_job_file(void **state)
{
    AUTO_STRS words = { 0 };
    AUTO_FRONT_CALL call = { 0 };
    struct err err = ERR_INIT;
    int r = front_words_of("-n 1 --env-server A:1 --env-worker B:x:y --env-server C: p", &words);

    (void)state;
    if (r == 0)
        r = front_translate(&front_launch, words.v, words.n, (char *const *)front_no_env, &call,
                            &err);
    if (r == -ENOMEM)
        return;
    assert_int_equal(r, 0);
    assert_string_equal(call.job, "{\"roles\":{\"worker\":{\"env\":{\"B\":\"x:y\"}},"
                                  "\"server\":{\"env\":{\"A\":\"1\",\"C\":\"\"}}}}");
}

static void wrong_use_gets_a_sentence(void **state)
{
    static const struct front_row rows[] = {
        { "", NULL, "the number of workers is missing (-n)" },
        { "-n 1", NULL, "a command is missing" },
        { "-n 0 p", NULL, "option '--nworker': 0 is less than the minimum, 1" },
        { "-n x p", NULL, "option '--nworker': 'x' is not a whole number" },
        { "-n 1 -f nothing#README.md p", NULL, "there is no file 'nothing'" },
        { "-n 1 --ship-libcxx /nowhere p", NULL, "there is no file '/nowhere/libstdc++.so.6'" },
        { "-n 1 --log x p", NULL, "option '--log' is ambiguous: --log-level, --log-file" },
        { "-n 1 -ac 2 p", NULL, "option '--auto_file_cache': '2' is not one of 0, 1" },
        { "-n 1 --name-node hdfs://other:8020 p", NULL,
          "--name-node: ydl uses the NameNode of the Hadoop configuration, not "
          "'hdfs://other:8020'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_dmlc, &rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_texts_line_works_as_written),
        cmocka_unit_test(all_options_of_dmlc_yarn_have_their_effect),
        cmocka_unit_test(dmlc_submit_has_its_own_defaults),
        cmocka_unit_test(options_of_other_clusters_are_refused),
        cmocka_unit_test(a_script_that_is_not_there_is_refused_on_yarn),
        cmocka_unit_test(archives_are_unpacked_where_the_task_runs),
        cmocka_unit_test(launch_has_as_many_servers_as_workers),
        cmocka_unit_test(variables_of_a_role_become_a_job_file),
        cmocka_unit_test(wrong_use_gets_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
