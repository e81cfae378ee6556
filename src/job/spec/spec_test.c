/* spec_test.c - reading good job files; see spec.h */
#include "job/spec/spec.h"
#include "test.h"

#include <string.h>

static int parse(const char *text, struct spec *s, struct spec_faults *f)
{
    spec_init(s);
    return spec_parse("job.yaml", text, strlen(text), s, f);
}

/* Parses a good text. */
#define GOOD(s, text)                                                                              \
    AUTO_SPEC_FAULTS faults_ = { 0 };                                                              \
    AUTO_SPEC s = { 0 };                                                                           \
    assert_int_equal(parse(text, &s, &faults_), 0)

static void a_new_specification_has_the_defaults(void **state)
{
    AUTO_SPEC s = { 0 };
    struct spec_role *r = NULL;

    (void)state;
    spec_init(&s);
    assert_int_equal(s.gang_hold, 300000);
    assert_int_equal(s.gang_retry, SPEC_FOREVER);
    assert_int_equal(s.grace, 30000);
    assert_int_equal(s.priority, -1);
    assert_int_equal(s.restart.max, -1);
    assert_int_equal(s.working.workers, -1);
    assert_int_equal(s.working.memory, -1);
    assert_int_equal(spec_add_role(&s, "worker", &r), 0);
    assert_int_equal(r->count, 1);
    assert_int_equal(r->procs, 0);
    assert_int_equal(r->side, -1);
    assert_int_equal(r->decides, -1);
    assert_int_equal(r->ports, -1);
    assert_int_equal(r->restart.max, -1);
    assert_int_equal(spec_add_role(&s, "worker", NULL), -EEXIST);
    assert_ptr_equal(spec_role(&s, "worker"), r);
    assert_null(spec_role(&s, "nobody"));
    assert_int_equal(spec_tasks(&s), 1);
}

static void a_job_has_at_most_64_roles(void **state)
{
    AUTO_SPEC s = { 0 };
    char name[8];

    (void)state;
    spec_init(&s);
    for (unsigned i = 0; i < SPEC_ROLES_MAX; i++) {
        snprintf(name, sizeof(name), "r%u", i);
        assert_int_equal(spec_add_role(&s, name, NULL), 0);
    }
    assert_int_equal(spec_add_role(&s, "more", NULL), -E2BIG);
}

static void the_example_of_the_manual_is_understood(void **state)
{
    const struct spec_role *w;

    (void)state;
    GOOD(s, "name: mnist\nframework: tensorflow\nqueue: default\nroles:\n"
            "  ps:     {count: 1, memory: 1g, cpus: 1}\n"
            "  worker: {count: 2, memory: 2g, cpus: 2, gpus: 1, procs: 1, "
            "command: python train.py --epochs 3}\n"
            "files:    [train.py, conf/: conf, hdfs:///data/mnist: data]\n"
            "archives: [env.tar.gz: env]\nenv:      {OMP_NUM_THREADS: \"2\"}\nimage:    null\n"
            "restart:  {policy: task, max: 3, window: 1h}\n"
            "gang:     {hold: 5m, retry: forever}\ngrace:    30s\n"
            "output:   {out/: hdfs:///user/me/mnist/}\ntensorboard: {logdir: out/tb}\n");
    assert_string_equal(s.name, "mnist");
    assert_string_equal(s.queue, "default");
    assert_int_equal(s.n_roles, 2);
    assert_string_equal(s.roles[0].name, "ps");
    assert_int_equal(s.roles[0].line, 5);
    w = spec_role(&s, "worker");
    assert_int_equal(w->count, 2);
    assert_true(w->memory == 2ull << 30);
    assert_int_equal(w->gpus, 1);
    assert_int_equal(w->command.n, 4);
    assert_string_equal(w->command.v[3], "3");
    assert_int_equal(s.files.n, 3);
    assert_string_equal(s.files.v[0].from, "train.py");
    assert_null(s.files.v[0].to);
    assert_string_equal(s.files.v[1].from, "conf/");
    assert_string_equal(s.files.v[1].to, "conf");
    assert_string_equal(s.files.v[2].from, "hdfs:///data/mnist");
    assert_string_equal(s.archives.v[0].to, "env");
    assert_string_equal(s.env.v[0].value, "2");
    assert_null(s.image);
    assert_int_equal(s.restart.policy, SPEC_RESTART_TASK);
    assert_int_equal(s.restart.max, 3);
    assert_int_equal(s.restart.window, 3600000);
    assert_string_equal(s.output.v[0].from, "out/");
    assert_string_equal(s.tensorboard, "out/tb");
}

static void a_plain_number_is_a_count(void **state)
{
    (void)state;
    GOOD(s, "roles: {worker: 4, ps: , chief: {}}");
    assert_int_equal(s.roles[0].count, 4);
    assert_int_equal(s.roles[1].count, 1);
    assert_int_equal(s.roles[2].count, 1);
}

static void a_plain_policy_is_a_restart_and_a_plain_directory_a_tensorboard(void **state)
{
    (void)state;
    GOOD(s, "restart: gang\ntensorboard: logs\nroles: {w: {restart: never}}");
    assert_int_equal(s.restart.policy, SPEC_RESTART_GANG);
    assert_int_equal(s.roles[0].restart.policy, SPEC_RESTART_NEVER);
    assert_string_equal(s.tensorboard, "logs");
}

