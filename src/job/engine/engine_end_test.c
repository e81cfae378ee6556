/* engine_end_test.c - success, the first failure, stops and limits: how a job ends.
 * Words in quotes before a test are what users of other launchers complain about. */
#include "job/engine/engine_private.h"
#include "job/engine/engine_testing.h"

static void ps_and_workers(struct bench *b, enum spec_policy policy)
{
    bench_init(b, policy, 3);
    role(b, "ps", 1)->decides = 0;
    role(b, "worker", 2)->decides = 1;
}

/* "not stopping when the chief is done". */
static void servers_are_stopped_when_the_workers_are_done(void **state)
{
    struct bench *b = *state;

    ps_and_workers(b, SPEC_RESTART_NEVER);
    run_all(b);
    ended(b, "worker:0", 0);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    ended(b, "worker:1", 0);
    assert_int_equal(b->done[ACTION_STOP], 1);
    assert_int_equal(b->last[ACTION_STOP], id_of(b, "ps:0"));
    assert_ended(b, JOB_SUCCEEDED, 0);
    assert_int_equal(outcome_of(b).task, UINT32_MAX);
    assert_int_equal(b->done[ACTION_END], 1);
    assert_true(logged(b, "\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":0", NULL));
}

/* Whoever reads the log alone hears what `wait` ends with. */
static void what_could_not_be_saved_is_in_the_last_record(void **state)
{
    struct bench *b = *state;

    for (int code = 0; code <= 9; code += 9) {
        ps_and_workers(b, SPEC_RESTART_NEVER);
        run_all(b);
        engine_set_unsaved(b->e);
        ended(b, "worker:0", code);
        if (code == 0)
            ended(b, "worker:1", 0);
        assert_true(logged(b,
                           code ? "\"event\":\"end\",\"state\":\"FAILED\",\"exit\":9"
                                : "\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":73",
                           "\"unsaved\":true"));
        b->e = engine_free(b->e);
        buf_done(&b->log);
    }
}

static void a_server_may_end_well_but_not_badly(void **state)
{
    struct bench *b = *state;

    ps_and_workers(b, SPEC_RESTART_NEVER);
    run_all(b);
    ended(b, "ps:0", 0);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    b->e = engine_free(b->e);
    buf_done(&b->log);
    ps_and_workers(b, SPEC_RESTART_NEVER);
    run_all(b);
    ended(b, "ps:0", 9);
    assert_ended(b, JOB_FAILED, 9);
}

/* Every task is told to start; with `lazy` none has said yet that it did. */
static void all_but_starts(struct bench *b)
{
    bool lazy = b->lazy;
    struct action a;

    begin(b);
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    while (engine_next_action(b->e, &a))
        if (a.kind != ACTION_START || !lazy)
            do_action(b, &a);
    b->lazy = true;
}

/* The clocks of agent and master are not one; nor does the agent's have to have said that a task
 * started, before it says that it did not start it because it was to end. */
static void what_ends_because_it_was_told_to_is_done_whatever_the_clocks_say(void **state)
{
    static const struct {
        bool started, asked;
        enum task_state state;
    } rows[] = {
        { false, true, TASK_DONE },
        { true, true, TASK_DONE },
        { true, false, TASK_FAILED },
    };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct engine_end end = { .cls = FAIL_PERSON, .code = 143, .asked = rows[i].asked };

        ps_and_workers(b, SPEC_RESTART_NEVER);
        b->lazy = !rows[i].started;
        all_but_starts(b);
        assert_int_equal(engine_stop(b->e, "me", b->now, NULL), 0);
        end.when = b->now - 1;
        ended_as(b, "ps:0", end);
        assert_int_equal(task(b, "ps:0")->state, rows[i].state);
        b->e = engine_free(b->e);
        buf_done(&b->log);
    }
}

/* "failed, but the others keep running", "does not fail fast". */
static void one_failure_stops_everybody(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 10);
    run_all(b);
    b->lazy = true;
    ended(b, "worker:4", 3);
    assert_int_equal(b->done[ACTION_STOP], 9);
    assert_int_equal(engine_state(b->e), JOB_FINISHING);
    assert_int_equal(outcome_of(b).exit, 3);
}

