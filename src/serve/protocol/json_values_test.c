/* json_values_test.c - numbers keep their last bit on the way to JSON and back, and values are
 * shown in messages without showing all of them. */
#include "base/str.h"
#include "serve/protocol/json_values.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* Numbers nobody chose: xorshift. */
static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Prints a tensor and reads the text back into a tensor's bytes. */
static void there_and_back(const struct tensor *t, struct buf *text, struct json_sink *sink)
{
    struct json_source s = { .t = t, .flat = true };
    AUTO_JSON_DOC *doc = NULL;
    struct json_trouble why;
    yyjson_val *list, *bad;

    assert_int_equal(json_values_print(text, &s, 0), 0);
    assert_int_equal(s.at, t->size);
    if (json_doc_read(text->data, text->len, false, &doc, &why) < 0)
        fail_msg("%s at %zu of %s", why.text, why.at, buf_text(text));
    list = yyjson_doc_get_root(doc);
    assert_int_equal(yyjson_arr_size(list), t->count);
    sink->type = t->type;
    buf_init(&sink->bytes, t->size);
    if (t->count > 0)
        assert_int_equal(
            json_sink_add(sink, yyjson_arr_get_first(list), yyjson_arr_size(list), &bad), 0);
    assert_int_equal(sink->count, t->count);
    assert_int_equal(sink->bytes.len, t->size);
}

static void make(struct tensor *t, enum tensor_type type, size_t n, void **ret)
{
    const int64_t dims[] = { (int64_t)n };
    struct err err = ERR_INIT;

    if (tensor_init(t, "t", type, dims, 1, &err) < 0 || tensor_alloc(t, ret, &err) < 0)
        fail_msg("%s", err.text);
}

static void every_type_comes_back_bit_by_bit(void **state)
{
    static const enum tensor_type types[] = {
        TENSOR_UINT8, TENSOR_UINT16, TENSOR_UINT32, TENSOR_UINT64, TENSOR_INT8, TENSOR_INT16,
        TENSOR_INT32, TENSOR_INT64,  TENSOR_FP32,   TENSOR_FP64,   TENSOR_BOOL,
    };
    static const size_t counts[] = { 0, 1, 2, 255, 256, 257, 512, 513, 3000 };
    uint64_t seed = 88172645463325252u;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(types) * COUNT_OF(counts); i++) {
        enum tensor_type type = types[i % COUNT_OF(types)];
        AUTO_BUF text = { .max = MIB };
        AUTO_TENSOR t = { 0 };
        struct json_sink sink = { 0 };
        uint8_t *p;

        make(&t, type, counts[i / COUNT_OF(types)], (void **)&p);
        for (size_t k = 0; k < t.size; k++)
            p[k] = (uint8_t)(next_random(&seed) & (type == TENSOR_BOOL ? 1 : 0xff));
        for (size_t k = 0; k < t.count; k++) { /* not the many NaNs, which are all one here */
            if (type == TENSOR_FP32 && isnan(((float *)(void *)p)[k]))
                ((float *)(void *)p)[k] = INFINITY;
            if (type == TENSOR_FP64 && isnan(((double *)(void *)p)[k]))
                ((double *)(void *)p)[k] = -INFINITY;
        }
        there_and_back(&t, &text, &sink);
        if (t.size > 0)
            assert_memory_equal(sink.bytes.data, t.data, t.size);
        buf_done(&sink.bytes);
    }
}

static void floats_are_printed_as_short_as_they_can_be(void **state)
{
    static const struct {
        float value;
        const char *text;
    } rows[] = {
        { 0.1f, "0.1" },
        { 2.5f, "2.5" },
        { 1.0f / 3, "0.33333334" },
        { 16777216, "16777216.0" },
        { -0.0f, "-0.0" },
        { 1e-45f, "1e-45" },
        { 3.4028235e38f, "3.4028235e38" },
        { NAN, "NaN" },
        { -INFINITY, "-Infinity" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct tensor t = {
            .type = TENSOR_FP32, .count = 1, .size = 4, .data = (const uint8_t *)&rows[i].value
        };
        struct json_source s = { .t = &t };
        AUTO_BUF text = { .max = KIB };

        assert_int_equal(json_values_print(&text, &s, 0), 0);
        assert_string_equal(buf_text(&text), rows[i].text);
    }
}

static void a_text_survives_whatever_is_in_it(void **state)
{
    static const char words[] = "\0\1\x1f \"\\/\n\u00e9\U0001f600";
    const int64_t dims[] = { 300 };
    AUTO_BUF bytes = { .max = MIB };
    AUTO_BUF text = { .max = MIB };
    AUTO_TENSOR t = { 0 };
    struct json_sink sink = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    for (int i = 0; i < 300; i++)
        assert_int_equal(tensor_bytes_add(&bytes, words, i % 2 ? sizeof(words) - 1 : 3), 0);
    if (tensor_init(&t, "t", TENSOR_BYTES, dims, 1, &err) < 0 ||
        tensor_own_buf(&t, &bytes, &err) < 0)
        fail_msg("%s", err.text);
    there_and_back(&t, &text, &sink);
    assert_memory_equal(sink.bytes.data, t.data, t.size);
    buf_done(&sink.bytes);
}

static void what_is_shown_of_a_value_is_cut_off(void **state)
{
    static const struct {
        const char *json;
        size_t cap;
        const char *shown;
    } rows[] = {
        { "{\"a\": [1, 2.5, {}], \"b\": null}", 200,
          "{\n    \"a\": [1, 2.5, {}],\n    \"b\": null\n}" },
        { "[\"abcdefghij\"]", 6, "[\"abc" },
        { "[\"\u00e4\u00e4\u00e4\u00e4\"]", 6, "[\"\u00e4" },
        { "[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]", 200,
          "[[[[[[[[[[[[[[[[…]]]]]]]]]]]]]]]]" },
        { "\"a\\\"b\"", 200, "\"a\\\"b\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON_DOC *doc = NULL;
        struct json_trouble why;
        char shown[200];

        assert_int_equal(json_doc_read(rows[i].json, strlen(rows[i].json), false, &doc, &why), 0);
        json_show(yyjson_doc_get_root(doc), shown, rows[i].cap);
        assert_string_equal(shown, rows[i].shown);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back_bit_by_bit),
        cmocka_unit_test(floats_are_printed_as_short_as_they_can_be),
        cmocka_unit_test(a_text_survives_whatever_is_in_it),
        cmocka_unit_test(what_is_shown_of_a_value_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
