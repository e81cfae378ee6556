/* engine_progress_test.c - what tasks report of their progress, and how much of it is written. */
#include "job/engine/engine_private.h"
#include "job/engine/engine_testing.h"

static unsigned count_progress(const struct buf *lines)
{
    const char *at = (const char *)lines->data, *end = at + lines->len;
    unsigned n = 0;

    while (lines->len &&
           (at = memmem(at, (size_t)(end - at), "\"event\":\"progress\"", 18)) != NULL) {
        at++;
        n++;
    }
    return n;
}

static void progress_is_shown_each_second_and_written_seldom(void **state)
{
    struct bench *b = *state;
    AUTO_BUF shown = { .max = MIB };

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 1);
    run_all(b);
    engine_watch(b->e, true);
    for (int i = 1; i <= 50; i++) {
        engine_on_progress(b->e, 0, i, 100, "{\"loss\": 0.5}", b->now);
        pass(b, 10);
    }
    assert_true(logged(b, "\"step\":1,", "\"metrics\":{\"loss\":0.5}"));
    pass(b, 600);
    assert_int_equal(engine_live(b->e, &shown), 0);
    assert_int_equal(count_progress(&shown), 1);
    assert_true(buf_text(&shown) && strstr(buf_text(&shown), "\"step\":50,"));
    assert_null(strstr(buf_text(&shown), "seq"));
    assert_false(logged(b, "\"step\":50,", NULL));
    engine_on_progress(b->e, 0, 99, 100, "no JSON, and \"hostile", b->now);
    ended(b, "worker:0", 0); /* the last word stands in the log */
    assert_true(logged(b, "\"step\":99,\"total\":100}", NULL));
}

/* A week of one task that reports each second. */
static void the_log_of_a_week_is_small(void **state)
{
    struct bench *b = *state;
    AUTO_BUF untold = { .max = MIB };
    unsigned n;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 1);
    run_all(b);
    for (int i = 0; i < 7 * 24 * 3600; i++) {
        engine_on_progress(b->e, 0, i, 0, NULL, b->now);
        pass(b, 1000);
    }
    work(b);
    n = count_progress(&b->log);
    assert_in_range(n, 7 * 24, 7 * 24 + 10);
    assert_true(b->log.len < 32 * KIB);
    assert_int_equal(b->e->live.len, 0); /* nobody looks */
    assert_int_equal(engine_untold(b->e, &untold), 0);
    assert_true(buf_text(&untold) && strstr(buf_text(&untold), "\"step\":604799,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(progress_is_shown_each_second_and_written_seldom),
        TEST(the_log_of_a_week_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
