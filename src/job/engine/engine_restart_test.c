/* engine_restart_test.c - restarts: in place, of the gang, by moving; what counts and what does
 * not. Words in quotes before a test are what users of other launchers complain about. */
#include "job/engine/engine_testing.h"

static void with(struct bench *b, enum spec_policy policy, int64_t max, unsigned workers)
{
    bench_init(b, policy, max);
    role(b, "worker", workers);
    run_all(b);
}

static void a_task_restarts_in_place_with_its_rank_and_port(void **state)
{
    struct bench *b = *state;
    struct task before, after;

    with(b, SPEC_RESTART_TASK, 3, 4);
    before = *task(b, "worker:2");
    ended(b, "worker:2", 1);
    after = *task(b, "worker:2");
    assert_int_equal(after.state, TASK_RUNNING);
    assert_int_equal(after.port[0], before.port[0]);
    assert_int_equal(after.slot, before.slot);
    assert_int_equal(after.agent, before.agent);
    assert_int_equal(after.attempt, 1);
    assert_int_equal(after.generation, 0);
    assert_int_equal(b->done[ACTION_PREPARE], 1);
    assert_int_equal(b->done[ACTION_START], 1);
    assert_int_equal(b->done[ACTION_STOP], 0); /* the others are undisturbed */
    assert_int_equal(b->done[ACTION_FORM], 0);
    assert_int_equal(task(b, "worker:1")->attempt, 0);
}

/* "policy ignores the limit: infinite restarts", "no maximum of restarts". */
static void restarts_end_when_their_budget_is_used_up(void **state)
{
    struct bench *b = *state;

    with(b, SPEC_RESTART_TASK, 3, 2);
    for (int i = 0; i < 3; i++) {
        ended(b, "worker:1", 5);
        pass(b, 60000);
        assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
    }
    ended(b, "worker:1", 5);
    assert_ended(b, JOB_FAILED, 5);
    assert_true(logged(b, "\"event\":\"end\"", "no restarts left"));
}

/* "the limit counts the sum over all replicas". */
static void each_task_has_a_budget_of_its_own(void **state)
{
    struct bench *b = *state;
    char name[16];

    with(b, SPEC_RESTART_TASK, 1, 8);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "worker:%d", i);
        ended(b, name, 1);
    }
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    ended(b, "worker:3", 1);
    assert_ended(b, JOB_FAILED, 1);
}

static void what_is_older_than_the_window_no_longer_counts(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 1);
    b->spec.restart.window = 60000;
    role(b, "worker", 1);
    run_all(b);
    for (int i = 0; i < 20; i++) {
        ended(b, "worker:0", 1);
        assert_int_equal(engine_state(b->e), JOB_RUNNING);
        pass(b, 61000);
    }
}

/* "the job stays in Restarting after a permanent error". */
static void a_missing_command_fails_at_once_under_every_policy(void **state)
{
    static const enum spec_policy policies[] = { SPEC_RESTART_NEVER, SPEC_RESTART_TASK,
                                                 SPEC_RESTART_GANG };
    static const struct {
        struct engine_end end;
        int exit;
    } rows[] = {
        { { .cls = FAIL_EXIT, .code = 127 }, 127 },
        { { .cls = FAIL_EXIT, .code = 126 }, 126 },
        { { .cls = FAIL_START, .code = 127, .text = "no such file: trian.py" }, 127 },
        { { .cls = FAIL_START, .code = 126 }, 126 },
        { { .cls = FAIL_LOG_LIMIT, .signal = 9 }, 137 },
    };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t k = 0; k < COUNT_OF(policies); k++) {
            with(b, policies[k], 5, 2);
            ended_as(b, "worker:1", rows[i].end);
            assert_ended(b, JOB_FAILED, rows[i].exit);
            assert_int_equal(outcome_of(b).task, 1);
            assert_non_null(outcome_of(b).hint);
            b->e = engine_free(b->e);
            buf_done(&b->log);
        }
}

