/* framework_roles_test.c - claims about framework_complete(). */
#include "framework/framework_testing.h"
#include "test.h"

#include <string.h>

/* "worker 2 d p1": count, "×procs", decides, side, ports; roles in the specification's order. */
static char *roles_of(const struct spec *s)
{
    AUTO_BUF b = { .max = 64 * KIB };

    for (size_t i = 0; i < s->n_roles; i++) {
        const struct spec_role *r = &s->roles[i];

        assert_int_equal(buf_printf(&b, "%s%s %u", i > 0 ? ", " : "", r->name, r->count), 0);
        if (r->procs > 1)
            assert_int_equal(buf_printf(&b, "x%u", r->procs), 0);
        assert_int_equal(buf_printf(&b, "%s%s", r->decides ? " d" : "", r->side ? " s" : ""), 0);
        if (r->ports > 0)
            assert_int_equal(buf_printf(&b, " p%d", r->ports), 0);
    }
    assert_non_null(buf_text(&b));
    return strdup(buf_text(&b));
}

#define C "command: x\n"

/* clang-format off */
static const struct { const char *job, *roles; } role_rows[] = {
    /* without a word, one worker */
    { C, "worker 1 d" },
    { C "framework: mxnet", "scheduler 1 p1, server 1, worker 1 d" },
    { C "framework: pytorch", "worker 1 d p1" },
    { C "framework: dask", "scheduler 1 p1, worker 1, client 1 d" },
    /* -n and -s */
    { C "#! workers 3\n", "worker 3 d" },
    { C "#! workers 3\n#! servers 2\n", "worker 3 d, server 2" },
    { C "framework: mxnet\n#! workers 3\n", "scheduler 1 p1, server 3, worker 3 d" },
    { C "framework: mxnet\n#! workers 3\n#! servers 0\n", "worker 3 d" },
    { C "framework: tf\n#! workers 2\n", "worker 2 d p1" },
    { C "framework: tf\n#! workers 2\n#! servers 1\n", "worker 2 d p1, ps 1 p1" },
    { C "framework: ray\n#! workers 4\n", "head 1 p1, worker 4, client 1 d" },
    /* flags win over the file; the file's order stays */
    { C "framework: mxnet\nroles: {worker: 2, server: 2}\n#! workers 5\n#! servers 1\n",
      "worker 5 d, server 1, scheduler 1 p1" },
    { C "framework: mxnet\nroles: {worker: 4}", "worker 4 d, scheduler 1 p1, server 4" },
    { C "framework: mxnet\nroles: {worker: 4, server: 0}", "worker 4 d, server 0" },
    /* who decides */
    { C "framework: tf\nroles: {chief: 1, worker: 2}", "chief 1 d p1, worker 2 d p1" },
    { C "framework: tf\nroles: {ps: 1, chief: 1, worker: 2, evaluator: 1}",
      "ps 1 p1, chief 1 d p1, worker 2 p1, evaluator 1 s" },
    { C "framework: tf\nroles: {worker: 2, evaluator: {decides: true, side: false}}",
      "worker 2 p1, evaluator 1 d" },
    { C "framework: tf\nroles: {worker: {decides: true, count: 2}, evaluator: {decides: true}}",
      "worker 2 d p1, evaluator 1 d" },
    { C "framework: pytorch\nroles: {worker: 2, proxy: 1}", "worker 2 d p1, proxy 1" },
    { C "framework: pytorch\nroles: {worker: 2, judge: {decides: true}}",
      "worker 2 p1, judge 1 d" },
    { C "framework: slider\nroles: {ps: 2, chiefworker: 1, worker: 2, tensorboard: 1}",
      "ps 2, chiefworker 1 d, worker 2 d, tensorboard 1 s" },
    { C "framework: slider\nroles: {ps: 2, tensorboard: 1}", "ps 2 d, tensorboard 1 d" },
    { C "framework: slider\nroles: {ps: 1, worker: 2, client: {decides: true}}",
      "ps 1, worker 2, client 1 d" },
    { C "roles: {a: 1, b: 1}", "a 1 d, b 1 d" },
    /* ports that are asked for by number, or only published */
    { "roles: {a: {command: 'x {port:2}'}, b: {command: x, exports: {g/n: '{port}'}}}",
      "a 1 d p3, b 1 d p1" },
    { C "roles: {a: 1, b: {side: true}}", "a 1 d, b 1 s" },
    { C "roles: {a: {decides: true}, b: 1}", "a 1 d, b 1" },
    { C "roles: {a: {decides: false}, b: 1}", "a 1, b 1 d" },
    { C "roles: {server: 1, b: 1}", "server 1, b 1 d" },
    /* --procs is for who works, and a chief is one process */
    { C "framework: pytorch\n#! workers 2\n#! procs 4\n", "worker 2x4 d p1" },
    { C "framework: tf\nroles: {chief: 1, worker: 2}\n#! procs 2\n",
      "chief 1 d p1, worker 2x2 d p1" },
    { C "roles: {a: 1, b: {side: true}}\n#! procs 2\n", "a 1x2 d, b 1 s" },
    /* ports where they are used */
    { "command: x {port}\nroles: {a: 1, b: {command: y}}", "a 1 d p1, b 1 d" },
    { "command: x {{port}}\n", "worker 1 d" },
    { C "env: {A: '{port}'}\n", "worker 1 d p1" },
    { "command: x {port:b:0}\nroles: {a: 1, b: {command: y}}", "a 1 d, b 1 d p1" },
    { "command: x {port}\nroles: {a: {ports: 3}}", "a 1 d p3" },
    { C "framework: pytorch\nroles: {worker: {ports: 2}}", "worker 1 d p2" },
    /* TensorBoard is nobody's */
    { C "framework: mxnet\ntensorboard: out/tb\n#! workers 1\n",
      "scheduler 1 p1, server 1, worker 1 d, tensorboard 1 s p1" },
};
/* clang-format on */

