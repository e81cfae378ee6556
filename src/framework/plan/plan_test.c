/* plan_test.c - claims about plan.h. */
#include "framework/framework_testing.h"
#include "test.h"

#include <string.h>

#define C "command: x\n"

static void every_task_knows_its_place(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_FREE char *env = NULL;

    (void)state;
    job_plan(&j, C "roles: {a: 1, b: {count: 2, procs: 2, ports: 1}}");
    j.plan.attempt = 4;
    env = job_env(&j, "b", 3, true);
    assert_string_equal(
        env,
        "PYTHONUNBUFFERED=1\nYDL_ATTEMPT=4\nYDL_GENERATION=0\nYDL_HOST=127.0.0.1\nYDL_INDEX=3\n"
        "YDL_JOB=local-1\nYDL_LOCAL_RANK=1\nYDL_LOCAL_WORLD=2\nYDL_OUT=/out\n"
        "YDL_PORT=10003\nYDL_RANK=3\nYDL_ROLE=b\nYDL_WORLD=4");
}

static void several_ports_are_a_list(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_FREE char *env = NULL;

    (void)state;
    job_plan(&j, C "roles: {a: {ports: 3}}\nport-range: 20000-20010");
    env = job_env(&j, "a", 0, true);
    assert_non_null(strstr(env, "\nYDL_PORT=20000\nYDL_PORTS=20000,20001,20002\n"));
}

/* Role over job over framework; ours over all. A launcher that replaces what the user has set is
 * the complaint of many. */
static void what_the_user_says_wins_over_the_framework_but_not_over_us(void **state)
{
    static const char job[] = "framework: pytorch\ncommand: x\n"
                              "env: {RANK: job, MASTER_PORT: '1', A: job, B: job, YDL_RANK: '9'}\n"
                              "roles: {worker: {env: {A: role, MASTER_ADDR: '{rank}.example'}}}";
    static const char *const lines[] = { "RANK=job",    "MASTER_PORT=1",         "A=role",
                                         "B=job",       "MASTER_ADDR=0.example", "YDL_RANK=0",
                                         "WORLD_SIZE=1" };
    AUTO_JOB j = { 0 };
    AUTO_STRS env = { 0 };
    AUTO_FREE char *text = NULL;

    (void)state;
    job_plan(&j, job);
    text = job_env(&j, "worker", 0, true);
    assert_int_equal(strs_split(&env, text, "\n"), 0);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_true(strs_has(&env, lines[i]));
    for (size_t i = 1; i < env.n; i++) {
        size_t n = strcspn(env.v[i], "=") + 1;

        assert_true(strcmp(env.v[i - 1], env.v[i]) < 0);
        assert_int_not_equal(strncmp(env.v[i - 1], env.v[i], n), 0);
    }
}