/* "one fails, restart all". */
static void a_gang_restarts_as_one_with_the_same_ports(void **state)
{
    struct bench *b = *state;
    uint16_t ports[3];
    char name[16];

    with(b, SPEC_RESTART_GANG, 3, 3);
    for (uint32_t i = 0; i < 3; i++)
        ports[i] = engine_task(b->e, i)->port[0];
    ended(b, "worker:1", 1);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(engine_generation(b->e), 1);
    assert_int_equal(b->done[ACTION_STOP], 2);
    assert_int_equal(b->last_grace, 30000);
    assert_int_equal(b->done[ACTION_PREPARE], 3);
    assert_int_equal(b->done[ACTION_FORM], 1);
    assert_int_equal(b->done[ACTION_START], 3);
    for (uint32_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "worker:%u", i);
        assert_int_equal(task(b, name)->port[0], ports[i]);
        assert_int_equal(task(b, name)->generation, 1);
        assert_int_equal(task(b, name)->attempt, 1);
    }
    assert_true(logged(b, "\"task\":\"worker:0\",\"state\":\"DONE\"", "\"stopped\":true"));
    assert_false(logged(b, "\"event\":\"failure\",\"task\":\"worker:0\"", NULL));
}

static void nobody_starts_again_before_all_have_ended(void **state)
{
    struct bench *b = *state;
    struct engine_end stopped = { .cls = FAIL_SIGNAL, .signal = 15 };

    with(b, SPEC_RESTART_GANG, 3, 3);
    b->lazy = true;
    ended(b, "worker:1", 1);
    assert_int_equal(engine_state(b->e), JOB_FORMING);
    ended_as(b, "worker:0", stopped);
    assert_int_equal(b->done[ACTION_PREPARE], 0);
    ended_as(b, "worker:2", stopped);
    assert_int_equal(b->done[ACTION_PREPARE], 3);
}

/* "time-outs arrive at different times, and each uses up a restart". */
static void failures_that_arrive_while_the_gang_is_stopping_count_once(void **state)
{
    struct bench *b = *state;

    with(b, SPEC_RESTART_GANG, 1, 4);
    b->lazy = true;
    ended(b, "worker:1", 1);
    b->now += 50;
    ended_as(b, "worker:2", (struct engine_end){ .cls = FAIL_EXIT, .code = 1, .when = T0 - 5 });
    ended_as(b, "worker:3", (struct engine_end){ .cls = FAIL_EXIT, .code = 1, .when = T0 - 3 });
    assert_int_equal(outcome_of(b).task, 2); /* the first in time, though not in arrival */
    b->lazy = false;
    ended(b, "worker:0", 143);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(engine_generation(b->e), 1);
    ended(b, "worker:0", 1); /* now the one restart is gone */
    assert_ended(b, JOB_FAILED, 1);
}

static void a_permanent_failure_heard_of_late_still_ends_the_job(void **state)
{
    struct bench *b = *state;

    with(b, SPEC_RESTART_GANG, 5, 3);
    b->lazy = true;
    b->now += 100;
    ended(b, "worker:1", 1);
    ended_as(b, "worker:2", (struct engine_end){ .cls = FAIL_EXIT, .code = 127, .when = T0 + 1 });
    assert_int_equal(engine_state(b->e), JOB_FINISHING);
    ended(b, "worker:0", 143);
    assert_ended(b, JOB_FAILED, 127);
}

/* "one preemption"; "one worker's failure kills the whole application". */
static void losses_and_preemption_use_up_no_restart(void **state)
{
    static const enum spec_policy policies[] = { SPEC_RESTART_TASK, SPEC_RESTART_GANG };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        with(b, policies[i], 1, 3);
        for (int k = 0; k < 8; k++) {
            uint16_t port = task(b, "worker:1")->port[0];

            lost(b, "worker:1", k % 2 ? FAIL_NODE : FAIL_PREEMPTED);
            assert_int_equal(engine_state(b->e), JOB_RUNNING);
            assert_int_not_equal(task(b, "worker:1")->port[0], port);
            assert_int_equal(engine_generation(b->e), (uint32_t)k + 1);
            pass(b, 20000);
        }
        ended(b, "worker:0", 1);
        assert_int_equal(engine_state(b->e), JOB_RUNNING);
        b->e = engine_free(b->e);
        buf_done(&b->log);
    }
}

static void too_many_losses_end_the_job_with_75(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 3);
    b->opt.losses_max = 2;
    role(b, "worker", 8);
    run_all(b);
    for (int i = 0; i < 2; i++) {
        lost(b, "worker:1", FAIL_NODE);
        lost(b, "worker:2", FAIL_NODE); /* with the same machine: once */
        assert_int_equal(engine_state(b->e), JOB_RUNNING);
        pass(b, 10000);
    }
    lost(b, "worker:1", FAIL_NODE);
    assert_ended(b, JOB_FAILED, 75);
}