static void roles_are_made_counted_and_told_who_decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(role_rows); i++) {
        AUTO_JOB j = { 0 };
        AUTO_FREE char *roles = NULL;

        job_plan(&j, role_rows[i].job);
        roles = roles_of(&j.spec);
        assert_string_equal(roles, role_rows[i].roles);
    }
}

static void what_cannot_be_is_a_fault(void **state)
{
    /* clang-format off */
    static const struct { const char *job, *fault; } rows[] = {
        { C "framework: mxnet\nroles: {worker: 1, scheduler: 2}",
          "roles.scheduler.count: framework 'mxnet' has at most one task of this role" },
        { C "framework: tf\nroles: {worker: 1, chief: {procs: 2}}",
          "roles.chief.procs: framework 'tensorflow' has at most one task of this role" },
        { C "framework: pytorch\n#! workers 2\n#! servers 1\n",
          "--servers: framework 'pytorch' has no servers" },
        { C "framework: pytorch\nroles: {wroker: 2}",
          "roles: framework 'pytorch' needs a role 'worker' (did you mean 'wroker'?)" },
        { C "framework: horovod\nroles: {trainer: 2}",
          "roles: framework 'horovod' needs a role 'worker'" },
        { C "framework: jax\nroles: {worker: 0}",
          "roles: framework 'jax' needs a role 'worker'" },
        { C "framework: jax\nroles: {worker: {ports: 0}}",
          "roles.worker.ports: framework 'jax' needs 1 for each task" },
        { "framework: ray\n#! workers 2\n",
          "command: framework 'ray' runs the job's command, and there is none: add one after --" },
        { "framework: mxnet\n#! workers 2\n",
          "Nothing to run. Try: ydl run -n 2 -- python train.py" },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JOB j = { 0 };

        assert_int_equal(job_read(&j, NULL, rows[i].job), -EINVAL);
        assert_non_null(strstr(job_faults(&j), rows[i].fault));
    }
}

static void doing_it_again_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; framework_table[i]; i++) {
        AUTO_FREE char *text = str_printf("framework: %s\ncommand: x {port}\ntensorboard: tb\n"
                                          "restart: {max: 2}\n#! workers 2\n#! mem 1g\n#! cpus 2\n",
                                          framework_table[i]->name);
        AUTO_JOB j = { 0 };
        AUTO_JSON *before = NULL, *after = NULL;

        assert_non_null(text);
        job_plan(&j, text);
        assert_int_equal(spec_json(&j.spec, &before, NULL), 0);
        assert_int_equal(framework_complete(j.framework, &j.spec, &j.faults), 0);
        assert_int_equal(spec_json(&j.spec, &after, NULL), 0);
        assert_true(json_equal(before, after));
    }
}

/* The master does not complete what it reads: all that the client knows of a job is in it. */
static void a_completed_job_travels_unchanged(void **state)
{
    static const char *const flags[] = {
        "#! workers 2\n#! procs 2\n",
        "#! workers 2\n#! servers 1\n#! max-restarts 2\n#! mem 1g\n#! cpus 2\n#! gpus 1\n",
        "tensorboard: tb\nrestart: {max: 2}\n#! workers 3\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        for (size_t k = 0; framework_table[k]; k++) {
            AUTO_FREE char *text = str_printf("framework: %s\ncommand: x {port}\n%s",
                                              framework_table[k]->name, flags[i]);
            AUTO_JOB here = { 0 }, there = { 0 };
            AUTO_JSON *before = NULL, *after = NULL;

            assert_non_null(text);
            if (job_read(&here, NULL, text) == -EINVAL)
                continue; /* a framework without servers */
            job_receive(&there, &here.spec);
            job_done(&here);
            here = (struct job){ 0 };
            job_plan(&here, text);
            assert_int_equal(plan_json(&here.plan, &before, NULL), 0);
            assert_int_equal(plan_json(&there.plan, &after, NULL), 0);
            assert_true(json_equal(before, after));
        }
}

