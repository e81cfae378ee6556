/* metrics_test.c - the text that Prometheus reads. */
#include "serve/engine/metrics.h"
#include "test.h"

#include <string.h>

static const char *text_of(const struct metrics *m, struct buf *out)
{
    const struct metrics_now now = { .model = "a\"b\\c",
                                     .backend = "onnxruntime",
                                     .library = "1.31.1",
                                     .version = 7,
                                     .ready = true,
                                     .waiting = 3 };

    assert_int_equal(metrics_print(m, &now, out), 0);
    return buf_text(out);
}

static void classes_of_a_histogram_add_up(void **state)
{
    AUTO_BUF out = { .max = 64 * KIB };
    struct metrics m = { 0 };
    const char *text;

    (void)state;
    metrics_init(&m);
    metrics_count(&m.rows, 1);
    metrics_count(&m.rows, 3);
    metrics_count(&m.rows, 5000);
    text = text_of(&m, &out);
    assert_non_null(strstr(text, "ydl_serve_batch_rows_bucket{le=\"1\"} 1\n"));
    assert_non_null(strstr(text, "ydl_serve_batch_rows_bucket{le=\"2\"} 1\n"));
    assert_non_null(strstr(text, "ydl_serve_batch_rows_bucket{le=\"4\"} 2\n"));
    assert_non_null(strstr(text, "ydl_serve_batch_rows_bucket{le=\"1024\"} 2\n"));
    assert_non_null(strstr(text, "ydl_serve_batch_rows_bucket{le=\"+Inf\"} 3\n"
                                 "ydl_serve_batch_rows_sum 5004\n"
                                 "ydl_serve_batch_rows_count 3\n"));
    metrics_done(&m);
}

static void answers_are_counted_by_what_they_were(void **state)
{
    AUTO_BUF out = { .max = 64 * KIB };
    struct metrics m = { 0 };
    const char *text;

    (void)state;
    metrics_init(&m);
    metrics_answer(&m, "infer", 200);
    metrics_answer(&m, "infer", 429);
    metrics_answer(&m, "infer", 200);
    text = text_of(&m, &out);
    assert_non_null(strstr(text, "ydl_serve_requests_total{operation=\"infer\",code=\"200\"} 2\n"));
    assert_non_null(strstr(text, "ydl_serve_requests_total{operation=\"infer\",code=\"429\"} 1\n"));
    metrics_done(&m);
}

static void what_a_label_says_cannot_end_it(void **state)
{
    AUTO_BUF out = { .max = 64 * KIB };
    struct metrics m = { 0 };

    (void)state;
    metrics_init(&m);
    assert_non_null(strstr(text_of(&m, &out), "{model=\"a\\\"b\\\\c\",version=\"7\","));
    metrics_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_of_a_histogram_add_up),
        cmocka_unit_test(answers_are_counted_by_what_they_were),
        cmocka_unit_test(what_a_label_says_cannot_end_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
