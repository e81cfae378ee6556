/* batcher_here_test.c - claims about runs that are short enough for the thread of the loop. */
#include "serve/engine/batcher_testing.h"

/* A busy machine may make any run long: so the claim is that it happens, not after how many. */
static int short_runs_come_to_the_loop(void *arg)
{
    struct world *w = arg;

    gate_set(&w->gate, true);
    while (atomic_load(&w->gate.on_loop) == 0)
        ask_together(w, 1);
    assert_true(atomic_load(&w->gate.runs) > 32);
    return 0;
}

static int where_others_wait_the_loop_runs_nothing(void *arg)
{
    struct world *w = arg;

    gate_set(&w->gate, true);
    for (int i = 0; i < 200; i++)
        ask_together(w, 2);
    assert_int_equal(atomic_load(&w->gate.on_loop), 0);
    return 0;
}

static int one_processor_runs_all_that_is_short_on_the_loop(void *arg)
{
    struct world *w = arg;

    gate_set(&w->gate, true);
    while (atomic_load(&w->gate.on_loop) == 0)
        ask_together(w, 4);
    assert_int_equal(w->gate.rows[0], 4);
    return 0;
}

CLAIM(short_runs_come_to_the_loop, 0, BATCHER_HERE_ALONE)
CLAIM(where_others_wait_the_loop_runs_nothing, 0, BATCHER_HERE_ALONE)
CLAIM(one_processor_runs_all_that_is_short_on_the_loop, 0, BATCHER_HERE)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_runs_come_to_the_loop),
        cmocka_unit_test(test_where_others_wait_the_loop_runs_nothing),
        cmocka_unit_test(test_one_processor_runs_all_that_is_short_on_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
