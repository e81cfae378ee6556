/* engine_leaving_test.c - containers that are taken back with notice, and agents that come again.
 */
#include "job/engine/engine_testing.h"

static void leaving(struct bench *b, const char *name)
{
    assert_int_equal(engine_on_leaving(b->e, task(b, name)->slot, b->now, NULL), 0);
    work(b);
}

static void agent_again(struct bench *b, const char *name)
{
    assert_int_equal(engine_on_agent_again(b->e, task(b, name)->slot, b->now, NULL), 0);
    work(b);
}

/* ---- taken back ---- */

static void its_tasks_get_the_grace_and_then_it_is_given_back(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 1);
    b->opt.elastic = true;
    role(b, "worker", 2);
    run_all(b);
    b->lazy = true;
    leaving(b, "worker:1");
    assert_int_equal(b->done[ACTION_STOP], 1);
    assert_int_equal(b->last_grace, 30000);
    assert_int_equal(b->done[ACTION_RELEASE], 0);
    leaving(b, "worker:1"); /* told twice */
    assert_int_equal(b->done[ACTION_STOP], 1);
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_SIGNAL, .signal = 15 });
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(state_of(b, "worker:1"), TASK_WAITING);
    assert_true(logged(b, "\"event\":\"failure\",\"task\":\"worker:1\",\"class\":\"preempted\"",
                       "\"counted\":false"));
    assert_true(logged(b, "\"event\":\"container\"", "\"state\":\"LEAVING\""));
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
}

static void no_restart_is_used_up_and_nobody_is_blamed(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 1);
    b->opt.elastic = true;
    role(b, "worker", 1);
    run_all(b);
    for (int i = 0; i < 5; i++) {
        leaving(b, "worker:0"); /* stopped, moved and started again */
        pass(b, 60000);
        assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
    }
    ended(b, "worker:0", 3); /* the one that is counted */
    pass(b, 60000);
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
    ended(b, "worker:0", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void the_gang_is_formed_anew_when_it_must_know(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 1);
    role(b, "worker", 3)->procs = 2;
    run_all(b);
    leaving(b, "worker:2");
    pass(b, 60000);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(engine_generation(b->e), 1);
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(b->done[ACTION_START], 6);
}

static void without_restarts_the_job_fails_as_preempted(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    run_all(b);
    leaving(b, "worker:0");
    assert_ended(b, JOB_FAILED, 75);
    assert_int_equal(outcome_of(b).cls, FAIL_PREEMPTED);
    assert_string_equal(outcome_of(b).text, "the cluster takes its container back");
}

static void one_that_is_lost_meanwhile_counts_once_and_as_preempted(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 0);
    b->opt.elastic = true;
    role(b, "worker", 2);
    run_all(b);
    b->lazy = true;
    leaving(b, "worker:1");
    lost(b, "worker:1", FAIL_MEMORY);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(b->done[ACTION_RELEASE], 0);
    assert_int_equal(state_of(b, "worker:1"), TASK_WAITING);
    assert_true(logged(b, "\"event\":\"failure\"", "\"class\":\"preempted\""));
    assert_false(logged(b, "\"class\":\"memory\"", NULL));
    lost(b, "worker:1", FAIL_NODE); /* long known */
    assert_int_equal(b->done[ACTION_ASK], 1);
}

static void whoever_succeeds_in_its_last_seconds_has_succeeded(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    run_all(b);
    ended(b, "worker:0", 0);
    b->lazy = true;
    leaving(b, "worker:1");
    ended(b, "worker:1", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void a_failure_before_the_notice_is_its_own(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    run_all(b);
    b->lazy = true;
    leaving(b, "worker:1");
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_EXIT, .code = 4, .when = T0 - 1 });
    ended_as(b, "worker:0", (struct engine_end){ .cls = FAIL_SIGNAL, .signal = 15 });
    assert_ended(b, JOB_FAILED, 4);
}

static void what_does_not_run_is_given_back_at_once(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    begin(b);
    b->lazy = true;
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    assert_int_equal(engine_on_leaving(b->e, 0, b->now, NULL), 0); /* not granted: nothing to do */
    assert_int_equal(engine_on_granted(b->e, 0, 5, b->now, NULL), 0);
    assert_int_equal(engine_on_agent_up(b->e, 0, b->now, NULL), 0);
    work(b);
    forget_counts(b);
    leaving(b, "worker:0");
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->done[ACTION_ASK], 1); /* nothing of the user's has run */
    assert_int_equal(engine_state(b->e), JOB_ASKING);
    assert_int_equal(engine_slot_agent(b->e, 0), ENGINE_NO_AGENT);
}