static void after_has_several_forms(void **state)
{
    static const struct {
        const char *text;
        enum spec_when when;
    } rows[] = {
        { "ps", SPEC_AFTER_READY },
        { "ps started", SPEC_AFTER_STARTED },
        { "[ps]", SPEC_AFTER_READY },
        { "[ps finished]", SPEC_AFTER_FINISHED },
        { "[{ps: ready}]", SPEC_AFTER_READY },
        { "[ps: finished]", SPEC_AFTER_FINISHED },
        { "{ps: started}", SPEC_AFTER_STARTED },
        { "{ps: }", SPEC_AFTER_READY },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = str_printf("roles: {ps: 1, w: {after: %s}}", rows[i].text);

        assert_non_null(text);
        GOOD(s, text);
        assert_int_equal(s.roles[1].after.n, 1);
        assert_string_equal(s.roles[1].after.v[0].role, "ps");
        assert_int_equal(s.roles[1].after.v[0].when, rows[i].when);
    }
}

static void ready_has_several_forms(void **state)
{
    static const struct {
        const char *text;
        enum spec_ready_kind kind;
        const char *what;
        int64_t timeout;
    } rows[] = {
        { "port", SPEC_READY_PORT, NULL, 0 },
        { "{port: true}", SPEC_READY_PORT, NULL, 0 },
        { "{http: /health}", SPEC_READY_HTTP, "/health", 0 },
        { "{file: x}", SPEC_READY_FILE, "x", 0 },
        { "{log: \"text\", timeout: 30s}", SPEC_READY_LOG, "text", 30000 },
        { "{timeout: 5, port: true}", SPEC_READY_PORT, NULL, 5000 },
        { "null", SPEC_READY_NONE, NULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = str_printf("roles: {w: {ready: %s}}", rows[i].text);

        assert_non_null(text);
        GOOD(s, text);
        assert_int_equal(s.roles[0].ready.kind, rows[i].kind);
        assert_true(str_eq(s.roles[0].ready.what, rows[i].what));
        assert_int_equal(s.roles[0].ready.timeout, rows[i].timeout);
    }
}

static void files_have_several_forms(void **state)
{
    static const struct {
        const char *text, *from, *to;
    } rows[] = {
        { "a", "a", NULL },
        { "[a]", "a", NULL },
        { "[a: b]", "a", "b" },
        { "[{a: b}]", "a", "b" },
        { "[a: ]", "a", NULL },
        { "{a: b}", "a", "b" },
        { "[{from: a, to: b}]", "a", "b" },
        { "[{to: b, from: a}]", "a", "b" },
        { "[from: b]", "from", "b" },
        { "[hdfs://nn:8020/a b: c]", "hdfs://nn:8020/a b", "c" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = str_printf("files: %s\n", rows[i].text);

        assert_non_null(text);
        GOOD(s, text);
        assert_int_equal(s.files.n, 1);
        assert_string_equal(s.files.v[0].from, rows[i].from);
        assert_true(str_eq(s.files.v[0].to, rows[i].to));
    }
}

static void values_of_the_environment_are_text_as_written(void **state)
{
    (void)state;
    GOOD(s, "env: {A: 0.10, B: true, C: 1_000, D: \"\", E: 'null', F: 2024-01-01, G: \"a\\tb\"}");
    assert_string_equal(s.env.v[0].value, "0.10");
    assert_string_equal(s.env.v[1].value, "true");
    assert_string_equal(s.env.v[2].value, "1_000");
    assert_string_equal(s.env.v[3].value, "");
    assert_string_equal(s.env.v[4].value, "null");
    assert_string_equal(s.env.v[5].value, "2024-01-01");
    assert_string_equal(s.env.v[6].value, "a\tb");
}

static void what_the_flags_said_reaches_the_roles_that_the_framework_names(void **state)
{
    struct spec_role *ps;

    (void)state;
    GOOD(s, "roles: {ps: {count: 9, memory: 1g, gpus: 3}}");
    s.working = (struct spec_working){ 4, 2, -1, -1, 0, 8 };
    assert_int_equal(spec_role_count(&s, "ps", s.working.servers), 0);
    assert_int_equal(spec_role_count(&s, "worker", s.working.workers), 0);
    assert_int_equal(spec_role_count(&s, "chief", -1), 0);
    assert_int_equal(s.n_roles, 2);
    ps = spec_role(&s, "ps");
    assert_int_equal(ps->count, 2);
    assert_int_equal(spec_role(&s, "worker")->count, 4);
    spec_working_role_apply(&s, ps);
    assert_true(ps->memory == 1u << 30); /* not said */
    assert_int_equal(ps->gpus, 0);
    assert_int_equal(ps->procs, 8);
    assert_int_equal(spec_tasks(&s), 2 * 8 + 4);
}

static void the_last_value_of_a_variable_counts(void **state)
{
    AUTO_SPEC s = { 0 };

    (void)state;
    spec_init(&s);
    for (char c[] = "a"; *c <= 'z'; c[0]++) {
        assert_int_equal(spec_set_var(&s.env, c, "1"), 0);
        assert_int_equal(spec_set_var(&s.env, c, c), 0);
    }
    assert_int_equal(s.env.n, 26);
    assert_string_equal(s.env.v[25].value, "z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_specification_has_the_defaults),
        cmocka_unit_test(a_job_has_at_most_64_roles),
        cmocka_unit_test(the_example_of_the_manual_is_understood),
        cmocka_unit_test(a_plain_number_is_a_count),
        cmocka_unit_test(a_plain_policy_is_a_restart_and_a_plain_directory_a_tensorboard),
        cmocka_unit_test(after_has_several_forms),
        cmocka_unit_test(ready_has_several_forms),
        cmocka_unit_test(files_have_several_forms),
        cmocka_unit_test(values_of_the_environment_are_text_as_written),
        cmocka_unit_test(what_the_flags_said_reaches_the_roles_that_the_framework_names),
        cmocka_unit_test(the_last_value_of_a_variable_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
