/* row_columns_test.c - see row_columns.h */
#include "base/str.h"
#include "cmd/predict/row_columns.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* "x:FP32:-1,3 id:BYTES:-1" */
static void add_inputs(struct signature *s, const char *text)
{
    AUTO_STRS inputs = { 0 };

    assert_int_equal(strs_split(&inputs, text, " "), 0);
    for (size_t i = 0; i < inputs.n; i++) {
        AUTO_STRS parts = { 0 };
        AUTO_STRS sizes = { 0 };
        int64_t dims[TENSOR_DIMS_MAX];

        assert_int_equal(strs_split(&parts, inputs.v[i], ":"), 0);
        if (parts.n > 2)
            assert_int_equal(strs_split(&sizes, parts.v[2], ","), 0);
        for (size_t k = 0; k < sizes.n; k++)
            assert_int_equal(str_to_i64(sizes.v[k], -1, 1000, &dims[k]), 0);
        assert_int_equal(signature_add(&s->inputs, parts.v[0], NULL,
                                       tensor_type_of_oip(parts.v[1], strlen(parts.v[1])), dims,
                                       sizes.n, NULL),
                         0);
    }
}

/* What becomes of a line: "x=1 2 3; id=…" or the error. The line is given twice: as the first one
 * and, where that is a header, `row` as the second. */
static char *see(const char *inputs, const char *first, const char *row, enum row_header header)
{
    AUTO_SIGNATURE s = { 0 };
    AUTO_STRS a = { 0 };
    AUTO_STRS b = { 0 };
    AUTO_ROW_COLUMNS c = { 0 };
    AUTO_BUF out = { .max = MIB };
    struct buf bytes[4] = { { .max = MIB }, { .max = MIB }, { .max = MIB }, { .max = MIB } };
    struct err err = ERR_INIT;
    struct csv_record record = { .line = 1 };
    int r;

    add_inputs(&s, inputs);
    assert_int_equal(strs_split(&a, first, ","), 0);
    assert_int_equal(strs_split(&b, row ? row : "", ","), 0);
    record.cells = (const char *const *)a.v;
    record.n = a.n;
    r = row_columns_make(&s, &record, header, &c, &err);
    if (r == 1) {
        assert_non_null(row);
        record = (struct csv_record){ (const char *const *)b.v, b.n, 2 };
    }
    if (r >= 0)
        r = row_encode(&c, &record, bytes, &err);
    for (size_t i = 0; r == 0 && i < c.n; i++) {
        assert_int_equal(buf_printf(&out, "%s%s=", i ? "; " : "", c.inputs[i].slot->name), 0);
        for (size_t k = 0; k < c.inputs[i].width; k++) {
            float f = 0;
            int64_t n = 0;

            if (c.inputs[i].slot->type == TENSOR_FP32)
                memcpy(&f, bytes[i].data + k * sizeof(f), sizeof(f));
            else
                memcpy(&n, bytes[i].data + k * sizeof(n), sizeof(n));
            assert_int_equal(buf_printf(&out, k ? " %g" : "%g", (double)f + (double)n), 0);
        }
    }
    if (r == 0 && c.unused)
        assert_int_equal(buf_printf(&out, " (%s)", c.unused), 0);
    if (r < 0)
        assert_int_equal(buf_add_str(&out, err.text), 0);
    for (size_t i = 0; i < COUNT_OF(bytes); i++)
        buf_done(&bytes[i]);
    return str_printf("%s", buf_text(&out));
}

