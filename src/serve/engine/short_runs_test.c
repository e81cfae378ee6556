/* short_runs_test.c - claims about what is known of the next run. */
#include "serve/engine/short_runs.h"
#include "test.h"

#define US INT64_C(1000)

static void runs(struct short_runs *s, uint64_t bytes, int64_t ns, int n)
{
    for (int i = 0; i < n; i++)
        short_runs_add(s, bytes, ns);
}

static void nothing_is_expected_of_what_has_hardly_run(void **state)
{
    struct short_runs s = { 0 };

    (void)state;
    assert_false(short_runs_expected(&s, 100));
    runs(&s, 100, 50 * US, 31);
    assert_false(short_runs_expected(&s, 100));
    runs(&s, 100, 50 * US, 1);
    assert_true(short_runs_expected(&s, 100));
}

static void what_is_known_of_small_inputs_says_nothing_of_large_ones(void **state)
{
    struct short_runs s = { 0 };

    (void)state;
    runs(&s, 3000, 50 * US, 64);
    assert_true(short_runs_expected(&s, 2048));
    assert_true(short_runs_expected(&s, 4095));
    assert_false(short_runs_expected(&s, 4096));
    assert_false(short_runs_expected(&s, 2047));
    assert_false(short_runs_expected(&s, 0));
    assert_false(short_runs_expected(&s, UINT64_MAX));
}

static void one_in_twenty_may_be_long(void **state)
{
    struct short_runs s = { 0 };

    (void)state;
    runs(&s, 8, 50 * US, 64);
    runs(&s, 8, 300 * US, 3);
    assert_true(short_runs_expected(&s, 8));
    runs(&s, 8, 300 * US, 1);
    assert_false(short_runs_expected(&s, 8));
    runs(&s, 8, 50 * US, 60);
    assert_false(short_runs_expected(&s, 8));
    runs(&s, 8, 50 * US, 1);
    assert_true(short_runs_expected(&s, 8));
}

static void one_that_took_far_too_long_is_enough(void **state)
{
    struct short_runs s = { 0 };

    (void)state;
    runs(&s, 8, 50 * US, 1000);
    runs(&s, 8, 2001 * US, 1);
    assert_false(short_runs_expected(&s, 8));
    runs(&s, 8, 50 * US, 60);
    assert_false(short_runs_expected(&s, 8));
    runs(&s, 8, 50 * US, 1);
    assert_true(short_runs_expected(&s, 8));
}

static void after_a_surprise_none_is_trusted_for_a_while_that_doubles(void **state)
{
    struct short_runs s = { 0 };

    (void)state;
    runs(&s, 8, 50 * US, 64);
    runs(&s, 4096, 50 * US, 64);
    for (int wary = 1024; wary <= 8192; wary *= 2) {
        runs(&s, 8, 101000 * US, 1);
        assert_false(short_runs_expected(&s, 4096)); /* of another size, too */
        runs(&s, 8, 50 * US, wary - 1);
        assert_false(short_runs_expected(&s, 8));
        runs(&s, 8, 50 * US, 1);
        assert_true(short_runs_expected(&s, 8));
        assert_true(short_runs_expected(&s, 4096));
    }
    for (int i = 0; i < 100; i++) { /* long runs that were expected to be long surprise nobody */
        runs(&s, 1 << 20, 101000 * US, 1);
        assert_true(short_runs_expected(&s, 8));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_expected_of_what_has_hardly_run),
        cmocka_unit_test(what_is_known_of_small_inputs_says_nothing_of_large_ones),
        cmocka_unit_test(one_in_twenty_may_be_long),
        cmocka_unit_test(one_that_took_far_too_long_is_enough),
        cmocka_unit_test(after_a_surprise_none_is_trusted_for_a_while_that_doubles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
