/* engine_gang_test.c - the gang: all or nothing, holding is limited, waiting is not.
 * Words in quotes before a test are what users of other launchers complain about. */
#include "job/engine/engine_testing.h"

static void granted(struct bench *b, uint32_t slot)
{
    assert_int_equal(engine_on_granted(b->e, slot, 100 + slot, b->now, NULL), 0);
}

static void start(struct bench *b)
{
    b->lazy = true;
    begin(b);
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    work(b);
}

static void all_slots_are_asked_for_at_once(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "ps", 2);
    role(b, "worker", 3)->procs = 2;
    start(b);
    assert_int_equal(b->done[ACTION_ASK], 5);
    assert_int_equal(engine_n_tasks(b->e), 8);
    assert_int_equal(engine_state(b->e), JOB_ASKING);
    assert_int_equal(task(b, "worker:3")->slot, 3);
    assert_int_equal(task(b, "worker:3")->local_rank, 1);
}

static void nothing_starts_before_every_port_is_held(void **state)
{
    struct bench *b = *state;
    uint16_t port = 7;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    start(b);
    granted(b, 0);
    assert_int_equal(engine_on_agent_up(b->e, 0, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_PREPARE], 1); /* as soon as its agent is there */
    assert_int_equal(engine_on_prepared(b->e, 0, &port, 1, b->now, NULL), 0);
    granted(b, 1);
    assert_int_equal(engine_on_agent_up(b->e, 1, b->now, NULL), 0);
    work(b);
    assert_int_equal(engine_state(b->e), JOB_FORMING);
    assert_int_equal(b->done[ACTION_FORM], 0);
    assert_int_equal(engine_on_prepared(b->e, 1, &port, 1, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_FORM], 1);
    assert_int_equal(b->done[ACTION_START], 0);
    assert_int_equal(engine_on_formed(b->e, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_START], 2);
}

/* "two jobs that each have a half". */
static void an_incomplete_gang_gives_everything_back_and_asks_again(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 3);
    start(b);
    pass(b, 3600000); /* waiting with empty hands */
    assert_int_equal(b->done[ACTION_RELEASE], 0);
    granted(b, 0);
    pass(b, 200000);
    granted(b, 1);
    pass(b, 99000); /* holding counts from the first grant */
    assert_int_equal(b->done[ACTION_RELEASE], 0);
    assert_int_equal(b->done[ACTION_ASK], 3);
    pass(b, 1400); /* the hold time is over, and the first wait is at least half a second */
    assert_int_equal(b->done[ACTION_RELEASE], 3);
    assert_int_equal(b->done[ACTION_ASK], 3);
    assert_int_equal(state_of(b, "worker:0"), TASK_WAITING);
    pass(b, 1000);
    assert_int_equal(b->done[ACTION_ASK], 6);
    assert_int_equal(engine_state(b->e), JOB_ASKING);
}

static void a_late_grant_is_given_back(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    start(b);
    granted(b, 0);
    pass(b, 300000);
    forget_counts(b);
    granted(b, 1);
    work(b);
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->last[ACTION_RELEASE], 1);
    assert_int_equal(engine_on_agent_up(b->e, 0, b->now, NULL), 0); /* crossed */
    assert_int_equal(state_of(b, "worker:0"), TASK_WAITING);
}

/* "waiting for reservations, forever". */
static void the_rounds_are_counted_and_then_it_fails_with_75(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    b->spec.gang_retry = 2;
    role(b, "worker", 2);
    start(b);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(engine_state(b->e), JOB_ASKING);
        granted(b, 0);
        pass(b, 300000);
        pass(b, 60000);
    }
    assert_ended(b, JOB_FAILED, 75);
    assert_non_null(strstr(outcome_of(b).text, "(1 of 2,"));
    assert_int_equal(b->done[ACTION_END], 1);
}

static int64_t longest_wait(struct bench *b, int rounds)
{
    int64_t wait = 0;

    for (int i = 0; i < rounds; i++) {
        granted(b, 0);
        pass(b, 300000);
        wait = engine_deadline(b->e) - b->now;
        pass(b, 60000);
    }
    return wait;
}

