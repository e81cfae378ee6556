/* row_request_test.c - see row_request.h */
#include "base/str.h"
#include "cmd/predict/row_request.h"
#include "test.h"

#include <string.h>

#define METADATA                                                                                   \
    "{\"name\": \"m\", \"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [-1, "    \
    "2]},"                                                                                         \
    "{\"name\": \"id\", \"datatype\": \"BYTES\", \"shape\": [-1]}],"                               \
    "\"outputs\": [{\"name\": \"y\", \"datatype\": \"FP32\", \"shape\": [-1, 2]},"                 \
    "{\"name\": \"most\", \"datatype\": \"FP32\", \"shape\": []},"                                 \
    "{\"name\": \"label\", \"datatype\": \"BYTES\", \"shape\": [-1]}]}"

static void read_signature(const char *text, struct signature *s)
{
    AUTO_JSON *v = NULL;

    assert_int_equal(json_parse("m", text, strlen(text), &v, NULL), 0);
    assert_int_equal(row_signature(v, s, NULL), 0);
}

static void rows_become_one_request_with_binary_tensors(void **state)
{
    static const char *const cells[][3] = { { "1", "2", "a" }, { "3", "4", "bc" } };
    static const float numbers[] = { 1, 2, 3, 4 };
    AUTO_SIGNATURE s = { 0 };
    AUTO_ROW_COLUMNS c = { 0 };
    AUTO_BUF request = { .max = MIB };
    AUTO_JSON *outputs = NULL;
    AUTO_FREE char *json = NULL;
    struct buf bytes[] = { { .max = KIB }, { .max = KIB } };
    struct row_batch b = { .bytes = bytes, .rows = 2 };
    size_t n = 0;

    (void)state;
    read_signature(METADATA, &s);
    assert_int_equal(
        row_columns_make(&s, &(struct csv_record){ cells[0], 3, 1 }, ROW_HEADER_NO, &c, NULL), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(row_encode(&c, &(struct csv_record){ cells[i], 3, 1 }, bytes, NULL), 0);
    assert_int_equal(row_outputs(&s, true, &outputs, NULL), 0);
    assert_int_equal(row_request(&c, outputs, &b, &request, &n, NULL), 0);
    json = strndup((const char *)request.data, n);
    assert_string_equal(json, "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2,2],"
                              "\"parameters\":{\"binary_data_size\":16}},"
                              "{\"name\":\"id\",\"datatype\":\"BYTES\",\"shape\":[2],"
                              "\"parameters\":{\"binary_data_size\":11}}],"
                              "\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":true}},"
                              "{\"name\":\"label\",\"parameters\":{\"binary_data\":true}}]}");
    assert_int_equal(request.len, n + 16 + 11);
    assert_memory_equal(request.data + n, numbers, 16);
    assert_memory_equal(request.data + n + 16, "\1\0\0\0a\2\0\0\0bc", 11);
    buf_done(&bytes[0]);
    buf_done(&bytes[1]);
}

/* An answer of JSON and bytes. */
static size_t make_answer(struct buf *b, const char *outputs, const void *p, size_t n)
{
    size_t json;

    assert_int_equal(buf_printf(b, "{\"outputs\":[%s]}", outputs), 0);
    json = b->len;
    assert_int_equal(buf_add(b, p, n), 0);
    return json;
}

#define Y                                                                                          \
    "{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,2],"                                       \
    "\"parameters\":{\"binary_data_size\":16}}"
#define LABEL                                                                                      \
    "{\"name\":\"label\",\"datatype\":\"BYTES\",\"shape\":[2],"                                    \
    "\"parameters\":{\"binary_data_size\":13}}"