static void who_does_not_hear_is_taken_with_its_container(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 0);
    b->opt.elastic = true;
    role(b, "worker", 2);
    run_all(b);
    b->lazy = true;
    leaving(b, "worker:1");
    pass(b, 60000);
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_true(logged(b, "\"event\":\"failure\"", "\"class\":\"preempted\""));
}

/* ---- moved ---- */

static int move(struct bench *b, const char *name, uint32_t attempt)
{
    int r = engine_move(b->e, id_of(b, name), attempt, "w:0", b->now, NULL);

    work(b);
    return r;
}

static void elastic(struct bench *b, unsigned workers)
{
    bench_init(b, SPEC_RESTART_TASK, 0);
    b->opt.elastic = true;
    b->opt.losses_max = 1;
    role(b, "worker", workers);
    run_all(b);
}

static void a_task_that_is_moved_ends_before_another_container_is_asked_for(void **state)
{
    struct bench *b = *state;

    elastic(b, 2);
    b->lazy = true;
    assert_int_equal(move(b, "worker:1", 0), 0);
    assert_int_equal(b->done[ACTION_STOP], 1);
    assert_int_equal(b->last_grace, 30000);
    assert_int_equal(b->done[ACTION_RELEASE] + b->done[ACTION_ASK], 0);
    assert_int_equal(move(b, "worker:1", 0), 0); /* it is under way */
    assert_int_equal(b->done[ACTION_STOP], 1);
    ended(b, "worker:1", 0); /* which is not its success */
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(state_of(b, "worker:1"), TASK_WAITING);
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
    assert_int_equal(move(b, "worker:1", 0), 0); /* it has moved */
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_true(logged(b, "\"what\":\"move\"", "\"task\":\"worker:1\""));
}

static void moves_are_no_failures_however_many_there_are(void **state)
{
    struct bench *b = *state;

    elastic(b, 2);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(move(b, "worker:1", i), 0);
        assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
        assert_int_equal(task(b, "worker:1")->attempt, i + 1);
    }
    assert_false(logged(b, "\"event\":\"failure\"", NULL));
    assert_int_equal(b->done[ACTION_RELEASE], 20);
    ended(b, "worker:0", 0);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    ended(b, "worker:1", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void one_whose_container_is_lost_as_it_moves_has_moved(void **state)
{
    struct bench *b = *state;

    elastic(b, 2);
    b->lazy = true;
    assert_int_equal(move(b, "worker:1", 0), 0);
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(b->done[ACTION_RELEASE], 0);
    assert_int_equal(state_of(b, "worker:1"), TASK_WAITING);
    assert_false(logged(b, "\"event\":\"failure\"", NULL));
}

static void one_that_does_not_end_loses_its_container(void **state)
{
    struct bench *b = *state;

    elastic(b, 2);
    b->lazy = true;
    assert_int_equal(move(b, "worker:1", 0), 0);
    pass(b, 60000);
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_false(logged(b, "\"event\":\"failure\"", NULL));
}

static void only_this_start_of_it_is_moved(void **state)
{
    struct bench *b = *state;

    elastic(b, 2);
    assert_int_equal(move(b, "worker:1", 7), 0);
    assert_int_equal(b->done[ACTION_STOP], 0);
    assert_false(logged(b, "\"what\":\"move\"", NULL));
    assert_int_equal(engine_move(b->e, 99, 0, "w:0", b->now, NULL), -EINVAL);
}

static void nothing_starts_in_a_container_that_is_to_go(void **state)
{
    struct bench *b = *state;
    uint16_t port = 7000;

    bench_init(b, SPEC_RESTART_TASK, 5);
    b->opt.elastic = true;
    role(b, "worker", 2)->procs = 2;
    run_all(b);
    b->lazy = true;
    ended(b, "worker:3", 1);
    pass(b, 20000);
    assert_int_equal(state_of(b, "worker:3"), TASK_PREPARING);
    assert_int_equal(move(b, "worker:2", 0), 0);
    assert_int_equal(engine_on_prepared(b->e, id_of(b, "worker:3"), &port, 1, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_START], 0);
    ended(b, "worker:2", 0);
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    b->lazy = false;
    assert_int_equal(engine_on_granted(b->e, 1, 9, b->now, NULL), 0);
    assert_int_equal(engine_on_agent_up(b->e, 1, b->now, NULL), 0);
    work(b);
    assert_int_equal(state_of(b, "worker:2"), TASK_RUNNING);
    assert_int_equal(state_of(b, "worker:3"), TASK_RUNNING);
}

static void a_task_that_others_know_is_not_moved(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 0);
    role(b, "worker", 2);
    run_all(b);
    assert_int_equal(move(b, "worker:1", 0), -EOPNOTSUPP);
    assert_int_equal(b->done[ACTION_STOP], 0);
}