static void a_users_omp_num_threads_stays(void **state)
{
    static const char *const shell[] = { "OMP_NUM_THREADS=7", "HOME=/root", NULL };
    static const char *const similar[] = { "OMP_NUM_THREADS_MAX=7", NULL };
    /* clang-format off */
    static const struct {
        const char *job;
        const char *const *inherited;
        const char *line; /* NULL: not in the task's list, so what it inherits counts */
    } rows[] = {
        { "framework: pytorch\ncommand: x\n#! procs 2\n", NULL, "OMP_NUM_THREADS=1" },
        { "framework: pytorch\ncommand: x\n#! procs 2\n", shell, NULL },
        { "framework: pytorch\ncommand: x\n#! procs 2\n", similar, "OMP_NUM_THREADS=1" },
        { "framework: pytorch\ncommand: x\n#! procs 1\n", NULL, NULL },
        { "framework: pytorch\ncommand: x\n#! workers 2\n", NULL, "OMP_NUM_THREADS=1" },
        { "framework: pytorch\ncommand: x\n#! workers 2\n", shell, NULL },
        { "framework: pytorch\ncommand: x\n#! workers 2\n#! nodes 2\n", NULL, NULL },
        { "framework: pytorch\ncommand: x\n#! workers 1\n#! cpus 4\n", NULL, NULL },
        { "framework: pytorch\ncommand: x\n#! workers 2\n#! cpus 4\n", NULL,
          "OMP_NUM_THREADS=4" },
        { "framework: pytorch\ncommand: x\n#! procs 3\n#! cpus 4\n", NULL, "OMP_NUM_THREADS=1" },
        { "framework: pytorch\ncommand: x\n#! procs 2\n#! cpus 6\n", NULL, "OMP_NUM_THREADS=3" },
        { "framework: pytorch\ncommand: x\nroles: {worker: 1, other: 1}", NULL, NULL },
        { "framework: pytorch\ncommand: x\n#! procs 2\nenv: {OMP_NUM_THREADS: 3}\n", shell,
          "OMP_NUM_THREADS=3" },
        { "framework: pytorch\ncommand: x\nroles: {worker: {procs: 2, env: {OMP_NUM_THREADS: 4}}}",
          NULL, "OMP_NUM_THREADS=4" },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JOB j = { 0 };
        AUTO_STRS env = { 0 };
        AUTO_FREE char *text = NULL;

        job_plan(&j, rows[i].job);
        j.plan.inherited = rows[i].inherited;
        text = job_env(&j, "worker", 0, false);
        assert_int_equal(strs_split(&env, text, "\n"), 0);
        if (rows[i].line)
            assert_true(strs_has(&env, rows[i].line));
        else
            assert_null(strstr(text, "OMP_NUM_THREADS"));
    }
}

/* A RANK left over in the shell that started the job is nobody's wish. */
static void what_is_merely_inherited_does_not_change_ranks(void **state)
{
    static const char *const shell[] = { "RANK=5", "WORLD_SIZE=99", NULL };
    AUTO_JOB j = { 0 };
    AUTO_FREE char *env = NULL;

    (void)state;
    job_plan(&j, C "framework: pytorch\n");
    j.plan.inherited = shell;
    env = job_env(&j, "worker", 0, false);
    assert_non_null(strstr(env, "\nRANK=0\n"));
    assert_non_null(strstr(env, "\nWORLD_SIZE=1"));
}

static void a_command_is_the_roles_then_the_jobs_with_variables_replaced(void **state)
{
    static const char job[] =
        "command: run {role}-{rank} of {world} at {host}:{port} {{rank}} {x}\n"
        "roles: {a: 2, b: {command: 'say {hosts:a} {count:a}'}}";
    AUTO_JOB j = { 0 };
    AUTO_FREE char *a = NULL, *b = NULL;

    (void)state;
    job_plan(&j, job);
    a = job_command(&j, "a", 1);
    b = job_command(&j, "b", 0);
    assert_string_equal(a, "run a-1 of 2 at 127.0.0.1:10001 {rank} {x}");
    assert_string_equal(b, "say 127.0.0.1:10000,127.0.0.1:10001 2");
}

static void the_error_file_is_told_where_it_is_known(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_FREE char *env = NULL;

    (void)state;
    job_plan(&j, C "framework: pytorch\n");
    j.plan.error_file = "/tmp/e.json";
    env = job_env(&j, "worker", 0, false);
    assert_non_null(strstr(env, "\nTORCHELASTIC_ERROR_FILE=/tmp/e.json\n"));
}

/* ---- what cannot be ---- */

static void a_task_that_does_not_exist_is_refused(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_PLAN_TASK t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    job_plan(&j, C);
    assert_int_equal(plan_task(&j.plan, spec_role(&j.spec, "worker"), 1, &t, &err), -EINVAL);
    assert_string_equal(err.text, "worker:1: the cluster specification has no such task");
}

static void a_role_without_a_command_is_refused(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_PLAN_TASK t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    job_plan(&j, C);
    strs_done(&j.spec.command);
    assert_int_equal(plan_task(&j.plan, spec_role(&j.spec, "worker"), 0, &t, &err), -EINVAL);
    assert_string_equal(err.text, "worker:0: nothing to run");
}