/* "the first error is lost". */
static void the_story_is_the_first_failure_in_time_not_in_arrival(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 4);
    run_all(b);
    b->lazy = true;
    b->now += 1000;
    ended_as(b, "worker:2", (struct engine_end){ .cls = FAIL_EXIT, .code = 1, .when = T0 + 500 });
    assert_int_equal(outcome_of(b).exit, 1);
    b->now += 10;
    ended_as(b, "worker:3",
             (struct engine_end){ .cls = FAIL_SIGNAL,
                                  .signal = 11,
                                  .when = T0 + 400,
                                  .text = "segmentation fault",
                                  .lines = "loading\nboom\n" });
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_EXIT, .code = 7, .when = T0 + 450 });
    ended_as(b, "worker:0", (struct engine_end){ .cls = FAIL_EXIT, .code = 8, .when = T0 + 1005 });
    assert_ended(b, JOB_FAILED, 139);
    assert_int_equal(outcome_of(b).task, 3);
    assert_int_equal(outcome_of(b).signal, 11);
    assert_string_equal(outcome_of(b).text, "segmentation fault");
    assert_string_equal(outcome_of(b).lines, "loading\nboom\n");
    assert_non_null(outcome_of(b).hint);
    assert_true(logged(b, "\"event\":\"story\",\"task\":\"worker:3\"", "boom"));
    assert_true(logged(b, "\"event\":\"end\"", "\"whose\":\"worker:3\""));
    assert_int_equal(state_of(b, "worker:0"), TASK_DONE); /* our stop ended it */
    assert_int_equal(state_of(b, "worker:1"), TASK_FAILED);
}

/* "returns 0 though nodes failed", "failed, without an exit code". */
static void every_kind_of_end_has_its_exit_code(void **state)
{
    static const struct {
        struct engine_end end;
        int exit;
    } rows[] = {
        { { .cls = FAIL_EXIT, .code = 1 }, 1 },
        { { .cls = FAIL_EXIT, .code = 255 }, 255 },
        { { .cls = FAIL_EXIT, .code = 256 }, 1 },
        { { .cls = FAIL_NONE, .code = 3 }, 3 },
        { { .cls = FAIL_SIGNAL, .signal = 6 }, 134 },
        { { .cls = FAIL_SIGNAL, .signal = 15 }, 143 },
        { { .cls = FAIL_MEMORY, .signal = 9 }, 137 },
        { { .cls = FAIL_MEMORY, .code = 1 }, 137 },
        { { .cls = FAIL_START }, 127 },
        { { .cls = FAIL_FILES }, 1 },
        { { .cls = FAIL_PORT }, 75 },
        { { .cls = FAIL_DISK }, 75 },
        { { .cls = FAIL_NOT_READY, .signal = 9 }, 124 },
        { { .cls = FAIL_LOG_LIMIT }, 153 },
        { { .cls = FAIL_IMAGE }, 125 },
        { { .cls = FAIL_NODE }, 75 },
        { { .cls = FAIL_PREEMPTED }, 75 },
        { { .cls = FAIL_PERSON, .signal = 9 }, 143 },
    };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench_init(b, SPEC_RESTART_NEVER, -1);
        role(b, "worker", 2);
        run_all(b);
        ended_as(b, "worker:1", rows[i].end);
        assert_ended(b, JOB_FAILED, rows[i].exit);
        assert_non_null(outcome_of(b).text);
        b->e = engine_free(b->e);
        buf_done(&b->log);
    }
}

static void a_failure_that_was_got_over_is_not_the_story(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 1);
    role(b, "worker", 2);
    run_all(b);
    ended(b, "worker:0", 3);
    assert_int_equal(outcome_of(b).task, UINT32_MAX); /* it runs again */
    pass(b, 60000);
    ended(b, "worker:1", 4);
    pass(b, 60000);
    ended(b, "worker:1", 5);
    assert_ended(b, JOB_FAILED, 5);
}

