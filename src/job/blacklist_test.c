/* blacklist_test.c - which nodes are avoided, from when on, and until when. */
#include "job/blacklist.h"
#include "test.h"

static int setup(void **state)
{
    struct avoid *a = NULL;

    if (avoid_new(AVOID_NODES_FAULT, 0, &a, NULL) < 0)
        return -1;
    *state = a;
    return 0;
}

static int teardown(void **state)
{
    avoid_free(*state);
    return 0;
}

static void two_faults_that_can_be_the_nodes_are_enough(void **state)
{
    struct avoid *a = *state;

    assert_int_equal(avoid_fault(a, "n1", AVOID_DISK, 4), 0);
    assert_false(avoid_has(a, "n1"));
    assert_int_equal(avoid_fault(a, "n2", AVOID_DISK, 4), 0);
    assert_int_equal(avoid_fault(a, "n1", AVOID_START, 4), 1);
    assert_true(avoid_has(a, "n1"));
    assert_false(avoid_has(a, "n2"));
    assert_int_equal(avoid_fault(a, "n1", AVOID_DISK, 4), 0); /* said once */
}

static void what_counts_is_a_table(void **state)
{
    static const struct {
        enum avoid_cause cause;
        bool nodes, any;
    } rows[] = {
        { AVOID_START, true, true },       { AVOID_FILES, true, true },
        { AVOID_DISK, true, true },        { AVOID_AGENT, true, true },
        { AVOID_TASK, false, true },       { AVOID_LOST, false, false },
        { AVOID_PREEMPTED, false, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(avoid) struct avoid *one = NULL;
        AUTO(avoid) struct avoid *other = NULL;

        assert_int_equal(avoid_new(AVOID_NODES_FAULT, 1, &one, NULL), 0);
        assert_int_equal(avoid_new(AVOID_ANY_FAULT, 0, &other, NULL), 0);
        assert_int_equal(avoid_fault(one, "n", rows[i].cause, 0), rows[i].nodes);
        assert_int_equal(avoid_fault(other, "n", rows[i].cause, 0), rows[i].any);
    }
}

static void a_tasks_own_end_is_not_the_nodes_fault(void **state)
{
    (void)state;
    assert_int_equal(avoid_cause_of(FAIL_EXIT), AVOID_TASK);
    assert_int_equal(avoid_cause_of(FAIL_MEMORY), AVOID_TASK);
    assert_int_equal(avoid_cause_of(FAIL_FILES), AVOID_FILES);
    assert_int_equal(avoid_cause_of(FAIL_NODE), AVOID_LOST);
    assert_int_equal(avoid_cause_of(FAIL_PREEMPTED), AVOID_PREEMPTED);
    assert_int_equal(avoid_cause_of(FAIL_PERSON), AVOID_PREEMPTED);
}

static void the_last_node_that_fits_is_never_avoided(void **state)
{
    struct avoid *a = *state;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(avoid_fault(a, "n1", AVOID_FILES, 2), i);
        assert_int_equal(avoid_fault(a, "n2", AVOID_FILES, 2), 0);
    }
    assert_false(avoid_has(a, "n2"));
    /* Another one has come: the next fault is one too many. */
    assert_int_equal(avoid_fault(a, "n2", AVOID_FILES, 3), 1);
}

static void add_name(void *arg, const char *node)
{
    assert_int_equal(buf_add_str(arg, node), 0);
}

static void the_oldest_is_tried_again_first(void **state)
{
    static const char *const names[] = { "a", "b", "c" };
    struct avoid *a = *state;
    AUTO_BUF list = { .max = KIB };

    assert_null(avoid_lift(a, 0));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(avoid_fault(a, names[i], AVOID_START, 0), 0);
        assert_int_equal(avoid_fault(a, names[i], AVOID_START, 0), 1);
    }
    assert_string_equal(avoid_lift(a, 0), "a");
    avoid_each(a, add_name, &list);
    assert_string_equal(buf_text(&list), "bc");
    assert_int_equal(avoid_fault(a, "a", AVOID_START, 0), 1); /* it has not learnt */
    buf_reset(&list);
    avoid_each(a, add_name, &list);
    assert_string_equal(buf_text(&list), "bca");
}

/* Two of three nodes are avoided, and nothing has been served since 1000. */
static void nodes_are_let_off_when_asks_wait(void **state)
{
    struct avoid *a = *state;

    assert_int_equal(avoid_lift_at(a, 1000, 3), INT64_MAX);
    assert_int_equal(avoid_restore(a, "a", true), 0);
    assert_int_equal(avoid_restore(a, "b", true), 0);
    assert_true(avoid_any(a));
    assert_int_equal(avoid_lift_at(a, 1000, 3), 1000 + AVOID_FIRST_MS);
    assert_int_equal(avoid_lift_at(a, 1000, 0), 1000 + AVOID_FIRST_MS);
    assert_int_equal(avoid_lift_at(a, 1000, 2), 1000); /* the third is gone */
    assert_string_equal(avoid_lift(a, 9000), "a");
    assert_int_equal(avoid_lift_at(a, 1000, 3), 9000 + 2 * AVOID_FIRST_MS);
    assert_int_equal(avoid_lift_at(a, 20000, 3), 20000 + 2 * AVOID_FIRST_MS);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(avoid_restore(a, "a", true), 0);
        assert_non_null(avoid_lift(a, 9000));
    }
    assert_int_equal(avoid_restore(a, "a", true), 0);
    assert_int_equal(avoid_lift_at(a, 9000, 3), 9000 + AVOID_MOST_MS);
}

static void what_another_master_avoided_is_avoided(void **state)
{
    struct avoid *a = *state;

    assert_int_equal(avoid_restore(a, "a", true), 0);
    assert_int_equal(avoid_restore(a, "a", true), 0);
    assert_true(avoid_has(a, "a"));
    assert_int_equal(avoid_fault(a, "a", AVOID_DISK, 0), 0); /* it is already */
    assert_int_equal(avoid_restore(a, "a", false), 0);
    assert_int_equal(avoid_restore(a, "b", false), 0);
    assert_false(avoid_any(a));
    assert_int_equal(avoid_fault(a, "a", AVOID_DISK, 0), 1); /* it has been let off once */
    assert_int_equal(avoid_fault(a, "b", AVOID_DISK, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_faults_that_can_be_the_nodes_are_enough, setup,
                                        teardown),
        cmocka_unit_test(what_counts_is_a_table),
        cmocka_unit_test(a_tasks_own_end_is_not_the_nodes_fault),
        cmocka_unit_test_setup_teardown(the_last_node_that_fits_is_never_avoided, setup, teardown),
        cmocka_unit_test_setup_teardown(the_oldest_is_tried_again_first, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes_are_let_off_when_asks_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(what_another_master_avoided_is_avoided, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