/* 6,000 addresses are more than one variable can hold. */
static void a_tf_config_beyond_the_systems_limit_is_refused(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_PLAN_TASK t = { 0 };
    struct err err = ERR_INIT;
    int r;

    (void)state;
    job_plan(&j, C "framework: tensorflow\n#! workers 8000\n");
    r = plan_task(&j.plan, spec_role(&j.spec, "worker"), 0, &t, &err);
    assert_int_equal(r, -E2BIG);
    assert_non_null(strstr(err.text, "worker:0: the variable TF_CONFIG has "));
    assert_non_null(strstr(err.hint, "YDL_SPEC"));
}

static void an_argument_beyond_the_systems_limit_is_refused(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_PLAN_TASK t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    job_plan(&j, C "framework: tf1\n#! workers 8500\n");
    assert_int_equal(plan_task(&j.plan, spec_role(&j.spec, "worker"), 0, &t, &err), -E2BIG);
    assert_non_null(strstr(err.text, "worker:0: argument 1 ('--worker_hosts=127.0.0.1:10000,"));
}

/* ---- IPv6 ---- */

static void an_ipv6_address_stands_in_brackets_before_a_port(void **state)
{
    struct cluster_task one = { .host = "::1", .node = "n", .port = { 80 }, .n_ports = 1 };
    struct cluster_role role = { .name = "worker", .tasks = &one, .n = 1 };
    struct cluster cluster = { .roles = &role, .n = 1, .generation = 2 };
    AUTO_JOB j = { 0 };
    AUTO_FREE char *env = NULL;

    (void)state;
    job_plan(&j, C "framework: jax\n");
    j.plan.cluster = &cluster;
    env = job_env(&j, "worker", 0, true);
    assert_non_null(strstr(env, "JAX_COORDINATOR_ADDRESS=[::1]:80\n"));
    assert_non_null(strstr(env, "YDL_GENERATION=2\n"));
    assert_non_null(strstr(env, "YDL_HOST=::1\n"));
}

/* ---- the whole, for people ---- */

static char *text_of(const struct job *j)
{
    const struct plan_agent agent = { .cwd = "/work" };
    struct plan plan = j->plan;
    AUTO_BUF b = { .max = MIB };

    plan.agent = &agent;
    assert_int_equal(plan_text(&plan, &b, NULL), 0);
    assert_non_null(buf_text(&b));
    return strdup(buf_text(&b));
}

