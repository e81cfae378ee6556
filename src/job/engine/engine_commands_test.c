/* engine_commands_test.c - restarts and scaling that a person asks for. */
#include "job/engine/engine_testing.h"

static void restart_one(struct bench *b, const char *name)
{
    assert_int_equal(engine_restart(b->e, id_of(b, name), "me", b->now, NULL), 0);
    work(b);
}

static int scale(struct bench *b, const char *name, unsigned count, struct err *err)
{
    int r = engine_scale(b->e, name, count, "me", b->now, err);

    work(b);
    return r;
}

static void a_restart_that_a_person_wants_counts_against_nothing(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    run_all(b);
    for (uint32_t i = 1; i <= 20; i++) {
        restart_one(b, "worker:1");
        assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
        assert_int_equal(task(b, "worker:1")->attempt, i);
        assert_int_equal(task(b, "worker:0")->attempt, 0);
    }
    assert_int_equal(engine_generation(b->e), 0);
    assert_true(logged(b, "\"event\":\"request\",\"what\":\"restart\"", "\"task\":\"worker:1\""));
}

static void a_task_that_is_done_can_be_started_again(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    run_all(b);
    ended(b, "worker:1", 0);
    restart_one(b, "worker:1");
    ended(b, "worker:0", 0);
    assert_int_equal(engine_state(b->e), JOB_RUNNING); /* its success is awaited again */
    ended(b, "worker:1", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void a_person_can_restart_the_gang(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 3);
    run_all(b);
    assert_int_equal(engine_restart(b->e, EVERYBODY, "me", b->now, NULL), 0);
    work(b);
    assert_int_equal(engine_generation(b->e), 1);
    assert_int_equal(b->done[ACTION_STOP], 3);
    assert_int_equal(b->done[ACTION_START], 3);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
}

static void a_task_that_will_not_die_is_given_another_container(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 1);
    role(b, "worker", 2);
    run_all(b);
    b->lazy = true;
    restart_one(b, "worker:1");
    pass(b, 39999);
    b->lazy = false;
    pass(b, 1);
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(engine_generation(b->e), 1);
    assert_int_equal(task(b, "worker:1")->attempt, 1);
}

static void an_elastic_job_grows_and_shrinks_while_it_runs(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 3);
    b->opt.elastic = true;
    role(b, "scheduler", 1)->decides = 1;
    role(b, "worker", 2)->decides = 0;
    run_all(b);
    assert_int_equal(scale(b, "worker", 4, NULL), 0);
    assert_int_equal(state_of(b, "worker:3"), TASK_RUNNING);
    assert_int_equal(id_of(b, "worker:3"), 4);
    assert_int_equal(b->done[ACTION_STOP], 0);
    assert_int_equal(engine_role_count(b->e, 1), 4);
    assert_int_equal(scale(b, "worker", 1, NULL), 0);
    assert_int_equal(b->done[ACTION_STOP], 3); /* the highest ranks */
    assert_int_equal(b->done[ACTION_RELEASE], 3);
    assert_false(engine_in_gang(b->e, 4));
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
    assert_int_equal(engine_find_task(b->e, "worker:1", &b->last[0], NULL), -ENOENT);
    assert_int_equal(scale(b, "worker", 2, NULL), 0);
    assert_int_equal(id_of(b, "worker:1"), 2); /* its number, again */
    assert_int_equal(task(b, "worker:1")->attempt, 1);
    assert_int_equal(engine_generation(b->e), 0);
    ended(b, "scheduler:0", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void a_gang_is_formed_anew_with_its_new_size(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 3);
    role(b, "worker", 2);
    run_all(b);
    assert_int_equal(scale(b, "worker", 3, NULL), 0);
    assert_int_equal(engine_generation(b->e), 1);
    assert_int_equal(b->done[ACTION_START], 3);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    forget_counts(b);
    assert_int_equal(scale(b, "worker", 1, NULL), 0);
    assert_int_equal(b->done[ACTION_STOP], 3);
    assert_int_equal(b->done[ACTION_START], 1);
    ended(b, "worker:0", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void scaling_away_the_last_that_was_not_done_is_success(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    b->opt.elastic = true;
    role(b, "worker", 3);
    run_all(b);
    ended(b, "worker:0", 0);
    assert_int_equal(scale(b, "worker", 1, NULL), 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void wishes_that_cannot_be_are_refused_with_a_sentence(void **state)
{
    struct bench *b = *state;
    struct err err = ERR_INIT;

    bench_init(b, SPEC_RESTART_TASK, 3);
    role(b, "worker", 2);
    begin(b);
    assert_int_equal(engine_restart(b->e, 0, "me", b->now, &err), -EBUSY);
    assert_string_equal(err.text, "the job is NEW");
    b->e = engine_free(b->e);
    run_all(b);
    assert_int_equal(scale(b, "worker", 3, &err), -EOPNOTSUPP);
    assert_int_equal(scale(b, "worker", 0, &err), -EINVAL);
    assert_int_equal(scale(b, "wroker", 3, &err), -ENOENT);
    assert_string_equal(err.hint, "did you mean 'worker'?");
    assert_int_equal(engine_restart(b->e, 77, "me", b->now, &err), -EINVAL);
    b->e = engine_free(b->e);
    b->opt.elastic = true;
    run_all(b);
    assert_int_equal(scale(b, "worker", SPEC_TASKS_MAX + 1, &err), -E2BIG);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(engine_n_tasks(b->e), 2);
}

static void tasks_are_found_by_their_names(void **state)
{
    static const struct {
        const char *name;
        int r;
    } rows[] = {
        { "worker:0", 0 },
        { "worker:3", 0 },
        { "worker:4", -ENOENT },
        { "worker", -EINVAL },
        { "worker:", -EINVAL },
        { "worker:-1", -EINVAL },
        { "worker:x", -EINVAL },
        { "work:0", -ENOENT },
        { "worker:0x", -EINVAL },
        { "", -EINVAL },
        { "worker:99999999999999999999", -EINVAL },
    };
    struct bench *b = *state;
    uint32_t id;

    bench_init(b, SPEC_RESTART_TASK, 3);
    role(b, "worker", 2)->procs = 2;
    begin(b);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(engine_find_task(b->e, rows[i].name, &id, NULL), rows[i].r);
}

static void a_job_that_nobody_decides_is_refused(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "board", 1)->side = 1;
    assert_int_equal(engine_new(&b->spec, NULL, &b->e, NULL), -EINVAL);
    role(b, "worker", SPEC_TASKS_MAX);
    assert_int_equal(engine_new(&b->spec, NULL, &b->e, NULL), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_restart_that_a_person_wants_counts_against_nothing),
        TEST(a_task_that_is_done_can_be_started_again),
        TEST(a_person_can_restart_the_gang),
        TEST(a_task_that_will_not_die_is_given_another_container),
        TEST(an_elastic_job_grows_and_shrinks_while_it_runs),
        TEST(a_gang_is_formed_anew_with_its_new_size),
        TEST(scaling_away_the_last_that_was_not_done_is_success),
        TEST(wishes_that_cannot_be_are_refused_with_a_sentence),
        TEST(tasks_are_found_by_their_names),
        TEST(a_job_that_nobody_decides_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