static void an_answer_is_printed_row_by_row(void **state)
{
    static const float numbers[] = { 0.1F, 2, -3e10F, 16777216 };
    AUTO_BUF answer = { .max = KIB };
    AUTO_BUF bytes = { .max = KIB };
    AUTO_BUF out = { .max = KIB };
    AUTO_TENSORS t = { 0 };
    const struct row_columns c = { .batched = true };
    size_t json;

    (void)state;
    assert_int_equal(buf_add(&bytes, numbers, 16), 0);
    assert_int_equal(buf_add(&bytes, "\3\0\0\0a,b\2\0\0\0\"c", 13), 0);
    json = make_answer(&answer, Y "," LABEL, bytes.data, bytes.len);
    assert_int_equal(row_answer(&answer, json, &c, 2, &t, NULL), 0);
    assert_int_equal(row_print_json(&t, true, &out), 0);
    assert_string_equal(buf_text(&out),
                        "{\"y\": [0.1,2.0], \"label\": \"a,b\"}\n"
                        "{\"y\": [-30000000000.0,16777216.0], \"label\": \"\\\"c\"}\n");
    buf_reset(&out);
    assert_int_equal(row_print_names(&t, true, &out), 0);
    assert_int_equal(row_print_csv(&t, true, &out), 0);
    assert_string_equal(buf_text(&out),
                        "y.0,y.1,label\n0.1,2.0,\"a,b\"\n-30000000000.0,16777216.0,\"\"\"c\"\n");
}

static void without_a_dimension_for_rows_an_answer_is_one_row(void **state)
{
    static const float numbers[] = { 1, 2, 3, 4 };
    AUTO_BUF answer = { .max = KIB };
    AUTO_BUF out = { .max = KIB };
    AUTO_TENSORS t = { 0 };
    const struct row_columns c = { 0 };
    size_t json = make_answer(&answer, Y, numbers, 16);

    (void)state;
    assert_int_equal(row_answer(&answer, json, &c, 1, &t, NULL), 0);
    assert_int_equal(row_print_json(&t, false, &out), 0);
    assert_int_equal(row_print_names(&t, false, &out), 0);
    assert_int_equal(row_print_csv(&t, false, &out), 0);
    assert_string_equal(buf_text(&out),
                        "{\"y\": [[1.0,2.0],[3.0,4.0]]}\ny.0,y.1,y.2,y.3\n1.0,2.0,3.0,4.0\n");
}

static void answers_that_make_no_sense_are_refused(void **state)
{
    static const struct {
        const char *outputs;
        size_t n, rows;
    } bad[] = {
        { Y, 15, 2 }, /* cut off */
        { Y, 16, 3 }, /* not for each row */
        { "", 0, 1 }, /* nothing */
        { "{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,2]}", 16, 2 },
        { "{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[-2,2],\"parameters\":{\"binary_data_"
          "size\":16}}",
          16, 2 },
        { "{\"name\":\"y\",\"datatype\":\"FP16\",\"shape\":[2],\"parameters\":{\"binary_data_size\""
          ":4}}",
          4, 2 },
        { "7", 0, 1 },
    };
    static const uint8_t bytes[16];
    const struct row_columns c = { .batched = true };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        AUTO_BUF answer = { .max = KIB };
        AUTO_TENSORS t = { 0 };
        struct err err = ERR_INIT;
        size_t json = make_answer(&answer, bad[i].outputs, bytes, bad[i].n);

        assert_true(row_answer(&answer, json, &c, bad[i].rows, &t, &err) < 0);
        assert_true(err.text[0] != '\0');
    }
}

static void a_model_without_rows_in_its_outputs_is_refused(void **state)
{
    AUTO_SIGNATURE s = { 0 };
    AUTO_JSON *outputs = NULL;

    (void)state;
    read_signature("{\"inputs\": [], \"outputs\": [{\"name\": \"most\", \"datatype\": \"FP32\", "
                   "\"shape\": [1]}]}",
                   &s);
    assert_int_equal(row_outputs(&s, true, &outputs, NULL), -ENOTSUP);
    assert_int_equal(row_outputs(&s, false, &outputs, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_one_request_with_binary_tensors),
        cmocka_unit_test(an_answer_is_printed_row_by_row),
        cmocka_unit_test(without_a_dimension_for_rows_an_answer_is_one_row),
        cmocka_unit_test(answers_that_make_no_sense_are_refused),
        cmocka_unit_test(a_model_without_rows_in_its_outputs_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
