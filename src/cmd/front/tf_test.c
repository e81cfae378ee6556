/* tf_test.c - see tf.c; words as in its texts */
#include "cmd/front/front_testing.h"
#include "cmd/front/fronts.h"

#define JOB "examples/mxnet-digits/train.py"
#define YARN "run --on yarn --framework tensorflow --name tensorflow "
#define OWN "--native yes "
#define PS(n, mb) "--role ps=" n ",memory=" mb "m,cpus=1 "
#define WORKERS(n, mb) "--role worker=" n ",memory=" mb "m,cpus=1,decides=false "
#define SCRIPT "-- python3 " JOB " --wk {hosts:worker} "
#define LAUNCH "submit --spec clusterspec "
#define CLUSTER "--on yarn --framework tensorflow --name TensorFlow --native yes "
#define SERVERS PS("1", "4096") "--role worker=2,memory=4096m,cpus=1"

static void a_script_here_uses_servers_there(void **state)
{
    static const struct front_row rows[] = {
        { "-job " JOB " -numberworkers 4 -numberps 1 -jar X.jar",
          YARN OWN PS("1", "1024") WORKERS("4", "1024") "--role client=1,place=client " SCRIPT
                                                        "--ps {hosts:ps}",
          "-jar has no effect: ydl does not use Java" },
        { "--tf_client=" JOB " --num_worker=2",
          YARN OWN WORKERS("2", "4096") "--role client=1,place=client " SCRIPT "" },
        { "-job " JOB " --clients workers -numberworkers 2 --detach",
          "submit --on yarn --framework tensorflow --name tensorflow --native yes " WORKERS(
              "2", "1024") "--role client=2 " SCRIPT "--task_index {index}" },
        { "-job " JOB " --servers script -numberps 1 -numberworkers 2 -- --lr 1",
          YARN PS("1", "1024") "--role worker=2,memory=1024m,cpus=1 " SCRIPT
                               "--ps {hosts:ps} --job_name {role} --task_index {index} --lr 1" },
        { "-job " JOB " --container_retry_policy 1 --container_max_retries 3 --on local",
          "run --on local --framework tensorflow --name tensorflow --native yes --role "
          "worker=1,decides=false --restart task --max-restarts 3 --role "
          "client=1,place=client " SCRIPT },
        { "-job " JOB " --container_retry_policy 2 --container_max_retries 3 --on local "
          "--container_retry_error_codes 1,139 --container_retry_interval 500",
          "run --on local --framework tensorflow --name tensorflow --native yes --role "
          "worker=1,decides=false --restart task --max-restarts 3 --restart-delay 500ms "
          "--restart-codes 1,139 --role client=1,place=client " SCRIPT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct front_row row = rows[i];
        char words[1024];
        size_t n = strlen(row.words);

        (void)snprintf(words, sizeof(words), "%s", row.words);
        if (n && words[n - 1] == ' ')
            words[n - 1] = '\0';
        row.words = words;
        front_check(&front_tf, &row);
    }
}

static void servers_alone_stay_and_say_where_they_are(void **state)
{
    static const struct front_row rows[] = {
        { "launch", LAUNCH CLUSTER SERVERS },
        { "launch --num_worker 2 --num_ps 1", LAUNCH CLUSTER SERVERS },
        { "launch --am_queue q --app_name x",
          "submit --queue q --spec clusterspec --on yarn --framework tensorflow --name x --native "
          "yes " SERVERS },
        { "launch --num_ps 0 --tf_jar x.jar", LAUNCH CLUSTER "--role worker=2,memory=4096m,cpus=1",
          "--tf_jar has no effect: ydl does not use Java" },
        { "cluster --app_id application_1_2", "spec --format clusterspec application_1_2" },
        { "application --list", "cluster apps" },
        { "application -kill application_1_2", "kill application_1_2" },
        { "kill --application application_1_2", "kill application_1_2" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_tf, &rows[i]);
}

static void wrong_use_gets_a_sentence(void **state)
{
    static const struct front_row rows[] = {
        { "", NULL, "a job is missing" },
        { "job.py", NULL, "a job is missing" },
        { "lanch --app_name x", NULL, "unknown verb 'lanch'; did you mean 'launch'?" },
        { "launch --clients 2", NULL, "unknown option '--clients'" },
        { "launch --tf_lib README.md", NULL,
          "--tf_lib: 'README.md' cannot be loaded without libtensorflow_framework.so.2, which is "
          "not beside it" },
        { "-job nowhere.py", NULL, "there is no job 'nowhere.py'" },
        { "-job " JOB " --clients none", NULL,
          "--clients: 'none' is neither a positive number nor 'workers'" },
        { "cluster", NULL, "--app_id is missing: which job?" },
        { "kill", NULL, "--application is missing: which job?" },
        { "application", NULL, "--list, --kill ID or --status ID is missing" },
        { "launch --tf_lib nowhere.so", NULL, "--tf_lib: there is no 'nowhere.so'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_tf, &rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_here_uses_servers_there),
        cmocka_unit_test(servers_alone_stay_and_say_where_they_are),
        cmocka_unit_test(wrong_use_gets_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
