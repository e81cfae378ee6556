/* A rollout goes on or returns, whatever happens in whatever order. */
#include "serve/gateway/rollout.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static void a_good_version_takes_over(void **state)
{
    struct rollout r;

    (void)state;
    rollout_begin(&r, 1000);
    assert_int_equal(rollout_share(&r), 0);
    assert_int_equal(rollout_step(&r, ROLLOUT_READY, "ready", NULL), 0);
    assert_int_equal(rollout_share(&r), 1000);
    assert_int_equal(rollout_step(&r, ROLLOUT_GOOD, "good", NULL), 0);
    assert_int_equal(rollout_share(&r), GATEWAY_HUNDRED);
    assert_false(rollout_over(&r));
    assert_int_equal(rollout_step(&r, ROLLOUT_DRAINED, "drained", NULL), 0);
    assert_true(rollout_over(&r));
    assert_int_equal(rollout_share(&r), GATEWAY_HUNDRED);
}

/* The same numbers in every run. */
static unsigned chance(unsigned *seed)
{
    *seed = *seed * 1103515245U + 12345U;
    return *seed >> 16;
}

/* Whatever events come: nothing is shifted without READY and GOOD, a bad version has no share, and
 * what is over stays as it is. */
static void no_order_of_events_breaks_it(void **state)
{
    unsigned seed = 3;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct rollout r;
        bool ready = false, good = false, bad = false;

        rollout_begin(&r, 500);
        for (int i = 0; i < 8; i++) {
            enum rollout_event e = (enum rollout_event)(chance(&seed) % ROLLOUT_EVENTS_);
            struct rollout before = r;
            struct err err = ERR_INIT;

            if (rollout_step(&r, e, "so it is", &err) < 0) {
                assert_int_equal(err.code, -EPROTO);
                assert_memory_equal(&before, &r, sizeof(r));
                continue;
            }
            assert_false(rollout_over(&before));
            ready |= e == ROLLOUT_READY;
            good |= e == ROLLOUT_GOOD;
            bad |= e == ROLLOUT_BAD || e == ROLLOUT_LOST;
            assert_true(rollout_share(&r) == 0 || (ready && !bad));
            assert_true(rollout_share(&r) != GATEWAY_HUNDRED || good);
            assert_int_equal(r.state == ROLLOUT_RETURNED, bad);
        }
    }
}

static const struct gateway_watch watch = { .requests = 200, .errors = 100, .slower = 200 };

/* clang-format off */
static const struct {
    unsigned old_n, old_us, new_n, new_errors, new_us;
    int judged;
    enum rollout_event event;
    unsigned new_refused, old_refused, before, before_refused;
} judgements[] = {
    { 1000, 1000, 199, 0, 1000, 0, 0 },
    { 1000, 1000, 200, 0, 1000, 1, ROLLOUT_GOOD },
    { 1000, 1000, 200, 2, 1000, 1, ROLLOUT_GOOD },
    { 1000, 1000, 200, 3, 1000, 1, ROLLOUT_BAD },
    { 1000, 20000, 200, 0, 38000, 1, ROLLOUT_GOOD },
    { 1000, 20000, 200, 0, 46000, 1, ROLLOUT_BAD },
    { 1000, 1500, 200, 0, 3500, 1, ROLLOUT_GOOD }, /* more than twice, and nothing to notice */
    { 1000, 1000, 200, 0, 5500, 1, ROLLOUT_GOOD },
    { 1000, 1000, 200, 0, 7000, 1, ROLLOUT_BAD },
    {   19, 1000, 200, 0, 90000, 1, ROLLOUT_GOOD }, /* too few of the old one to compare with */
    { 1000, 1000,  10, 3, 1000, 0, 0 },
    { 1000, 1000,  20, 3, 1000, 1, ROLLOUT_BAD },  /* cannot become good any more */
    { 1000, 1000,  20, 2, 1000, 0, 0 },
    { 1000, 1000, 200, 0, 1000, 1, ROLLOUT_BAD,  3, 0 },
    { 1000, 1000, 200, 0, 1000, 1, ROLLOUT_GOOD, 2, 0 },
    { 1000, 1000, 200, 0, 1000, 1, ROLLOUT_GOOD, 12, 50 }, /* as wrong as ever */
    { 1000, 1000, 200, 0, 1000, 1, ROLLOUT_BAD,  13, 50 },
    { 1000, 1000,  20, 0, 1000, 1, ROLLOUT_BAD,  20, 0 },
    {   10, 1000, 200, 0, 1000, 1, ROLLOUT_GOOD, 200, 0 }, /* nothing to compare with */
    {    0,    0, 200, 0, 1000, 1, ROLLOUT_BAD,  200, 0, 500, 0 },
    {    0,    0, 200, 0, 1000, 1, ROLLOUT_GOOD, 200, 0, 500, 500 },
};
/* clang-format on */

static void a_version_is_judged_by_what_it_did(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(judgements); i++) {
        struct traffic_sum o = { .requests = judgements[i].old_n,
                                 .refused = judgements[i].old_refused };
        struct traffic_sum n = { .requests = judgements[i].new_n,
                                 .errors = judgements[i].new_errors,
                                 .refused = judgements[i].new_refused };
        const struct rollout_numbers x = { &o, &n, judgements[i].before,
                                           judgements[i].before_refused };
        enum rollout_event event = ROLLOUT_DRAINED;
        char why[160] = "";

        for (unsigned k = 0; k < judgements[i].old_n; k++)
            histogram_add(&o.times, judgements[i].old_us);
        for (unsigned k = 0; k < judgements[i].new_n; k++)
            histogram_add(&n.times, judgements[i].new_us);
        if (rollout_judge(&watch, &x, &event, why) != judgements[i].judged)
            fail_msg("row %zu: %s", i, why);
        if (judgements[i].judged) {
            assert_int_equal(event, judgements[i].event);
            assert_true(strlen(why) > 10);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_version_takes_over),
        cmocka_unit_test(no_order_of_events_breaks_it),
        cmocka_unit_test(a_version_is_judged_by_what_it_did),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