static void side_tasks_never_matter(void **state)
{
    struct bench *b = *state;

    ps_and_workers(b, SPEC_RESTART_TASK);
    role(b, "board", 2)->side = 1;
    b->roles[2].decides = 0;
    run_all(b);
    ended(b, "board:0", 1);
    assert_int_equal(state_of(b, "board:0"), TASK_FAILED); /* not restarted: it did not say so */
    lost(b, "board:1", FAIL_NODE);
    assert_int_equal(state_of(b, "board:1"), TASK_LOST);
    assert_int_equal(engine_generation(b->e), 0);
    assert_int_equal(b->done[ACTION_STOP], 0);
    ended(b, "worker:0", 1);
    ended(b, "worker:0", 0);
    ended(b, "worker:1", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void a_side_task_restarts_when_its_role_says_so(void **state)
{
    struct bench *b = *state;
    struct spec_role *board;

    ps_and_workers(b, SPEC_RESTART_NEVER);
    board = role(b, "board", 1);
    board->side = 1;
    board->decides = 0;
    board->restart = (struct spec_restart){ SPEC_RESTART_TASK, 2, 0 };
    run_all(b);
    ended(b, "board:0", 1);
    assert_int_equal(state_of(b, "board:0"), TASK_RUNNING);
    lost(b, "board:0", FAIL_NODE); /* it moves, and nobody else is told */
    assert_int_equal(state_of(b, "board:0"), TASK_RUNNING);
    assert_int_equal(engine_generation(b->e), 0);
    ended(b, "board:0", 1);
    pass(b, 60000);
    ended(b, "board:0", 1); /* used up: it stays down, the job goes on */
    pass(b, 60000);
    assert_int_equal(state_of(b, "board:0"), TASK_FAILED);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
}

static void a_side_task_that_cannot_be_had_is_done_without(void **state)
{
    struct bench *b = *state;
    struct engine_end bad = { .cls = FAIL_FILES, .when = T0 };
    uint16_t port = 4;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 1);
    role(b, "board", 1)->side = 1;
    b->lazy = true;
    begin(b);
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(engine_on_granted(b->e, i, i, b->now, NULL), 0);
        assert_int_equal(engine_on_agent_up(b->e, i, b->now, NULL), 0);
    }
    assert_int_equal(engine_on_prepared(b->e, 0, &port, 1, b->now, NULL), 0);
    assert_int_equal(engine_on_ended(b->e, 1, &bad, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_FORM], 1);
    b->lazy = false;
    assert_int_equal(engine_on_formed(b->e, b->now, NULL), 0);
    work(b);
    ended(b, "worker:0", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

/* "start order conflicts with the gang"; "starts before the others are there". */
static void roles_start_in_the_order_they_ask_for(void **state)
{
    struct bench *b = *state;
    struct spec_role *worker;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "ps", 2)->ready.kind = SPEC_READY_PORT;
    b->roles[0].decides = 0;
    worker = role(b, "worker", 2);
    worker->decides = 1;
    after(b, worker, "ps", SPEC_AFTER_READY);
    run_all(b);
    assert_int_equal(state_of(b, "ps:1"), TASK_RUNNING);
    assert_int_equal(state_of(b, "worker:0"), TASK_READY);
    assert_int_equal(engine_on_ready(b->e, id_of(b, "ps:0"), b->now, NULL), 0);
    work(b);
    assert_int_equal(state_of(b, "worker:0"), TASK_READY);
    assert_int_equal(engine_on_ready(b->e, id_of(b, "ps:1"), b->now, NULL), 0);
    work(b);
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
    assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
}

static void a_stop_is_graceful_and_a_second_one_kills(void **state)
{
    struct bench *b = *state;
    struct err err = ERR_INIT;

    bench_init(b, SPEC_RESTART_GANG, 3);
    role(b, "worker", 2);
    run_all(b);
    b->lazy = true;
    assert_int_equal(engine_stop(b->e, "me", b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_STOP], 2);
    assert_int_equal(b->last_grace, 30000);
    ended(b, "worker:0", 1); /* no failure any more */
    assert_int_equal(engine_stop(b->e, "me", b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_STOP], 3);
    assert_int_equal(b->last_grace, 0);
    ended(b, "worker:1", 137);
    assert_ended(b, JOB_KILLED, 143);
    assert_int_equal(engine_stop(b->e, "me", b->now, &err), -EALREADY);
    assert_string_equal(err.text, "the job has ended: KILLED");
}

static void a_stop_before_anything_was_granted_ends_at_once(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    b->lazy = true;
    role(b, "worker", 2);
    begin(b);
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    assert_int_equal(engine_stop(b->e, "me", b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_RELEASE], 2); /* the asks are taken back */
    assert_ended(b, JOB_KILLED, 143);
    assert_int_equal(engine_deadline(b->e), INT64_MAX);
    assert_int_equal(engine_on_granted(b->e, 0, 1, b->now, NULL), 0);
    assert_int_equal(b->done[ACTION_END], 1);
}

static void the_time_limit_is_for_the_whole_job(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 3);
    b->spec.timeout = 60000;
    role(b, "worker", 2);
    run_all(b);
    pass(b, 59000);
    ended(b, "worker:1", 1);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    pass(b, 1000);
    assert_ended(b, JOB_FAILED, 124);
    assert_int_equal(outcome_of(b).task, UINT32_MAX);
}

