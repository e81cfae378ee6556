/* tensor_test.c - types, shapes and bytes of tensors. */
#include "base/str.h"
#include "serve/tensor.h"
#include "test.h"

#include <string.h>

static void every_type_is_found_by_its_three_names(void **state)
{
    (void)state;
    for (enum tensor_type t = TENSOR_NONE + 1; t < TENSOR_TYPES_; t++) {
        const char *oip = tensor_type_oip(t), *tf = tensor_type_tf(t);

        assert_int_equal(tensor_type_of_oip(oip, strlen(oip)), t);
        assert_int_equal(tensor_type_of_tf(tf, strlen(tf)), t);
        assert_int_equal(tensor_type_of_tf_number(tensor_type_tf_number(t)), t);
    }
    assert_int_equal(tensor_type_of_oip("fp32", 4), TENSOR_NONE);
    assert_int_equal(tensor_type_of_oip("FP3", 3), TENSOR_NONE);
    assert_int_equal(tensor_type_of_tf_number(0), TENSOR_NONE);
    assert_string_equal(tensor_type_oip(TENSOR_TYPES_), "?");
}

static void shapes_are_counted_without_overflow(void **state)
{
    static const struct {
        int64_t dims[TENSOR_DIMS_MAX + 1];
        size_t rank;
        enum tensor_type type;
        int result;
        size_t count, size;
    } rows[] = {
        { { 0 }, 0, TENSOR_FP32, 0, 1, 4 },
        { { 2, 3 }, 2, TENSOR_FP64, 0, 6, 48 },
        { { 2, 0, 3 }, 3, TENSOR_FP64, 0, 0, 0 },
        { { INT64_MAX, INT64_MAX, 0 }, 3, TENSOR_INT8, 0, 0, 0 },
        { { 5 }, 1, TENSOR_BYTES, 0, 5, 0 },
        { { 2, -1 }, 2, TENSOR_FP32, -EINVAL, 0, 0 },
        { { 0, -1 }, 2, TENSOR_FP32, -EINVAL, 0, 0 },
        { { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, 9, TENSOR_FP32, -EINVAL, 0, 0 },
        { { 1ll << 32, 1ll << 32 }, 2, TENSOR_INT8, -E2BIG, 0, 0 },
        { { 1ll << 61 }, 1, TENSOR_FP32, -E2BIG, 0, 0 },
        { { 1ll << 31, 1ll << 31, 2 }, 3, TENSOR_BYTES, -E2BIG, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t count = 77, size = 77;

        assert_int_equal(tensor_measure(rows[i].type, rows[i].dims, rows[i].rank, &count, &size),
                         rows[i].result);
        if (rows[i].result == 0) {
            assert_int_equal(count, rows[i].count);
            assert_int_equal(size, rows[i].size);
        }
    }
}

static void a_shape_that_cannot_be_is_told_in_words(void **state)
{
    static const int64_t minus[] = { 3, -4 }, large[] = { INT64_MAX, 3 };
    AUTO_TENSOR t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(tensor_init(&t, "x", TENSOR_FP32, minus, 2, &err), -EINVAL);
    assert_string_equal(err.text, "the shape [3, -4] has a negative dimension");
    assert_int_equal(tensor_init(&t, "x", TENSOR_FP32, large, 2, &err), -E2BIG);
    assert_string_equal(err.text, "the shape [9223372036854775807, 3] is too large for memory");
    assert_int_equal(tensor_init(&t, "x", TENSOR_FP32, minus, 12, &err), -EINVAL);
    assert_string_equal(err.text, "a tensor of 12 dimensions: at most 8 are possible");
}

static void bytes_that_are_not_those_of_the_shape_are_refused(void **state)
{
    static const int64_t dims[] = { 2, 3 };
    _Alignas(8) static const uint8_t bytes[32];
    AUTO_TENSOR t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    if (tensor_init(&t, "x", TENSOR_FP32, dims, 2, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(tensor_borrow(&t, bytes, 23, &err), -EINVAL);
    assert_string_equal(err.text, "23 bytes, but FP32 of shape [2, 3] has 24");
    assert_int_equal(tensor_borrow(&t, bytes, 24, &err), 0);
    assert_ptr_equal(t.data, bytes);
}

static void what_is_not_aligned_is_copied(void **state)
{
    static const int64_t dims[] = { 2 };
    _Alignas(8) static const uint8_t bytes[32] = { 9, 1, 2, 3, 4, 5, 6, 7, 8 };
    AUTO_TENSOR t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    if (tensor_init(&t, "x", TENSOR_FP32, dims, 1, &err) < 0 ||
        tensor_borrow(&t, bytes + 1, 8, &err) < 0)
        fail_msg("%s", err.text);
    assert_ptr_not_equal(t.data, bytes + 1);
    assert_memory_equal(t.data, bytes + 1, 8);
}

static int released;

static void count_release(void *owner)
{
    (void)owner;
    released++;
}

static void an_owner_is_released_once_also_when_its_bytes_are_refused(void **state)
{
    static const int64_t dims[] = { 2 };
    _Alignas(8) static uint8_t bytes[16];
    AUTO_TENSOR t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    released = 0;
    if (tensor_init(&t, NULL, TENSOR_FP32, dims, 1, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(tensor_own(&t, bytes, 7, bytes, count_release, &err), -EINVAL);
    assert_int_equal(released, 1);
    if (tensor_own(&t, bytes, 8, bytes, count_release, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(released, 1);
    tensor_done(&t);
    assert_int_equal(released, 2);
}

/* A tensor of BYTES with these words, one for each letter of `words`. */
static void make_words(struct tensor *t, const int64_t *dims, size_t rank, const char *words)
{
    AUTO_BUF b = { .max = KIB };
    struct err err = ERR_INIT;

    for (const char *p = words; *p; p++) {
        if (tensor_bytes_add(&b, "abcdefgh", (size_t)(*p - '0')) < 0)
            fail_msg("out of memory");
    }
    if (tensor_init(t, "words", TENSOR_BYTES, dims, rank, &err) < 0 ||
        tensor_own_buf(t, &b, &err) < 0)
        fail_msg("%s", err.text);
}

static void elements_of_bytes_are_walked(void **state)
{
    static const int64_t dims[] = { 3 };
    AUTO_TENSOR t = { 0 };
    struct err err = ERR_INIT;
    struct view v;
    size_t n;

    (void)state;
    make_words(&t, dims, 1, "301");
    v = view_of(t.data, t.size);
    assert_memory_equal(tensor_bytes_next(&v, &n), "abc", 3);
    assert_int_equal(n, 3);
    assert_non_null(tensor_bytes_next(&v, &n));
    assert_int_equal(n, 0);
    assert_non_null(tensor_bytes_next(&v, &n));
    assert_int_equal(n, 1);
    assert_null(tensor_bytes_next(&v, &n));
    assert_false(v.bad);

    assert_int_equal(tensor_borrow(&t, "\2\0\0\0a", 5, &err), -EINVAL);
    assert_string_equal(err.text, "5 bytes are not 3 elements of BYTES for the shape [3]");
}

static void rows_are_cut_out_of_every_type(void **state)
{
    static const int64_t dims[] = { 3, 2 };
    AUTO_TENSOR words = { 0 }, numbers = { 0 };
    struct tensor row;
    struct err err = ERR_INIT;
    void *p = NULL;

    (void)state;
    make_words(&words, dims, 2, "112233");
    assert_int_equal(tensor_rows(&words, 1, 1, &row), 0);
    assert_int_equal(row.count, 2);
    assert_int_equal(row.size, 12);
    assert_memory_equal(row.data, "\2\0\0\0ab\2\0\0\0ab", 12);

    if (tensor_init(&numbers, "n", TENSOR_INT16, dims, 2, &err) < 0 ||
        tensor_alloc(&numbers, &p, &err) < 0)
        fail_msg("%s", err.text);
    memcpy(p, (int16_t[]){ 1, 2, 3, 4, 5, 6 }, 12);
    assert_int_equal(tensor_rows(&numbers, 1, 2, &row), 0);
    assert_memory_equal(row.data, ((int16_t[]){ 3, 4, 5, 6 }), 8);
    assert_int_equal(row.size, 8);
    assert_int_equal(row.dims[0], 2);
    assert_int_equal(tensor_rows(&numbers, 3, 0, &row), 0);
    assert_int_equal(tensor_rows(&numbers, 2, 2, &row), -EINVAL);
    assert_int_equal(tensor_rows(&numbers, INT64_MAX, INT64_MAX, &row), -EINVAL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_found_by_its_three_names),
        cmocka_unit_test(shapes_are_counted_without_overflow),
        cmocka_unit_test(a_shape_that_cannot_be_is_told_in_words),
        cmocka_unit_test(bytes_that_are_not_those_of_the_shape_are_refused),
        cmocka_unit_test(what_is_not_aligned_is_copied),
        cmocka_unit_test(an_owner_is_released_once_also_when_its_bytes_are_refused),
        cmocka_unit_test(elements_of_bytes_are_walked),
        cmocka_unit_test(rows_are_cut_out_of_every_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
