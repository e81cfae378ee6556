/* mx_test.c - see mx.c; words as in its texts */
#include "cmd/front/front_testing.h"
#include "cmd/front/fronts.h"

#define JOB "examples/mxnet-digits/train.py"
#define YARN "run --on yarn --framework mxnet "
#define TWO_AND(s) "--role worker=2,memory=1g,cpus=1 --role server=" s ",memory=1g,cpus=1 "
#define HERE "--role scheduler=1,place=client "
#define AGAIN "--avoid all --max-restarts 2 "
#define CLUSTER "--env DMLC_JOB_CLUSTER=yarn -- "
#define LOCAL "run --on local --framework mxnet "
#define IN "--env DMLC_JOB_CLUSTER=local -- "

static const char *const with_variables[] = {
    "PATH=/usr/bin:/bin", "YDL_ON=local", "HOME=/x",       "DMLC_INTERFACE=eth0",
    "DMLC_ROLE=worker",   "AWS_KEY=k",    "rabit_debug=1", NULL
};
static const char *const no_python[] = { "PATH=/nowhere", NULL };

static void every_form_of_its_texts_is_understood(void **state)
{
    static const struct front_row rows[] = {
        /* the text's own */
        { "yarn -n 2 -s 1 " JOB " --kv-store dist_sync --data-dir D",
          YARN TWO_AND("1") HERE AGAIN CLUSTER "python3 " JOB
                                               " --kv-store dist_sync --data-dir D" },
        { "yarn -n 2 " JOB, YARN TWO_AND("2") HERE AGAIN CLUSTER "python3 " JOB },
        { "yarn " JOB " --kv-store dist_sync",
          YARN TWO_AND("2") HERE AGAIN CLUSTER "python3 " JOB " --kv-store dist_sync" },
        { "local -n 2 -s 1 " JOB, LOCAL "--role worker=2 --role server=1 " IN "python3 " JOB },
        /* its README's */
        { "--n 2 --s 1 --jobname mnist " JOB,
          "run --name mnist --on yarn --framework mxnet " TWO_AND("1") HERE AGAIN CLUSTER
          "python3 " JOB },
        { "--n 2 --jar ydl-mx.jar " JOB, YARN TWO_AND("2") HERE AGAIN CLUSTER "python3 " JOB,
          "--jar has no effect: ydl does not use Java" },
        /* its other script's: the number first */
        { "2 " JOB " --lr 1 -n 5",
          YARN TWO_AND("2") HERE AGAIN CLUSTER "python3 " JOB " --lr 1 -n 5" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_mx, &rows[i]);
}

static void the_jobs_words_are_not_touched(void **state)
{
    static const struct front_row rows[] = {
        { "local " JOB " -n 9 --help --gpus 0,1 -- --queue x~y",
          LOCAL "--role worker=2 --role server=2 " IN "python3 " JOB
                " -n 9 --help --gpus 0,1 -- --queue x y" },
        { "local python " JOB, LOCAL "--role worker=2 --role server=2 " IN "python " JOB },
        { "local true x", LOCAL "--role worker=2 --role server=2 " IN "true x" },
        { "local CMakeLists.txt", LOCAL "--role worker=2 --role server=2 " IN "./CMakeLists.txt" },
        { "local --files a.jar a.jar x", "run --files a.jar --on local --framework mxnet --role "
                                         "worker=2 --role server=2 " IN "java -jar a.jar x" },
        { "local --venv e " JOB, "run --venv e --on local --framework mxnet --role worker=2 --role "
                                 "server=2 " IN "python " JOB },
        { "local " JOB, LOCAL "--role worker=2 --role server=2 " IN "python3 " JOB, NULL,
          no_python },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_mx, &rows[i]);
}

static void options_say_where_and_how(void **state)
{
    static const struct front_row rows[] = {
        { "yarn --scheduler cluster -n2 " JOB,
          YARN TWO_AND("2") "--role scheduler=1 " AGAIN CLUSTER "python3 " JOB },
        { "yarn --detach " JOB, "submit --on yarn --framework mxnet " TWO_AND(
                                    "2") "--role scheduler=1 " AGAIN CLUSTER "python3 " JOB },
        { "yarn -s 0 --max-attempts 1 " JOB,
          YARN TWO_AND("0") "--avoid all " CLUSTER "python3 " JOB },
        { "yarn --on local --mem 2g --cpus 3 --max-attempts 4 " JOB,
          LOCAL "--role worker=2,memory=2g,cpus=3 --role server=2,memory=2g,cpus=3 "
                "--max-restarts 3 " IN "python3 " JOB },
        { "--docker-image i --node-label l --queue q --gpus 1 --native yes local " JOB,
          "run --image i --label l --queue q --gpus 1 --on local --framework mxnet --role worker=2 "
          "--role server=2 --env DMLC_JOB_CLUSTER=local --native yes -- python3 " JOB },
        { "local --native python " JOB,
          LOCAL "--role worker=2 --role server=2 " IN "python3 " JOB },
        { "local --native scala ./run_scala.sh x",
          LOCAL "--role worker=2 --role server=2 " IN "./run_scala.sh x",
          "--native scala is not needed: a program in any language is run as it is" },
        { JOB,
          "run --on local --framework mxnet --role worker=2 --role server=2 --env "
          "DMLC_JOB_CLUSTER=local --env DMLC_INTERFACE=eth0 --env AWS_KEY=k --env "
          "rabit_debug=1 -- python3 " JOB,
          NULL, with_variables },
        { "--env DMLC_INTERFACE=lo " JOB,
          "run --env DMLC_INTERFACE=lo --on local --framework mxnet --role worker=2 --role "
          "server=2 --env DMLC_JOB_CLUSTER=local --env AWS_KEY=k --env rabit_debug=1 -- "
          "python3 " JOB,
          NULL, with_variables },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_mx, &rows[i]);
}

static void a_store_of_one_process_is_warned_of(void **state)
{
    static const char *const rows[][2] = {
        { "--kv-store sync", "dist_sync" },      { "--kv-store=async", "dist_async" },
        { "--kvstore local", "dist_sync" },      { "--kv-store dist_sync", NULL },
        { "--kv-store dist_device_sync", NULL }, { "--kv-store", NULL },
        { "--kv-store horovod", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *line = str_printf("local -n 1 " JOB " %s", rows[i][0]);
        AUTO_FREE char *words = str_printf(
            LOCAL "--role worker=1 --role server=1 " IN "python3 " JOB " %s", rows[i][0]);
        struct front_row row = { line, words, rows[i][1] };

        if (line && words)
            front_check(&front_mx, &row);
    }
}

static void wrong_use_gets_a_sentence(void **state)
{
    static const struct front_row rows[] = {
        { "", NULL, "a job is missing" },
        { "yarn -n 2", NULL, "a job is missing" },
        { "yarn -n 0 " JOB, NULL, "option '--num-workers': 0 is less than the minimum, 1" },
        { "0 " JOB, NULL, "number of workers '0' is out of range" },
        { "yarn --nun 2 " JOB, NULL, "unknown option '--nun'; did you mean '--n'?" },
        { "yarn nothing.py", NULL, "there is no job 'nothing.py'" },
        { "yarn nothing.jar", NULL, "there is no job 'nothing.jar'" },
        { "yarn -n 2 serve", NULL, "'serve' must be the first word" },
        { "--native ruby " JOB, NULL,
          "option '--native': 'ruby' is not one of auto, yes, no, python, scala, cpp, java" },
        { "yarn --scheduler moon " JOB, NULL,
          "option '--scheduler': 'moon' is not one of client, cluster" },
        { "yarn --detach --scheduler client " JOB, NULL,
          "with --detach the scheduler cannot run on this machine: use --scheduler cluster" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        front_check(&front_mx, &rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_its_texts_is_understood),
        cmocka_unit_test(the_jobs_words_are_not_touched),
        cmocka_unit_test(options_say_where_and_how),
        cmocka_unit_test(a_store_of_one_process_is_warned_of),
        cmocka_unit_test(wrong_use_gets_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