static void waits_grow_with_jitter_to_a_minute(void **state)
{
    struct bench *b = *state;
    int64_t first, later;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    start(b);
    first = longest_wait(b, 1);
    later = longest_wait(b, 9);
    assert_in_range(first, 500, 1000);
    assert_in_range(later, 30000, 60000);
}

/* "waits forever for a container that died before it said a word". */
static void a_container_lost_before_the_start_is_asked_for_again(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    start(b);
    granted(b, 0);
    forget_counts(b);
    lost(b, "worker:0", FAIL_NODE);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(engine_state(b->e), JOB_ASKING);
    b->lazy = false;
    granted(b, 1);
    assert_int_equal(engine_on_agent_up(b->e, 1, b->now, NULL), 0);
    granted(b, 0);
    assert_int_equal(engine_on_agent_up(b->e, 0, b->now, NULL), 0);
    work(b);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
}

static void containers_that_never_start_do_not_go_on_for_ever(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 5);
    role(b, "worker", 1);
    start(b);
    for (int i = 0; i < 11; i++) {
        assert_int_equal(engine_state(b->e), JOB_ASKING);
        granted(b, 0);
        lost(b, "worker:0", FAIL_START);
        pass(b, 6000);
    }
    assert_ended(b, JOB_FAILED, 75);
    assert_int_equal(outcome_of(b).cls, FAIL_START);
}

static void an_image_that_is_not_to_be_had_fails_the_job_at_once(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_GANG, 5);
    role(b, "worker", 1);
    start(b);
    granted(b, 0);
    lost(b, "worker:0", FAIL_IMAGE);
    assert_ended(b, JOB_FAILED, 125);
    assert_int_equal(outcome_of(b).cls, FAIL_IMAGE);
}

static void preemption_while_waiting_is_only_waiting(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    start(b);
    for (int i = 0; i < 50; i++) {
        granted(b, 0);
        lost(b, "worker:0", FAIL_PREEMPTED);
        pass(b, 10000);
    }
    assert_int_equal(engine_state(b->e), JOB_ASKING);
}

static void what_is_being_formed_when_a_container_goes_is_formed_anew(void **state)
{
    struct bench *b = *state;
    uint16_t port = 9;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    start(b);
    for (uint32_t i = 0; i < 2; i++) {
        granted(b, i);
        assert_int_equal(engine_on_agent_up(b->e, i, b->now, NULL), 0);
        assert_int_equal(engine_on_prepared(b->e, i, &port, 1, b->now, NULL), 0);
    }
    work(b);
    assert_int_equal(b->done[ACTION_FORM], 1);
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(engine_state(b->e), JOB_ASKING);
    granted(b, 1);
    assert_int_equal(engine_on_agent_up(b->e, 1, b->now, NULL), 0);
    assert_int_equal(engine_on_prepared(b->e, 1, &port, 1, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_FORM], 1); /* the first has not been answered */
    assert_int_equal(engine_on_formed(b->e, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_START], 0); /* that was the old one */
    assert_int_equal(b->done[ACTION_FORM], 2);
    assert_int_equal(b->last[ACTION_FORM], 1);
    assert_int_equal(engine_on_formed(b->e, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_START], 2);
    assert_int_equal(engine_generation(b->e), 1);
}

/* "pending for long, and nobody says why". */
static void it_says_what_it_waits_for(void **state)
{
    struct bench *b = *state;
    AUTO_BUF out = { .max = KIB };

    bench_init(b, SPEC_RESTART_NEVER, -1);
    *role(b, "ps", 1) = (struct spec_role){
        .name = (char *)"ps", .count = 1, .procs = 1, .restart = { .max = -1 }
    };
    role(b, "worker", 7);
    b->roles[1].memory = 4ULL << 30;
    b->roles[1].gpus = 1;
    b->roles[1].label = (char *)"gpu";
    start(b);
    for (uint32_t i = 0; i < 5; i++)
        granted(b, i);
    engine_waiting_for(b->e, &out);
    assert_string_equal(buf_text(&out),
                        "have 5 of 8 containers; waiting for 3 × worker (4.0 GB, 1 GPU) on label "
                        "'gpu'");
}