/* A cluster lets a job wait before it starts anything of it. */
static void what_a_job_waited_before_its_start_counts_for_its_limit(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 3);
    b->spec.timeout = 60000;
    b->opt.submitted = b->now - 50000;
    role(b, "worker", 2);
    run_all(b);
    pass(b, 9000);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    pass(b, 1000);
    assert_ended(b, JOB_FAILED, 124);
}

/* A clock that is ahead of ours gives nobody more time. */
static void a_submission_in_the_future_is_now(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 3);
    b->spec.timeout = 60000;
    b->opt.submitted = b->now + 50000;
    role(b, "worker", 2);
    run_all(b);
    pass(b, 60000);
    assert_ended(b, JOB_FAILED, 124);
}

/* "waits without a deadline". */
static void finishing_always_ends(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 3);
    run_all(b);
    b->lazy = true;
    ended(b, "worker:1", 2);
    ended(b, "worker:2", 143);
    pass(b, 39999);
    assert_int_equal(engine_state(b->e), JOB_FINISHING);
    pass(b, 1); /* grace and ten seconds: its agent is as good as dead */
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->last[ACTION_RELEASE], task(b, "worker:0")->slot);
    assert_int_equal(state_of(b, "worker:0"), TASK_LOST);
    assert_ended(b, JOB_FAILED, 2);
}

static void a_fault_of_ours_ends_the_job_with_its_code(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 3);
    role(b, "worker", 2);
    run_all(b);
    assert_int_equal(engine_abort(b->e, 70, "the tracker could not be started", b->now, NULL), 0);
    work(b);
    assert_ended(b, JOB_FAILED, 70);
    assert_string_equal(outcome_of(b).text, "the tracker could not be started");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(servers_are_stopped_when_the_workers_are_done),
        TEST(what_could_not_be_saved_is_in_the_last_record),
        TEST(a_server_may_end_well_but_not_badly),
        TEST(what_ends_because_it_was_told_to_is_done_whatever_the_clocks_say),
        TEST(one_failure_stops_everybody),
        TEST(the_story_is_the_first_failure_in_time_not_in_arrival),
        TEST(every_kind_of_end_has_its_exit_code),
        TEST(a_failure_that_was_got_over_is_not_the_story),
        TEST(side_tasks_never_matter),
        TEST(a_side_task_restarts_when_its_role_says_so),
        TEST(a_side_task_that_cannot_be_had_is_done_without),
        TEST(roles_start_in_the_order_they_ask_for),
        TEST(a_stop_is_graceful_and_a_second_one_kills),
        TEST(a_stop_before_anything_was_granted_ends_at_once),
        TEST(the_time_limit_is_for_the_whole_job),
        TEST(what_a_job_waited_before_its_start_counts_for_its_limit),
        TEST(a_submission_in_the_future_is_now),
        TEST(finishing_always_ends),
        TEST(a_fault_of_ours_ends_the_job_with_its_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
