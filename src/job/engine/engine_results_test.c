/* engine_results_test.c - claims about results that tasks left where they ran. */
#include "job/engine/engine_testing.h"

/* An engine that has read the log of this one. */
static struct engine *next_engine(const struct bench *b)
{
    const char *line = buf_text((struct buf *)&b->log), *end;
    struct engine *e = NULL;

    assert_int_equal(engine_new(&b->spec, &b->opt, &e, NULL), 0);
    for (; line && (end = strchr(line, '\n')) != NULL; line = end + 1)
        assert_int_equal(engine_restore(e, line, (size_t)(end - line), NULL), 0);
    return e;
}

static void results_are_lost_with_a_container_until_they_are_saved(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 3);
    role(b, "worker", 3);
    run_all(b);
    ended_as(b, "worker:0", (struct engine_end){ .results = true });
    ended_as(b, "worker:1", (struct engine_end){ 0 });
    for (int turn = 0; turn < 2; turn++) {
        AUTO(engine) struct engine *next = NULL;

        lost(b, "worker:0", FAIL_NODE);
        lost(b, "worker:1", FAIL_NODE);
        next = next_engine(b);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(engine_lost_results(b->e, i), i == 0);
            assert_int_equal(engine_lost_results(next, i), i == 0);
        }
    }
    engine_on_saved(b->e, task(b, "worker:0")->agent);
    assert_false(engine_lost_results(b->e, 0));
}

static void results_that_were_saved_are_not_lost_for_the_next_master_either(void **state)
{
    struct bench *b = *state;
    AUTO(engine) struct engine *next = NULL;
    struct event ev;

    bench_init(b, SPEC_RESTART_TASK, 3);
    role(b, "worker", 2);
    run_all(b);
    ended_as(b, "worker:0", (struct engine_end){ .results = true });
    engine_event(b->e, EVENT_AGENT, b->now, &ev);
    event_int(&ev, "agent", task(b, "worker:0")->agent);
    event_str(&ev, "state", "saved");
    assert_int_equal(event_end(&ev), 0);
    lost(b, "worker:0", FAIL_NODE);
    next = next_engine(b);
    assert_false(engine_lost_results(next, 0));
}

/* Its node was taken away: there was time for what its tasks wrote, and for no more. */
static void results_that_an_agent_left_behind_are_lost(void **state)
{
    struct bench *b = *state;
    AUTO(engine) struct engine *next = NULL;
    struct event ev;

    bench_init(b, SPEC_RESTART_TASK, 3);
    role(b, "worker", 3);
    run_all(b);
    ended_as(b, "worker:0", (struct engine_end){ .results = true });
    ended_as(b, "worker:1", (struct engine_end){ 0 });
    engine_on_results_left(b->e, task(b, "worker:0")->agent);
    engine_on_results_left(b->e, task(b, "worker:1")->agent);
    engine_event(b->e, EVENT_AGENT, b->now, &ev);
    event_int(&ev, "agent", task(b, "worker:0")->agent);
    event_str(&ev, "state", "saved");
    event_bool(&ev, "results", 0);
    assert_int_equal(event_end(&ev), 0);
    work(b);
    next = next_engine(b);
    assert_true(engine_lost_results(b->e, 0));
    assert_true(engine_lost_results(next, 0));
    assert_false(engine_lost_results(b->e, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(results_are_lost_with_a_container_until_they_are_saved),
        TEST(results_that_an_agent_left_behind_are_lost),
        TEST(results_that_were_saved_are_not_lost_for_the_next_master_either),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
