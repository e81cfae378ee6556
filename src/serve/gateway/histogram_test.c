/* Quantiles from buckets. */
#include "serve/gateway/histogram.h"
#include "test.h"

static void a_quantile_is_at_most_a_sixteenth_too_high(void **state)
{
    (void)state;
    for (int64_t us = 1; us < 3600000000LL; us = us * 5 / 4 + 1) {
        struct histogram h = { 0 };
        int64_t q;

        histogram_add(&h, us);
        q = histogram_quantile(&h, 500);
        assert_true(q >= us);
        assert_true(q <= us + us / 16);
    }
}

static void quantiles_follow_the_order_of_what_was_counted(void **state)
{
    struct histogram h = { 0 }, other = { 0 };

    (void)state;
    assert_int_equal(histogram_quantile(&h, 990), 0);
    for (int i = 0; i < 98; i++)
        histogram_add(&h, 10);
    histogram_add(&other, 1000000);
    histogram_add(&other, 1000000);
    histogram_merge(&h, &other);
    assert_int_equal(h.total, 100);
    assert_int_equal(histogram_quantile(&h, 500), 10);
    assert_int_equal(histogram_quantile(&h, 980), 10);
    assert_true(histogram_quantile(&h, 990) >= 1000000);
}

static void the_extremes_have_a_bucket(void **state)
{
    struct histogram h = { 0 };

    (void)state;
    histogram_add(&h, INT64_MIN);
    histogram_add(&h, 0);
    histogram_add(&h, INT64_MAX);
    assert_int_equal(h.total, 3);
    assert_int_equal(histogram_quantile(&h, 1), 0);
    assert_true(histogram_quantile(&h, 1000) == ((int64_t)1 << 36) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quantile_is_at_most_a_sixteenth_too_high),
        cmocka_unit_test(quantiles_follow_the_order_of_what_was_counted),
        cmocka_unit_test(the_extremes_have_a_bucket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