/* A bad archive, or one that is gone: nobody's restarts pay for it, but nobody tries forever. */
static void files_that_fit_nowhere_end_the_job(void **state)
{
    static const enum spec_policy policies[] = { SPEC_RESTART_NEVER, SPEC_RESTART_TASK,
                                                 SPEC_RESTART_GANG };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        bench_init(b, policies[i], 3);
        role(b, "worker", 2);
        b->lazy = true;
        begin(b);
        assert_int_equal(engine_start(b->e, b->now, NULL), 0);
        for (uint32_t n = 0; n < 5; n++) { /* both at a time: that is one */
            assert_int_equal(engine_state(b->e), JOB_ASKING);
            assert_int_equal(engine_on_granted(b->e, n % 2, n, b->now, NULL), 0);
            assert_int_equal(engine_on_lost(b->e, n % 2, FAIL_FILES, "no such file", b->now, NULL),
                             0);
            pass(b, n % 2 ? 1000 : 10);
        }
        assert_ended(b, JOB_FAILED, 1);
        assert_int_equal(outcome_of(b).cls, FAIL_FILES);
        work(b);
        assert_true(logged(b, "\"event\":\"end\"", "no such file; it failed on other nodes too"));
        b->e = engine_free(b->e);
        buf_done(&b->log);
    }
}

static void without_a_policy_a_loss_fails_the_job(void **state)
{
    static const struct {
        enum fail_class cls;
        int exit;
    } rows[] = {
        { FAIL_NODE, 75 }, { FAIL_PREEMPTED, 75 }, { FAIL_PERSON, 143 }, { FAIL_MEMORY, 137 }
    };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        with(b, SPEC_RESTART_NEVER, -1, 3);
        lost(b, "worker:1", rows[i].cls);
        assert_ended(b, JOB_FAILED, rows[i].exit);
        assert_int_equal(outcome_of(b).task, 1);
        assert_int_equal(state_of(b, "worker:1"), TASK_LOST);
        b->e = engine_free(b->e);
        buf_done(&b->log);
    }
}

/* "all workers die when one does". */
static void in_an_elastic_job_only_the_lost_task_moves(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 3);
    b->opt.elastic = true;
    role(b, "worker", 3);
    run_all(b);
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(engine_generation(b->e), 0);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(b->done[ACTION_STOP], 0);
    assert_int_equal(b->done[ACTION_START], 1);
    assert_int_equal(task(b, "worker:1")->attempt, 1);
}

static void where_a_tracker_takes_it_back_only_the_failed_task_moves(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 3);
    b->opt.rejoins = true;
    b->spec.avoid = SPEC_AVOID_ALL;
    role(b, "worker", 3);
    run_all(b);
    ended(b, "worker:1", 134);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(engine_generation(b->e), 0);
    assert_int_equal(b->done[ACTION_STOP], 0);
    assert_int_equal(b->last[ACTION_ASK], 1);
    assert_int_equal(b->done[ACTION_START], 1);
    /* But how many they are, all have to know. */
    assert_int_equal(engine_scale(b->e, "worker", 2, "me", b->now, NULL), -EOPNOTSUPP);
}

static void a_port_that_was_taken_means_a_new_generation(void **state)
{
    struct bench *b = *state;
    uint16_t port;

    with(b, SPEC_RESTART_TASK, 3, 2);
    port = task(b, "worker:1")->port[0];
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_PORT });
    assert_int_equal(engine_generation(b->e), 1);
    assert_int_not_equal(task(b, "worker:1")->port[0], port);
    assert_int_equal(b->done[ACTION_STOP], 1);
}

static void a_full_disk_moves_the_task(void **state)
{
    struct bench *b = *state;

    with(b, SPEC_RESTART_TASK, 3, 2);
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_DISK });
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->last[ACTION_RELEASE], 1);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
}

/* As the older launchers did: a node is to blame for whatever fails on it. */
static void a_job_that_avoids_all_moves_what_failed(void **state)
{
    static const enum spec_policy policies[] = { SPEC_RESTART_TASK, SPEC_RESTART_GANG };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        bench_init(b, policies[i], 1);
        b->spec.avoid = SPEC_AVOID_ALL;
        role(b, "worker", 2);
        run_all(b);
        ended(b, "worker:1", 1);
        assert_int_equal(b->done[ACTION_RELEASE], 1);
        assert_int_equal(b->last[ACTION_RELEASE], 1);
        assert_int_equal(b->done[ACTION_ASK], 1);
        assert_int_equal(engine_state(b->e), JOB_RUNNING);
        ended(b, "worker:1", 3); /* and the budget pays */
        assert_ended(b, JOB_FAILED, 3);
        b->e = engine_free(b->e);
        buf_done(&b->log);
    }
}

