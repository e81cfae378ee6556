/* engine_pause_test.c - when a task starts again, and after which exit codes it does at all */
#include "job/engine/engine_testing.h"

static void a_task_that_dies_young_waits_longer_each_time(void **state)
{
    static const int64_t delays[] = { 0, 1000, 2000, 4000, 8000, 16000, 30000, 30000 };
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 100);
    role(b, "worker", 1);
    run_all(b);
    for (size_t i = 0; i < COUNT_OF(delays); i++) {
        int64_t from = b->now;

        ended(b, "worker:0", 1);
        if (delays[i] > 0) {
            assert_int_equal(state_of(b, "worker:0"), TASK_FAILED);
            assert_int_equal(engine_deadline(b->e), from + delays[i]);
            pass(b, delays[i]);
        }
        assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
        pass(b, 100);
    }
    pass(b, 10000); /* this time it lived */
    ended(b, "worker:0", 1);
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
}

/* An hour ahead, an hour behind, and set while the task ran. */
static void a_nodes_clock_does_not_change_how_long_a_task_lived(void **state)
{
    static const struct {
        int64_t skew, lived, ran, delay;
    } rows[] = {
        { 3600000, 100, 100, 0 },      { 3600000, 100, 100, 1000 }, { 3600000, 0, 100, 2000 },
        { -3600000, 20000, 20000, 0 }, { -3600000, 0, 100, 1000 },
    };
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 100);
    role(b, "worker", 1);
    run_all(b);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t from;

        pass(b, rows[i].ran);
        from = b->now;
        ended_as(b, "worker:0",
                 (struct engine_end){ .cls = FAIL_EXIT,
                                      .code = 1,
                                      .when = b->now + rows[i].skew,
                                      .lived = rows[i].lived });
        if (rows[i].delay) {
            assert_int_equal(engine_deadline(b->e), from + rows[i].delay);
            pass(b, rows[i].delay);
        }
        assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
    }
}

static void a_restart_waits_at_least_as_long_as_was_said(void **state)
{
    struct bench *b = *state;
    int64_t from;

    bench_init(b, SPEC_RESTART_TASK, 100);
    b->spec.restart.delay = 1500;
    role(b, "worker", 1);
    run_all(b);
    for (int i = 0; i < 3; i++) {
        from = b->now;
        ended(b, "worker:0", 1);
        assert_int_equal(engine_deadline(b->e), from + (i == 2 ? 2000 : 1500));
        pass(b, i == 2 ? 2000 : 1500);
        assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
        pass(b, 100);
    }
}

static void an_exit_code_that_was_not_named_fails_the_job(void **state)
{
    char *codes[] = { (char *)"7", (char *)"139" };
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 100);
    b->spec.restart.codes = (struct strs){ .v = codes, .n = COUNT_OF(codes) };
    role(b, "worker", 2);
    run_all(b);
    ended(b, "worker:0", 7);
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
    ended(b, "worker:1", 8);
    assert_ended(b, JOB_FAILED, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_task_that_dies_young_waits_longer_each_time),
        TEST(a_nodes_clock_does_not_change_how_long_a_task_lived),
        TEST(a_restart_waits_at_least_as_long_as_was_said),
        TEST(an_exit_code_that_was_not_named_fails_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
