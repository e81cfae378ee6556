/* environ_test.c - see environ.h */
#include "agent/environ.h"
#include "test.h"

static void the_last_value_of_a_name_counts(void **state)
{
    AUTO_ENV e = { 0 };
    char a[] = "A=1", ab[] = "AB=2", again[] = "A=3";

    (void)state;
    assert_int_equal(env_lend(&e, a), 0);
    assert_int_equal(env_lend(&e, ab), 0);
    assert_int_equal(env_lend(&e, again), 0);
    assert_int_equal(env_set(&e, "AB", "4=5"), 0);
    assert_int_equal(env_copy(&e, "C=\n\xff", 4), 0);
    assert_int_equal(e.n, 3);
    assert_ptr_equal(e.v[0], again);
    assert_string_equal(e.v[1], "AB=4=5");
    assert_string_equal(e.v[2], "C=\n\xff");
    assert_null(e.v[3]);
}

static void a_name_can_be_looked_up_and_taken_out(void **state)
{
    AUTO_ENV e = { 0 };

    (void)state;
    assert_null(env_get(&e, "A"));
    env_unset(&e, "A");
    assert_int_equal(env_set(&e, "A", "1"), 0);
    assert_int_equal(env_set(&e, "AB", ""), 0);
    assert_string_equal(env_get(&e, "A"), "1");
    assert_string_equal(env_get(&e, "AB"), "");
    env_unset(&e, "A");
    assert_int_equal(e.n, 1);
    assert_string_equal(e.v[0], "AB=");
    assert_null(e.v[1]);
    assert_null(env_get(&e, "A"));
}

static void what_is_no_entry_is_refused(void **state)
{
    AUTO_ENV e = { 0 };
    char none[] = "A", nameless[] = "=A";

    (void)state;
    assert_int_equal(env_lend(&e, none), -EINVAL);
    assert_int_equal(env_lend(&e, nameless), -EINVAL);
    assert_int_equal(env_copy(&e, "A=\0B", 4), -EINVAL);
    assert_int_equal(e.n, 0);
}

static void there_may_be_many(void **state)
{
    AUTO_ENV e = { 0 };

    (void)state;
    for (int i = 0; i < 300; i++) {
        AUTO_FREE char *name = str_printf("N%d", i);

        assert_non_null(name);
        assert_int_equal(env_set(&e, name, "v"), 0);
    }
    assert_int_equal(e.n, 300);
    assert_string_equal(e.v[299], "N299=v");
    assert_null(e.v[300]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_value_of_a_name_counts),
        cmocka_unit_test(a_name_can_be_looked_up_and_taken_out),
        cmocka_unit_test(what_is_no_entry_is_refused),
        cmocka_unit_test(there_may_be_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