/* The submitting machine is the only one of its kind. */
static void what_runs_beside_the_client_stays_there(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 1);
    b->spec.avoid = SPEC_AVOID_ALL;
    role(b, "worker", 2)->place = SPEC_PLACE_CLIENT;
    run_all(b);
    ended(b, "worker:1", 1);
    assert_int_equal(b->done[ACTION_RELEASE], 0);
    assert_int_equal(b->done[ACTION_START], 1);
}

static void a_failed_preparation_is_tried_again(void **state)
{
    struct bench *b = *state;
    struct engine_end end = { .cls = FAIL_FILES, .when = T0 };
    uint16_t port = 3;

    bench_init(b, SPEC_RESTART_GANG, 3);
    b->lazy = true;
    role(b, "worker", 2);
    begin(b);
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(engine_on_granted(b->e, i, i, b->now, NULL), 0);
        assert_int_equal(engine_on_agent_up(b->e, i, b->now, NULL), 0);
    }
    assert_int_equal(engine_on_prepared(b->e, 0, &port, 1, b->now, NULL), 0);
    assert_int_equal(engine_on_ended(b->e, 1, &end, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_PREPARE], 2);
    assert_int_equal(b->last[ACTION_PREPARE], 1);
    assert_int_equal(state_of(b, "worker:0"), TASK_READY);
    assert_int_equal(engine_on_prepared(b->e, 1, &port, 1, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_FORM], 1);
    assert_int_equal(task(b, "worker:1")->attempt, 0); /* it never started */
}

static void what_others_waited_for_is_not_done_again(void **state)
{
    struct bench *b = *state;
    struct spec_role *worker;

    bench_init(b, SPEC_RESTART_GANG, 3);
    role(b, "fetch", 2)->decides = 0;
    worker = role(b, "worker", 2);
    worker->decides = 1;
    after(b, worker, "fetch", SPEC_AFTER_FINISHED);
    run_all(b);
    ended(b, "fetch:0", 0);
    ended(b, "fetch:1", 0);
    assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
    forget_counts(b);
    ended(b, "worker:0", 1);
    assert_int_equal(b->done[ACTION_START], 2);
    assert_int_equal(state_of(b, "fetch:0"), TASK_DONE);
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
}

static void a_worker_that_was_done_runs_again_with_its_gang(void **state)
{
    struct bench *b = *state;

    with(b, SPEC_RESTART_GANG, 3, 2);
    ended(b, "worker:0", 0);
    ended(b, "worker:1", 1);
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
    ended(b, "worker:1", 0);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    ended(b, "worker:0", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_task_restarts_in_place_with_its_rank_and_port),
        TEST(restarts_end_when_their_budget_is_used_up),
        TEST(each_task_has_a_budget_of_its_own),
        TEST(what_is_older_than_the_window_no_longer_counts),
        TEST(a_missing_command_fails_at_once_under_every_policy),
        TEST(a_gang_restarts_as_one_with_the_same_ports),
        TEST(nobody_starts_again_before_all_have_ended),
        TEST(failures_that_arrive_while_the_gang_is_stopping_count_once),
        TEST(a_permanent_failure_heard_of_late_still_ends_the_job),
        TEST(losses_and_preemption_use_up_no_restart),
        TEST(too_many_losses_end_the_job_with_75),
        TEST(files_that_fit_nowhere_end_the_job),
        TEST(without_a_policy_a_loss_fails_the_job),
        TEST(in_an_elastic_job_only_the_lost_task_moves),
        TEST(where_a_tracker_takes_it_back_only_the_failed_task_moves),
        TEST(a_port_that_was_taken_means_a_new_generation),
        TEST(a_full_disk_moves_the_task),
        TEST(a_job_that_avoids_all_moves_what_failed),
        TEST(what_runs_beside_the_client_stays_there),
        TEST(a_failed_preparation_is_tried_again),
        TEST(what_others_waited_for_is_not_done_again),
        TEST(a_worker_that_was_done_runs_again_with_its_gang),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