/* ---- an agent dies, and another one stands in its place ---- */

static void its_tasks_start_again_where_they_were(void **state)
{
    struct bench *b = *state;
    uint16_t port;

    bench_init(b, SPEC_RESTART_TASK, 0);
    role(b, "worker", 2)->procs = 2;
    run_all(b);
    port = task(b, "worker:2")->port[0];
    agent_again(b, "worker:2");
    pass(b, 1000);
    assert_int_equal(b->done[ACTION_ASK] + b->done[ACTION_RELEASE], 0);
    assert_int_equal(b->done[ACTION_PREPARE], 2);
    assert_int_equal(b->done[ACTION_START], 2);
    assert_int_equal(engine_generation(b->e), 0);
    assert_int_equal(task(b, "worker:2")->port[0], port);
    assert_int_equal(task(b, "worker:3")->attempt, 1);
    assert_int_equal(task(b, "worker:1")->attempt, 0);
    assert_true(logged(b, "\"event\":\"failure\",\"task\":\"worker:2\",\"class\":\"node\"",
                       "its agent ended"));
    assert_true(logged(b, "\"event\":\"failure\"", "\"counted\":false"));
}

static void or_all_of_them_as_a_gang(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 0);
    role(b, "worker", 3);
    run_all(b);
    agent_again(b, "worker:1");
    pass(b, 1000);
    assert_int_equal(b->done[ACTION_ASK] + b->done[ACTION_RELEASE], 0);
    assert_int_equal(b->done[ACTION_START], 3);
    assert_int_equal(engine_generation(b->e), 1);
}

static void or_the_job_fails_and_says_why(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    run_all(b);
    agent_again(b, "worker:1");
    assert_ended(b, JOB_FAILED, 75);
    assert_int_equal(outcome_of(b).cls, FAIL_NODE);
    assert_int_equal(outcome_of(b).task, id_of(b, "worker:1"));
    assert_string_equal(outcome_of(b).text, "its agent ended");
}

static void such_losses_are_counted_too(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 0);
    b->opt.losses_max = 2;
    role(b, "worker", 1);
    run_all(b);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(engine_state(b->e), JOB_RUNNING);
        agent_again(b, "worker:0");
        pass(b, 60000);
    }
    assert_ended(b, JOB_FAILED, 75);
    assert_true(logged(b, "\"event\":\"end\"", "too many containers were lost"));
}

static void while_the_gang_forms_it_is_prepared_again(void **state)
{
    struct bench *b = *state;
    uint16_t port = 7000;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    begin(b);
    b->lazy = true;
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(engine_on_granted(b->e, i, i, b->now, NULL), 0);
        assert_int_equal(engine_on_agent_up(b->e, i, b->now, NULL), 0);
    }
    assert_int_equal(engine_on_prepared(b->e, 0, &port, 1, b->now, NULL), 0);
    work(b);
    forget_counts(b);
    agent_again(b, "worker:0"); /* it was prepared */
    agent_again(b, "worker:1"); /* it was about to be */
    assert_int_equal(b->done[ACTION_PREPARE], 2);
    assert_int_equal(task(b, "worker:0")->n_ports, 1); /* the same again */
    assert_int_equal(engine_state(b->e), JOB_FORMING);
    assert_false(logged(b, "\"event\":\"failure\"", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(its_tasks_get_the_grace_and_then_it_is_given_back),
        TEST(no_restart_is_used_up_and_nobody_is_blamed),
        TEST(the_gang_is_formed_anew_when_it_must_know),
        TEST(without_restarts_the_job_fails_as_preempted),
        TEST(one_that_is_lost_meanwhile_counts_once_and_as_preempted),
        TEST(whoever_succeeds_in_its_last_seconds_has_succeeded),
        TEST(a_failure_before_the_notice_is_its_own),
        TEST(what_does_not_run_is_given_back_at_once),
        TEST(who_does_not_hear_is_taken_with_its_container),
        TEST(a_task_that_is_moved_ends_before_another_container_is_asked_for),
        TEST(moves_are_no_failures_however_many_there_are),
        TEST(one_whose_container_is_lost_as_it_moves_has_moved),
        TEST(one_that_does_not_end_loses_its_container),
        TEST(only_this_start_of_it_is_moved),
        TEST(nothing_starts_in_a_container_that_is_to_go),
        TEST(a_task_that_others_know_is_not_moved),
        TEST(its_tasks_start_again_where_they_were),
        TEST(or_all_of_them_as_a_gang),
        TEST(or_the_job_fails_and_says_why),
        TEST(such_losses_are_counted_too),
        TEST(while_the_gang_forms_it_is_prepared_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
