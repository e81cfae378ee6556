/* batcher_test.c - claims about the queue before a model. */
#include "serve/engine/batcher_testing.h"

/* ---- claims, each on a fiber ---- */

static int requests_that_wait_go_together(void *arg)
{
    struct world *w = arg;
    struct asked a[6] = { 0 };

    start_behind_one(w, a, 6);
    queue_until(w, 5);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(a[i].result, 0);
        assert_int_equal(a[i].answer, 2 * i);
    }
    assert_int_equal(atomic_load(&w->gate.runs), 3); /* 1, then 4 at most, then the last */
    assert_int_equal(w->gate.rows[1], 4);
    assert_int_equal(w->gate.rows[2], 1);
    assert_int_equal(w->freed, 6);
    return 0;
}

static int a_bad_request_spoils_no_other(void *arg)
{
    struct world *w = arg;
    struct asked a[4] = { 0 };
    static const int32_t values[] = { 1, 2, -3, 4 };

    for (int i = 0; i < 4; i++) {
        start(w, &a[i], values[i]);
        if (i == 0)
            turn_until(w, one_inside);
    }
    queue_until(w, 3);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(a[i].result, values[i] < 0 ? -EINVAL : 0);
    assert_int_equal(a[3].answer, 8);
    return 0;
}

static int signatures_are_not_joined_with_each_other(void *arg)
{
    struct world *w = arg;
    struct asked a[5] = { 0 };
    struct gate other;

    gate_init(&other, true);
    a[2].other = &other;
    for (int i = 0; i < 5; i++) {
        start(w, &a[i], i);
        if (i == 0)
            turn_until(w, one_inside);
    }
    while (batcher_waiting(w->batcher) < 4)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(a[i].answer, 2 * i);
    assert_int_equal(atomic_load(&other.runs), 1);
    assert_int_equal(other.rows[0], 1);
    assert_int_equal(atomic_load(&w->gate.runs), 3); /* what was before it, and what came after */
    return 0;
}

static int outputs_that_are_not_rows_end_the_joining_for_a_while(void *arg)
{
    struct world *w = arg;
    struct asked a[3] = { 0 };

    w->gate.odd = true;
    start_behind_one(w, a, 3);
    queue_until(w, 2);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(a[i].answer, 2 * i);
    assert_false(batcher_joins(w->batcher));
    w->gate.odd = false;
    for (int i = 0; i < 1024; i++)
        ask_together(w, 1);
    assert_true(batcher_joins(w->batcher)); /* tried again */
    ask_together(w, 2);
    assert_true(batcher_joins(w->batcher));
    return 0;
}

static int who_has_hung_up_is_not_run(void *arg)
{
    struct world *w = arg;
    struct asked a[3] = { 0 };

    start_behind_one(w, a, 3);
    queue_until(w, 2);
    batcher_drop(w->batcher, &a[0].q); /* it runs already */
    batcher_drop(w->batcher, &a[1].q);
    assert_int_equal(batcher_waiting(w->batcher), 1);
    while (!a[1].answered)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(a[0].result, 0);
    assert_int_equal(a[1].result, -ECONNABORTED);
    assert_int_equal(a[2].result, 0);
    assert_int_equal(atomic_load(&w->gate.runs), 2);
    assert_int_equal(w->freed, 3);
    return 0;
}

static int a_full_queue_refuses(void *arg)
{
    struct world *w = arg;
    struct asked a[10] = { 0 };

    start(w, &a[0], 0);
    turn_until(w, one_inside);
    for (int i = 1; i < 10; i++)
        start(w, &a[i], i);
    while (!a[9].answered)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_equal(a[9].result, -EAGAIN);
    assert_int_equal(batcher_waiting(w->batcher), 8);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(a[8].answer, 16);
    return 0;
}

/* They come before the thread has taken any. */
static int a_thread_without_work_makes_room_in_the_queue(void *arg)
{
    struct world *w = arg;
    struct asked a[10] = { 0 };

    for (int i = 0; i < 10; i++)
        start(w, &a[i], i);
    while (!a[9].answered)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(a[9].result, -EAGAIN);
    assert_int_equal(a[8].result, 0);
    return 0;
}

