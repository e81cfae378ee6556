/* blacklist_test.c - which nodes are avoided, from when on, and until when. */
#include "job/blacklist.h"
#include "test.h"

static int setup(void **state)
{
    struct blacklist *a = NULL;

    if (blacklist_new(BLACKLIST_NODES_FAULT, 0, &a, NULL) < 0)
        return -1;
    *state = a;
    return 0;
}

static int teardown(void **state)
{
    blacklist_free(*state);
    return 0;
}

static void two_faults_that_can_be_the_nodes_are_enough(void **state)
{
    struct blacklist *a = *state;

    assert_int_equal(blacklist_fault(a, "n1", BLACKLIST_DISK, 4), 0);
    assert_false(blacklist_has(a, "n1"));
    assert_int_equal(blacklist_fault(a, "n2", BLACKLIST_DISK, 4), 0);
    assert_int_equal(blacklist_fault(a, "n1", BLACKLIST_START, 4), 1);
    assert_true(blacklist_has(a, "n1"));
    assert_false(blacklist_has(a, "n2"));
    assert_int_equal(blacklist_fault(a, "n1", BLACKLIST_DISK, 4), 0); /* said once */
}

static void what_counts_is_a_table(void **state)
{
    static const struct {
        enum blacklist_cause cause;
        bool nodes, any;
    } rows[] = {
        { BLACKLIST_START, true, true },       { BLACKLIST_FILES, true, true },
        { BLACKLIST_DISK, true, true },        { BLACKLIST_AGENT, true, true },
        { BLACKLIST_TASK, false, true },       { BLACKLIST_LOST, false, false },
        { BLACKLIST_PREEMPTED, false, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(blacklist) struct blacklist *one = NULL;
        AUTO(blacklist) struct blacklist *other = NULL;

        assert_int_equal(blacklist_new(BLACKLIST_NODES_FAULT, 1, &one, NULL), 0);
        assert_int_equal(blacklist_new(BLACKLIST_ANY_FAULT, 0, &other, NULL), 0);
        assert_int_equal(blacklist_fault(one, "n", rows[i].cause, 0), rows[i].nodes);
        assert_int_equal(blacklist_fault(other, "n", rows[i].cause, 0), rows[i].any);
    }
}

static void a_tasks_own_end_is_not_the_nodes_fault(void **state)
{
    (void)state;
    assert_int_equal(blacklist_cause_of(FAIL_EXIT), BLACKLIST_TASK);
    assert_int_equal(blacklist_cause_of(FAIL_MEMORY), BLACKLIST_TASK);
    assert_int_equal(blacklist_cause_of(FAIL_FILES), BLACKLIST_FILES);
    assert_int_equal(blacklist_cause_of(FAIL_NODE), BLACKLIST_LOST);
    assert_int_equal(blacklist_cause_of(FAIL_PREEMPTED), BLACKLIST_PREEMPTED);
    assert_int_equal(blacklist_cause_of(FAIL_PERSON), BLACKLIST_PREEMPTED);
}

static void the_last_node_that_fits_is_never_avoided(void **state)
{
    struct blacklist *a = *state;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(blacklist_fault(a, "n1", BLACKLIST_FILES, 2), i);
        assert_int_equal(blacklist_fault(a, "n2", BLACKLIST_FILES, 2), 0);
    }
    assert_false(blacklist_has(a, "n2"));
    /* Another one has come: the next fault is refused. */
    assert_int_equal(blacklist_fault(a, "n2", BLACKLIST_FILES, 3), 1);
}

static void add_name(void *arg, const char *node)
{
    assert_int_equal(buf_add_str(arg, node), 0);
}

static void the_oldest_is_tried_again_first(void **state)
{
    static const char *const names[] = { "a", "b", "c" };
    struct blacklist *a = *state;
    AUTO_BUF list = { .max = KIB };

    assert_null(blacklist_lift(a, 0));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(blacklist_fault(a, names[i], BLACKLIST_START, 0), 0);
        assert_int_equal(blacklist_fault(a, names[i], BLACKLIST_START, 0), 1);
    }
    assert_string_equal(blacklist_lift(a, 0), "a");
    blacklist_each(a, add_name, &list);
    assert_string_equal(buf_text(&list), "bc");
    assert_int_equal(blacklist_fault(a, "a", BLACKLIST_START, 0), 1); /* it has not learnt */
    buf_reset(&list);
    blacklist_each(a, add_name, &list);
    assert_string_equal(buf_text(&list), "bca");
}

/* Two of three nodes are avoided, and nothing has been served since 1000. */
static void nodes_are_let_off_when_asks_wait(void **state)
{
    struct blacklist *a = *state;

    assert_int_equal(blacklist_lift_at(a, 1000, 3), INT64_MAX);
    assert_int_equal(blacklist_restore(a, "a", true), 0);
    assert_int_equal(blacklist_restore(a, "b", true), 0);
    assert_true(blacklist_any(a));
    assert_int_equal(blacklist_lift_at(a, 1000, 3), 1000 + BLACKLIST_FIRST_MS);
    assert_int_equal(blacklist_lift_at(a, 1000, 0), 1000 + BLACKLIST_FIRST_MS);
    assert_int_equal(blacklist_lift_at(a, 1000, 2), 1000); /* the third is gone */
    assert_string_equal(blacklist_lift(a, 9000), "a");
    assert_int_equal(blacklist_lift_at(a, 1000, 3), 9000 + 2 * BLACKLIST_FIRST_MS);
    assert_int_equal(blacklist_lift_at(a, 20000, 3), 20000 + 2 * BLACKLIST_FIRST_MS);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(blacklist_restore(a, "a", true), 0);
        assert_non_null(blacklist_lift(a, 9000));
    }
    assert_int_equal(blacklist_restore(a, "a", true), 0);
    assert_int_equal(blacklist_lift_at(a, 9000, 3), 9000 + BLACKLIST_MOST_MS);
}

static void what_another_master_avoided_is_avoided(void **state)
{
    struct blacklist *a = *state;

    assert_int_equal(blacklist_restore(a, "a", true), 0);
    assert_int_equal(blacklist_restore(a, "a", true), 0);
    assert_true(blacklist_has(a, "a"));
    assert_int_equal(blacklist_fault(a, "a", BLACKLIST_DISK, 0), 0); /* it is already */
    assert_int_equal(blacklist_restore(a, "a", false), 0);
    assert_int_equal(blacklist_restore(a, "b", false), 0);
    assert_false(blacklist_any(a));
    assert_int_equal(blacklist_fault(a, "a", BLACKLIST_DISK, 0), 1); /* it has been let off once */
    assert_int_equal(blacklist_fault(a, "b", BLACKLIST_DISK, 0), 0);
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