static void restarts_without_a_policy_get_the_frameworks(void **state)
{
    /* clang-format off */
    static const struct { const char *job; enum spec_policy policy; } rows[] = {
        { C, SPEC_RESTART_DEFAULT },
        { C "#! max-restarts 2\n", SPEC_RESTART_TASK },
        { C "framework: pytorch\n#! max-restarts 2\n", SPEC_RESTART_GANG },
        { C "framework: pytorch\nrestart: task\n#! max-restarts 2\n", SPEC_RESTART_TASK },
        { C "framework: tf\n#! max-restarts 2\n#! workers 2\n", SPEC_RESTART_GANG },
        { C "framework: tf\n#! max-restarts 2\n#! workers 2\n#! servers 1\n", SPEC_RESTART_TASK },
        { C "framework: mxnet\n#! max-restarts 2\n", SPEC_RESTART_GANG },
        { C "framework: rabit\n#! max-restarts 2\n", SPEC_RESTART_TASK },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JOB j = { 0 };

        job_plan(&j, rows[i].job);
        assert_int_equal(j.spec.restart.policy, rows[i].policy);
    }
}

static void a_role_that_asks_for_restarts_asks_for_itself_only(void **state)
{
    AUTO_JOB j = { 0 };

    (void)state;
    job_plan(&j, C "framework: pytorch\nroles: {worker: {restart: {max: 1}}, other: 1}");
    assert_int_equal(j.spec.restart.policy, SPEC_RESTART_DEFAULT);
    assert_int_equal(spec_role(&j.spec, "worker")->restart.policy, SPEC_RESTART_GANG);
    assert_int_equal(spec_role(&j.spec, "other")->restart.policy, SPEC_RESTART_DEFAULT);
}

static void a_frameworks_own_programs_wait_for_their_server(void **state)
{
    AUTO_JOB j = { 0 }, own = { 0 };
    const struct spec_role *worker;

    (void)state;
    job_plan(&j, C "framework: dask\n#! workers 1\n");
    worker = spec_role(&j.spec, "worker");
    assert_int_equal(worker->after.n, 1);
    assert_string_equal(worker->after.v[0].role, "scheduler");
    assert_int_equal(worker->after.v[0].when, SPEC_AFTER_READY);
    assert_int_equal(spec_role(&j.spec, "scheduler")->ready.kind, SPEC_READY_PORT);
    assert_true(spec_role(&j.spec, "scheduler")->ready.timeout > 0);

    job_plan(&own, C "framework: dask\nroles: {scheduler: {ready: {log: up}}, worker: "
                     "{after: {scheduler: started}}}");
    assert_int_equal(spec_role(&own.spec, "scheduler")->ready.kind, SPEC_READY_LOG);
    assert_int_equal(spec_role(&own.spec, "worker")->after.v[0].when, SPEC_AFTER_STARTED);
}

static void memory_of_the_flags_is_for_who_works(void **state)
{
    AUTO_JOB j = { 0 };

    (void)state;
    job_plan(&j, C "framework: mxnet\n#! workers 2\n#! servers 1\n#! mem 1g\n#! gpus 2\n");
    assert_int_equal(spec_role(&j.spec, "worker")->memory, 1024 * MIB);
    assert_int_equal(spec_role(&j.spec, "worker")->gpus, 2);
    assert_int_equal(spec_role(&j.spec, "server")->memory, 0);
    assert_int_equal(spec_role(&j.spec, "scheduler")->gpus, 0);
}

static void a_role_that_may_be_misspelt_is_not_missed(void **state)
{
    AUTO_JOB j = { 0 };

    (void)state;
    assert_int_equal(job_read(&j, NULL, C "framework: jax\nrloes: {worker: 2}"), -EINVAL);
    (void)framework_complete(framework_table[0], &j.spec, &j.faults);
    assert_int_equal(j.faults.lines.n, 1);
    assert_non_null(strstr(job_faults(&j), "rloes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_are_made_counted_and_told_who_decides),
        cmocka_unit_test(what_cannot_be_is_a_fault),
        cmocka_unit_test(doing_it_again_changes_nothing),
        cmocka_unit_test(a_completed_job_travels_unchanged),
        cmocka_unit_test(restarts_without_a_policy_get_the_frameworks),
        cmocka_unit_test(a_role_that_asks_for_restarts_asks_for_itself_only),
        cmocka_unit_test(a_frameworks_own_programs_wait_for_their_server),
        cmocka_unit_test(memory_of_the_flags_is_for_who_works),
        cmocka_unit_test(a_role_that_may_be_misspelt_is_not_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