static void python_writes_at_once_unless_somebody_says_otherwise(void **state)
{
    static const char *const shell[] = { "PYTHONUNBUFFERED=", NULL };
    static const struct {
        const char *job;
        const char *const *inherited;
        const char *line; /* NULL: not in the task's list, so what it inherits counts */
    } rows[] = {
        { C "roles: {a: 1}", NULL, "PYTHONUNBUFFERED=1" },
        { C "roles: {a: 1}", shell, NULL },
        { C "roles: {a: 1}\nenv: {PYTHONUNBUFFERED: ''}", NULL, "PYTHONUNBUFFERED=" },
        { C "roles: {a: {env: {PYTHONUNBUFFERED: ''}}}", NULL, "PYTHONUNBUFFERED=" },
        { "framework: horovod\ncommand: x\nroles: {worker: {env: {PYTHONUNBUFFERED: ''}}}", NULL,
          "PYTHONUNBUFFERED=" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JOB j = { 0 };
        AUTO_STRS env = { 0 };
        AUTO_FREE char *text = NULL;
        const char *found = NULL;

        job_plan(&j, rows[i].job);
        j.plan.inherited = rows[i].inherited;
        text = job_env(&j, j.spec.roles[0].name, 0, true);
        assert_int_equal(strs_split(&env, text, "\n"), 0);
        for (size_t k = 0; k < env.n; k++)
            if (str_starts(env.v[k], "PYTHONUNBUFFERED="))
                found = env.v[k];
        if (rows[i].line)
            assert_string_equal(found ? found : "", rows[i].line);
        else
            assert_null(found);
    }
}

/* What every task gets from its agent. */
#define AGENTS                                                                                     \
    "           YDL_SOCKET=<socket of the task>\n"                                                 \
    "           YDL_SPEC=<file with all addresses>\n"                                              \
    "           YDL_STOP=<file that says when to stop>\n"

static void people_see_once_what_is_common_and_then_what_differs(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_FREE char *text = NULL;

    (void)state;
    job_plan(&j, "name: mnist\nframework: tf1\ncommand: python t.py 'a b' {rank}\n"
                 "files: [t.py, conf: c]\n"
                 "#! workers 2\n#! servers 1\n#! mem 2g\n#! gpus 1\n#! max-restarts 2\n");
    text = text_of(&j);
    assert_string_equal(
        text, "job mnist, framework tensorflow-flags, 3 tasks\n"
              "\n"
              "ps: 1, restarts: task, at most 2\n"
              "  command  python t.py 'a b' 0 --ps_hosts=127.0.0.1:10000 "
              "--worker_hosts=127.0.0.1:10001,127.0.0.1:10002 --job_name=ps --task_index=0\n"
              "  files    t.py, conf → c\n"
              "  env      CUDA_VISIBLE_DEVICES=\n"
              "           PWD=<directory of the task>\n"
              "           PYTHONUNBUFFERED=1\n"
              "           TMPDIR=<temporary directory>\n"
              "           YDL_ATTEMPT=0\n"
              "           YDL_GENERATION=0\n"
              "           YDL_HOST=127.0.0.1\n"
              "           YDL_INDEX=0\n"
              "           YDL_JOB=local-1\n"
              "           YDL_LOCAL_RANK=0\n"
              "           YDL_LOCAL_WORLD=1\n"
              "           YDL_OUT=/out\n"
              "           YDL_PORT=10000\n"
              "           YDL_RANK=0\n"
              "           YDL_ROLE=ps\n" AGENTS "           YDL_WORLD=1\n"
              "  ps:0 127.0.0.1:10000 on node0\n"
              "\n"
              "worker: 2, 2.0 GB, 1 gpu, decides, restarts: task, at most 2\n"
              "  command  python t.py 'a b' … --ps_hosts=127.0.0.1:10000 "
              "--worker_hosts=127.0.0.1:10001,127.0.0.1:10002 --job_name=worker …\n"
              "  files    t.py, conf → c\n"
              "  env      CUDA_VISIBLE_DEVICES=<1 GPU of its machine>\n"
              "           PWD=<directory of the task>\n"
              "           PYTHONUNBUFFERED=1\n"
              "           TMPDIR=<temporary directory>\n"
              "           YDL_ATTEMPT=0\n"
              "           YDL_GENERATION=0\n"
              "           YDL_HOST=127.0.0.1\n"
              "           YDL_JOB=local-1\n"
              "           YDL_LOCAL_RANK=0\n"
              "           YDL_LOCAL_WORLD=1\n"
              "           YDL_OUT=/out\n"
              "           YDL_ROLE=worker\n" AGENTS "           YDL_WORLD=2\n"
              "  worker:0 127.0.0.1:10001 on node0 YDL_INDEX=0 YDL_PORT=10001 YDL_RANK=0 "
              "0 --task_index=0\n"
              "  worker:1 127.0.0.1:10002 on node0 YDL_INDEX=1 YDL_PORT=10002 YDL_RANK=1 "
              "1 --task_index=1\n");
}

static void a_long_value_shows_where_it_differs(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_FREE char *text = NULL;

    (void)state;
    job_plan(&j, C "framework: tensorflow\nnodes: 2\n#! workers 20\n");
    text = text_of(&j);
    assert_non_null(strstr(text, "  worker:1 127.0.0.1:10001 on node1 TF_CONFIG=…"));
    assert_non_null(strstr(text, "\"task\":{\"type\":\"worker\",\"index\":1}} "
                                 "YDL_INDEX=1 YDL_PORT=10001 YDL_RANK=1\n"));
    assert_non_null(strstr(text, "  … and 4 more (--json has them all)\n"));
    assert_null(strstr(text, "worker:16"));
}

/* A task that has an argument already gets one less. */
static void commands_of_different_length_are_shown_whole(void **state)
{
    struct cluster_task tasks[] = { { .host = "h", .node = "n", .port = { 1 }, .n_ports = 1 },
                                    { .host = "machines", .node = "n" } };
    struct cluster_role role = { .name = "worker", .tasks = tasks, .n = 2 };
    struct cluster cluster = { .roles = &role, .n = 1 };
    AUTO_JOB j = { 0 };
    AUTO_FREE char *text = NULL;

    (void)state;
    job_plan(&j, "framework: lightgbm\ncommand: lightgbm {host}=1\n#! workers 2\n");
    j.plan.cluster = &cluster;
    text = text_of(&j);
    assert_null(strstr(text, "  command"));
    assert_non_null(strstr(text, " lightgbm h=1 machines=h:1,machines:0 num_machines=2 "
                                 "local_listen_port=1\n"));
    assert_non_null(strstr(text, " lightgbm machines=1 num_machines=2 local_listen_port=0\n"));
}

static void bytes_that_are_not_for_a_terminal_are_made_harmless(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_FREE char *text = NULL;

    (void)state;
    job_plan(&j, "command: [x, \"a\\e[1mb\", \"it's\"]\nenv: {E: \"\\e[2J\"}\n");
    text = text_of(&j);
    assert_non_null(strstr(text, "  command  x 'a\\x1b[1mb' 'it'\\''s'\n"));
    assert_non_null(strstr(text, "E=\\x1b[2J\n"));
}

/* ---- many ---- */

static void a_cache_changes_nothing(void **state)
{
    AUTO_JOB j = { 0 };
    AUTO_JSON *with = NULL, *without = NULL;

    (void)state;
    job_plan(&j, C "framework: tensorflow\n#! workers 5\n#! servers 2\n");
    assert_int_equal(plan_json(&j.plan, &with, NULL), 0);
    j.plan.cache = NULL;
    assert_int_equal(plan_json(&j.plan, &without, NULL), 0);
    assert_true(json_equal(with, without));
}

static void made_up_places_begin_again_when_ports_run_out(void **state)
{
    AUTO_JOB j = { 0 };
    const struct cluster_role *r;

    (void)state;
    job_plan(&j, C "framework: jax\nport-range: 65534-65535\nnodes: 3\n#! workers 4\n");
    r = cluster_role(j.plan.cluster, "worker");
    assert_int_equal(r->tasks[1].port[0], 65535);
    assert_int_equal(r->tasks[2].port[0], 10000);
    assert_string_equal(r->tasks[3].node, "node0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_knows_its_place),
        cmocka_unit_test(several_ports_are_a_list),
        cmocka_unit_test(what_the_user_says_wins_over_the_framework_but_not_over_us),
        cmocka_unit_test(a_users_omp_num_threads_stays),
        cmocka_unit_test(what_is_merely_inherited_does_not_change_ranks),
        cmocka_unit_test(a_command_is_the_roles_then_the_jobs_with_variables_replaced),
        cmocka_unit_test(the_error_file_is_told_where_it_is_known),
        cmocka_unit_test(a_task_that_does_not_exist_is_refused),
        cmocka_unit_test(a_role_without_a_command_is_refused),
        cmocka_unit_test(a_tf_config_beyond_the_systems_limit_is_refused),
        cmocka_unit_test(an_argument_beyond_the_systems_limit_is_refused),
        cmocka_unit_test(an_ipv6_address_stands_in_brackets_before_a_port),
        cmocka_unit_test(python_writes_at_once_unless_somebody_says_otherwise),
        cmocka_unit_test(people_see_once_what_is_common_and_then_what_differs),
        cmocka_unit_test(a_long_value_shows_where_it_differs),
        cmocka_unit_test(commands_of_different_length_are_shown_whole),
        cmocka_unit_test(bytes_that_are_not_for_a_terminal_are_made_harmless),
        cmocka_unit_test(a_cache_changes_nothing),
        cmocka_unit_test(made_up_places_begin_again_when_ports_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
