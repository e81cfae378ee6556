/* work_test.c - claims about the work pool. */
#include "base/fiber.h"
#include "base/work.h"
#include "test.h"

#include <errno.h>
#include <time.h>

static int nap(void *arg)
{
    struct timespec ms = { .tv_nsec = 20 * 1000000 };

    nanosleep(&ms, NULL);
    return *(int *)arg;
}

struct world {
    struct loop *loop;
    int turns, result;
    bool stop;
};

static void count_turns(void *arg)
{
    struct world *w = arg;

    while (!w->stop && fiber_sleep(w->loop, 1) == 0)
        w->turns++;
}

static int work_and_count(void *arg)
{
    struct world *w = arg;
    int answer = 42;

    fiber_start(w->loop, count_turns, w, NULL, NULL);
    w->result = work_run(w->loop, nap, &answer);
    w->stop = true;
    return fiber_sleep(w->loop, 5);
}

static void the_loop_turns_while_a_function_blocks(void **state)
{
    struct world w = { 0 };

    (void)state;
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    assert_int_equal(loop_run(w.loop, work_and_count, &w, false), 0);
    loop_free(w.loop);
    assert_int_equal(w.result, 42);
    assert_true(w.turns >= 3);
}

static void work_in_fiber(void *arg)
{
    struct world *w = arg;
    int answer = 43;

    w->result = work_run(w->loop, nap, &answer);
    w->turns = fiber_sleep(w->loop, 1000);
}

static int cancel_at_work(void *arg)
{
    struct world *w = arg;
    struct fiber *f;

    fiber_start(w->loop, work_in_fiber, w, &f, NULL);
    fiber_yield(w->loop);
    fiber_cancel(f);
    assert_int_equal(w->result, 0); /* its arguments are on that stack: it must wait */
    fiber_sleep(w->loop, 60);
    assert_int_equal(w->result, 43);
    assert_int_equal(w->turns, -ECANCELED);
    return 0;
}

static void a_cancelled_fiber_still_waits_for_its_work(void **state)
{
    struct world w = { 0 };

    (void)state;
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    assert_int_equal(loop_run(w.loop, cancel_at_work, &w, false), 0);
    loop_free(w.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_turns_while_a_function_blocks),
        cmocka_unit_test(a_cancelled_fiber_still_waits_for_its_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