static void columns_find_their_inputs(void **state)
{
    static const struct {
        const char *inputs, *first, *row, *wanted;
        enum row_header header;
    } rows[] = {
        { "x:FP32:-1,3", "1,2.5,-3e2", NULL, "x=1 2.5 -300", 0 },
        { "x:FP32:-1,3", "a,b,c", "1,2,3", "x=1 2 3", 0 },
        { "x:FP32:-1,3", "x.2,label,x.0,x.1", "3,9,1,2", "x=1 2 3 (label)", 0 },
        { "x:FP32:-1,2,2", "x_3,x_2,x_1,x_0", "1,2,3,4", "x=4 3 2 1", 0 },
        { "a:FP32:-1 b:INT64:-1,1", "1.5,7", NULL, "a=1.5; b=7", 0 },
        { "a:FP32:-1 b:INT64:-1", "b,id,a", "7,0,1.5", "a=1.5; b=7 (id)", 0 },
        { "a:FP32:-1 b:INT64:-1", "b,7", NULL,
          "line 1, column 1: 'b' is not a number (input 'a' is FP32)", 0 },
        { "a:FP32:-1 b:INT64:-1", "c,b", "1,2", "line 1: no column has the name of the input 'a'",
          0 },
        { "a:FP32:-1 b:INT64:-1", "c,d", "1,2", "line 1: no column has the name of the input 'a'",
          0 },
        { "x:FP32:-1,3", "x.0,x.1,other", "1,2,3",
          "line 1: no column has the name 'x.2', of the input 'x'", 0 },
        { "x:FP32:-1,3", "1,2", NULL, "line 1: 2 columns, and the model takes 3", 0 },
        { "x:FP32:-1,3", "a,b,c", "1,2", "line 2: 2 columns instead of 3", 0 },
        { "x:FP32:-1,-1", "1,2", NULL, "x=1 2", 0 },
        { "x:FP32", "1,2", NULL, "x=1 2", 0 },
        { "x:FP32:-1,2,-1", "1,2,3", NULL,
          "the model cannot be asked with rows: input 'x' has the shape [-1, 2, -1]", 0 },
        { "n:INT64:1", "5", NULL, "n=5", 0 },
        { "a:FP32:-1 n:INT64:1", "1,5", NULL,
          "the model cannot be asked with rows: input 'n' has the shape [1]", 0 },
        { "x:FP32:-1,2", "0,1", "5,6", "x=5 6", ROW_HEADER_YES },
        { "x:FP32:-1,2", "a,1", NULL, "line 1, column 1: 'a' is not a number (input 'x' is FP32)",
          ROW_HEADER_NO },
        { "x:FP16:-1,2", "1,2", NULL, "input 'x' is FP16, which has no form in a table", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *got = see(rows[i].inputs, rows[i].first, rows[i].row, rows[i].header);

        assert_string_equal(got, rows[i].wanted);
    }
}

/* One cell for an input of a type: its bytes, or the error. */
static void cells_become_values_of_their_type(void **state)
{
    const struct {
        const char *type, *cell;
        const void *bytes;
        size_t n;
        const char *error;
    } rows[] = {
        { "FP32", "0.1", &(float){ 0.1F }, 4, NULL },
        { "FP32", "1e99", NULL, 0, "out of range" },
        { "FP32", "-inf", &(float){ -INFINITY }, 4, NULL },
        { "FP64", "0.1", &(double){ 0.1 }, 8, NULL },
        { "FP64", "1,5", NULL, 0, "not a number" },
        { "INT8", "-128", &(int8_t){ -128 }, 1, NULL },
        { "INT8", "128", NULL, 0, "out of range" },
        { "INT32", "3.0", &(int32_t){ 3 }, 4, NULL },
        { "INT32", "3.5", NULL, 0, "not a whole number" },
        { "INT32", "", NULL, 0, "not a whole number" },
        { "INT64", "9007199254740993", &(int64_t){ 9007199254740993 }, 8, NULL },
        { "INT64", "1e300", NULL, 0, "not a whole number" },
        { "UINT16", "-1", NULL, 0, "out of range" },
        { "BOOL", "True", &(uint8_t){ 1 }, 1, NULL },
        { "BOOL", "0", &(uint8_t){ 0 }, 1, NULL },
        { "BOOL", "2", NULL, 0, "out of range" },
        { "BYTES", "hi", "\2\0\0\0hi", 6, NULL },
        { "BYTES", "", "\0\0\0\0", 4, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SIGNATURE s = { 0 };
        AUTO_ROW_COLUMNS c = { 0 };
        AUTO_BUF bytes = { .max = KIB };
        AUTO_FREE char *input = str_printf("x:%s:-1", rows[i].type);
        const struct csv_record record = { &rows[i].cell, 1, 9 };
        struct err err = ERR_INIT;

        add_inputs(&s, input);
        assert_int_equal(row_columns_make(&s, &record, ROW_HEADER_NO, &c, &err), 0);
        assert_int_equal(row_encode(&c, &record, &bytes, &err) < 0, rows[i].error != NULL);
        if (rows[i].error) {
            assert_non_null(strstr(err.text, rows[i].error));
            assert_non_null(strstr(err.text, "line 9, column 1: "));
            continue;
        }
        assert_int_equal(bytes.len, rows[i].n);
        assert_memory_equal(bytes.data, rows[i].bytes, rows[i].n);
    }
}

static void an_empty_cell_is_a_missing_float(void **state)
{
    AUTO_SIGNATURE s = { 0 };
    AUTO_ROW_COLUMNS c = { 0 };
    AUTO_BUF bytes = { .max = KIB };
    const char *const cells[] = { "1", "" };
    const struct csv_record record = { cells, 2, 1 };
    float got[2];

    (void)state;
    add_inputs(&s, "x:FP32:-1,2");
    assert_int_equal(row_columns_make(&s, &record, ROW_HEADER_AUTO, &c, NULL), 0);
    assert_int_equal(row_encode(&c, &record, &bytes, NULL), 0);
    assert_int_equal(bytes.len, sizeof(got));
    memcpy(got, bytes.data, sizeof(got));
    assert_true(got[0] == 1 && isnan(got[1]));
}

static void a_row_of_texts_is_no_header(void **state)
{
    AUTO_SIGNATURE s = { 0 };
    AUTO_ROW_COLUMNS c = { 0 };
    const char *const cells[] = { "hello" }, *const names[] = { "text" };

    (void)state;
    add_inputs(&s, "text:BYTES:-1");
    assert_int_equal(
        row_columns_make(&s, &(struct csv_record){ cells, 1, 1 }, ROW_HEADER_AUTO, &c, NULL), 0);
    row_columns_done(&c);
    assert_int_equal(
        row_columns_make(&s, &(struct csv_record){ names, 1, 1 }, ROW_HEADER_AUTO, &c, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_find_their_inputs),
        cmocka_unit_test(cells_become_values_of_their_type),
        cmocka_unit_test(an_empty_cell_is_a_missing_float),
        cmocka_unit_test(a_row_of_texts_is_no_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
