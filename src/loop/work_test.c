/* work_test.c - claims about the work pool. */
#include "loop/fiber.h"
#include "loop/work.h"
#include "test.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#define PATIENCE 12000 /* naps; reached only when something is wrong */

struct world {
    struct loop *loop;
    atomic_int turns; /* counted by a fiber, looked at in the pool */
    int result, slept;
    bool stop;
};

static void nap(void)
{
    struct timespec ms = { .tv_nsec = 5 * 1000000 };

    nanosleep(&ms, NULL);
}

/* Blocks a thread until the loop has turned a few times. */
static int wait_for_turns(void *arg)
{
    struct world *w = arg;

    for (int i = 0; i < PATIENCE && w->turns < 3; i++)
        nap();
    return w->turns < 3 ? -ETIME : 42;
}

static void count_turns(void *arg)
{
    struct world *w = arg;

    while (!w->stop && fiber_sleep(w->loop, 1) == 0)
        w->turns++;
}

static int work_and_count(void *arg)
{
    struct world *w = arg;

    fiber_start(w->loop, count_turns, w, NULL, NULL);
    w->result = work_run(w->loop, wait_for_turns, w);
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
}

static int answer_later(void *arg)
{
    nap();
    return *(int *)arg;
}

static void work_in_fiber(void *arg)
{
    struct world *w = arg;
    int answer = 43;

    w->result = work_run(w->loop, answer_later, &answer);
    w->slept = fiber_sleep(w->loop, 1000);
}

static int cancel_at_work(void *arg)
{
    struct world *w = arg;
    struct fiber *f;

    assert_int_equal(fiber_start(w->loop, work_in_fiber, w, &f, NULL), 0);
    fiber_yield(w->loop);
    fiber_cancel(f);
    assert_int_equal(w->result, 0); /* its arguments are on that stack: it must wait */
    for (int i = 0; i < PATIENCE && w->result == 0; i++)
        fiber_sleep(w->loop, 5);
    assert_int_equal(w->result, 43);
    assert_int_equal(w->slept, -ECANCELED);
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