static int who_would_wait_too_long_is_refused_at_once(void *arg)
{
    struct world *w = arg;
    struct asked a[5] = { 0 };

    start(w, &a[0], 0);
    turn_until(w, one_inside);
    assert_int_equal(fiber_sleep(w->loop, 50), 0); /* so long it takes, at least */
    gate_set(&w->gate, true);
    turn_until(w, nothing_runs);
    gate_set(&w->gate, false);
    a[2].deadline_ms = 40; /* the first to wait may */
    a[3].deadline_ms = 40;
    a[4].deadline_ms = 3600000;
    for (int i = 1; i < 5; i++) {
        start(w, &a[i], i);
        while (i == 1 && atomic_load(&w->gate.inside) < 2)
            assert_int_equal(fiber_sleep(w->loop, 1), 0);
    }
    while (!a[2].answered)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(a[1].result, 0);
    assert_int_equal(a[2].result, -ETIMEDOUT);
    assert_int_equal(a[3].result, -EAGAIN);
    assert_int_equal(a[4].result, 0);
    return 0;
}

static int rows_that_cannot_be_added_up_are_not_joined(void *arg)
{
    struct world *w = arg;
    struct asked a[3] = { 0 };

    a[1].empty = a[2].empty = INT64_MAX;
    start_behind_one(w, a, 3);
    queue_until(w, 2);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(atomic_load(&w->gate.runs), 3);
    assert_int_equal(w->gate.rows[1], INT64_MAX);
    assert_int_equal(w->gate.rows[2], INT64_MAX);
    assert_int_equal(a[2].result, -EINVAL);
    return 0;
}

/* The answer comes while the model still computes, and its memory stays until then. */
static int a_deadline_ends_the_wait_and_not_the_run(void *arg)
{
    struct world *w = arg;
    struct asked running = { .deadline_ms = 30 }, waiting = { .deadline_ms = 30 };

    start(w, &running, 1);
    turn_until(w, one_inside);
    start(w, &waiting, 2);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(running.result, -ETIMEDOUT);
    assert_int_equal(waiting.result, -ETIMEDOUT);
    assert_int_equal(w->freed, 1); /* that of the queue */
    assert_int_equal(batcher_running(w->batcher), 1);
    gate_set(&w->gate, true);
    turn_until(w, nothing_runs);
    assert_int_equal(w->freed, 2);
    assert_int_equal(atomic_load(&w->gate.runs), 1);
    return 0;
}

static int a_delay_gathers_and_is_not_waited_for_by_a_full_batch(void *arg)
{
    struct world *w = arg;
    struct asked a[4] = { 0 };

    gate_set(&w->gate, true);
    for (int i = 0; i < 2; i++)
        start(w, &a[i], i);
    assert_int_equal(fiber_sleep(w->loop, 5), 0);
    assert_int_equal(atomic_load(&w->gate.runs), 0);
    for (int i = 2; i < 4; i++)
        start(w, &a[i], i);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(atomic_load(&w->gate.runs), 1);
    assert_int_equal(w->gate.rows[0], 4);
    return 0;
}

CLAIM(requests_that_wait_go_together, 0, BATCHER_THREADS)
CLAIM(a_bad_request_spoils_no_other, 0, BATCHER_THREADS)
CLAIM(signatures_are_not_joined_with_each_other, 0, BATCHER_THREADS)
CLAIM(outputs_that_are_not_rows_end_the_joining_for_a_while, 0, BATCHER_THREADS)
CLAIM(who_has_hung_up_is_not_run, 0, BATCHER_THREADS)
CLAIM(a_full_queue_refuses, 0, BATCHER_THREADS)
CLAIM(a_thread_without_work_makes_room_in_the_queue, 0, BATCHER_THREADS)
CLAIM(who_would_wait_too_long_is_refused_at_once, 0, BATCHER_THREADS)
CLAIM(rows_that_cannot_be_added_up_are_not_joined, 0, BATCHER_THREADS)
CLAIM(a_deadline_ends_the_wait_and_not_the_run, 0, BATCHER_THREADS)
CLAIM(a_delay_gathers_and_is_not_waited_for_by_a_full_batch, 60000, BATCHER_THREADS)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_that_wait_go_together),
        cmocka_unit_test(test_a_bad_request_spoils_no_other),
        cmocka_unit_test(test_signatures_are_not_joined_with_each_other),
        cmocka_unit_test(test_outputs_that_are_not_rows_end_the_joining_for_a_while),
        cmocka_unit_test(test_who_has_hung_up_is_not_run),
        cmocka_unit_test(test_a_full_queue_refuses),
        cmocka_unit_test(test_a_thread_without_work_makes_room_in_the_queue),
        cmocka_unit_test(test_who_would_wait_too_long_is_refused_at_once),
        cmocka_unit_test(test_rows_that_cannot_be_added_up_are_not_joined),
        cmocka_unit_test(test_a_deadline_ends_the_wait_and_not_the_run),
        cmocka_unit_test(test_a_delay_gathers_and_is_not_waited_for_by_a_full_batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
