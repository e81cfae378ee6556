/* warmup_records_test.c - records and messages, byte by byte. */
#include "serve/engine/warmup_records.h"
#include "test.h"

#include <string.h>

static void records_follow_each_other(void **state)
{
    static const char file[] = "\3\0\0\0\0\0\0\0crc-abccrc-\0\0\0\0\0\0\0\0crc-crc-";
    struct view v = view_of(file, sizeof(file) - 1), record;

    (void)state;
    assert_int_equal(warmup_record_next(&v, &record, NULL), 1);
    assert_int_equal(record.n, 3);
    assert_memory_equal(record.p, "abc", 3);
    assert_int_equal(warmup_record_next(&v, &record, NULL), 1);
    assert_int_equal(record.n, 0);
    assert_int_equal(warmup_record_next(&v, &record, NULL), 0);
}

static void a_record_that_is_cut_off_is_refused(void **state)
{
    static const char file[] = "\3\0\0\0\0\0\0\0crc-abccrc-";
    static const char huge[] = "\377\377\377\377\377\377\377\377crc-abccrc-";
    struct view record;

    (void)state;
    for (size_t n = 1; n < sizeof(file) - 1; n++) {
        struct view v = view_of(file, n);
        struct err err = ERR_INIT;

        assert_int_equal(warmup_record_next(&v, &record, &err), -EINVAL);
        assert_string_equal(err.text, "a record is cut off");
    }
    for (size_t n = 12; n < sizeof(huge); n++) {
        struct view v = view_of(huge, n);

        assert_int_equal(warmup_record_next(&v, &record, NULL), -EINVAL);
    }
}

static void a_request_is_for_our_model_and_its_own_signature(void **state)
{
    static const struct {
        const char *record;
        size_t n;
        const char *request;
        size_t request_n;
        int result;
    } rows[] = {
    /* predict_log { request { model_spec { name "x", signature "s" }, inputs "in" } } */
#define ROW(record, request, result)                                                               \
    { record, sizeof(record) - 1, request, sizeof(request) - 1, result }
        ROW("\x32\x0e\x0a\x0c\x0a\x06\x0a\1x\x1a\1s\x12\2in", "\x0a\x08\x0a\3cat\x1a\1s\x12\2in",
            1),
        ROW("\x32\x06\x0a\x04\x12\2in", "\x0a\x05\x0a\3cat\x12\2in", 1), /* no model_spec */
        ROW("\x32\x00", "", 0),                                          /* no request */
        ROW("\x12\x02\x0a\x00", "", 0),                                  /* a ClassifyLog */
        ROW("", "", 0),
        ROW("\x32\x7f", "", -EINVAL), /* cut off */
        ROW("\x33\x00", "", -EINVAL), /* a group */
        ROW("\x32\x06\x0a\x04\x12\3in", "", -EINVAL),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF b = { .max = 4 * KIB };

        assert_int_equal(warmup_record_request(view_of(rows[i].record, rows[i].n), "cat", &b, NULL),
                         rows[i].result);
        if (rows[i].result != 1)
            continue;
        assert_int_equal(b.len, rows[i].request_n);
        assert_memory_equal(b.data, rows[i].request, b.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_follow_each_other),
        cmocka_unit_test(a_record_that_is_cut_off_is_refused),
        cmocka_unit_test(a_request_is_for_our_model_and_its_own_signature),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