static void what_is_refused_is_asked_for_again_less_and_less_often(void **state)
{
    struct bench *b = *state;
    AUTO_BUF text = { .max = KIB };

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    start(b);
    for (unsigned i = 0; i < 30; i++) {
        b->done[ACTION_ASK] = 0;
        assert_int_equal(engine_on_refused(b->e, 1, false, "no room", b->now, NULL), 0);
        assert_int_equal(engine_on_refused(b->e, 1, false, "no room", b->now, NULL), 0);
        pass(b, i < 6 ? 0 : 29000); /* the pause of a minute is 30 s at least */
        assert_int_equal(b->done[ACTION_ASK], 0);
        pass(b, i == 0 ? 1000 : 60000);
        assert_int_equal(b->done[ACTION_ASK], 1);
        assert_int_equal(b->last[ACTION_ASK], 1);
    }
    assert_true(logged(b, "\"note\"", "no room"));
    engine_waiting_for(b->e, &text);
    assert_non_null(strstr(buf_text(&text), "waiting for 2 × worker: no room"));
    granted(b, 1);
    granted(b, 0);
    assert_int_equal(engine_state(b->e), JOB_ASKING);
}

static void what_this_machine_cannot_do_fails_the_job_in_the_end(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 1);
    start(b);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(engine_state(b->e), JOB_ASKING);
        assert_int_equal(engine_on_refused(b->e, 0, true, "no more files", b->now, NULL), 0);
        pass(b, 60000);
    }
    assert_ended(b, JOB_FAILED, 75);
    assert_string_equal(outcome_of(b).text,
                        "no container for 'worker' after 10 attempts: no more files");
}

static void a_report_that_cannot_be_is_refused_with_a_sentence(void **state)
{
    struct bench *b = *state;
    struct err err = ERR_INIT;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    run_all(b);
    ended(b, "worker:1", 0);
    assert_int_equal(engine_on_prepared(b->e, 1, NULL, 0, b->now, &err), -EPROTO);
    assert_string_equal(err.text, "task 'worker:1': prepared while DONE");
    assert_int_equal(engine_on_started(b->e, 0, 4, b->now, &err), 0); /* told again, */
    assert_int_equal(engine_on_started(b->e, 1, 4, b->now, &err), 0); /* or too late */
    assert_int_equal(engine_on_formed(b->e, b->now, &err), -EPROTO);
    assert_int_equal(engine_start(b->e, b->now, &err), -EPROTO);
    assert_string_equal(err.text, "job: started while RUNNING");
    assert_int_equal(engine_on_agent_up(b->e, 0, b->now, &err), -EPROTO);
    assert_int_equal(engine_on_granted(b->e, 0, 1, b->now, &err), -EPROTO);
    assert_int_equal(engine_on_started(b->e, 99, 4, b->now, &err), -EINVAL);
    assert_int_equal(engine_on_lost(b->e, 0, FAIL_NONE, NULL, b->now, &err), -EINVAL);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    ended(b, "worker:0", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_slots_are_asked_for_at_once),
        TEST(nothing_starts_before_every_port_is_held),
        TEST(an_incomplete_gang_gives_everything_back_and_asks_again),
        TEST(a_late_grant_is_given_back),
        TEST(the_rounds_are_counted_and_then_it_fails_with_75),
        TEST(waits_grow_with_jitter_to_a_minute),
        TEST(a_container_lost_before_the_start_is_asked_for_again),
        TEST(containers_that_never_start_do_not_go_on_for_ever),
        TEST(an_image_that_is_not_to_be_had_fails_the_job_at_once),
        TEST(preemption_while_waiting_is_only_waiting),
        TEST(what_is_being_formed_when_a_container_goes_is_formed_anew),
        TEST(it_says_what_it_waits_for),
        TEST(what_is_refused_is_asked_for_again_less_and_less_often),
        TEST(what_this_machine_cannot_do_fails_the_job_in_the_end),
        TEST(a_report_that_cannot_be_is_refused_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
