/* buf_test.c - claims about bounded buffers and views of hostile bytes. */
#include "base/buf.h"
#include "test.h"

#include <string.h>

static void a_buffer_grows_to_its_ceiling_and_not_past_it(void **state)
{
    AUTO_BUF b = { .max = 100 };
    char bytes[100] = { 1 };

    (void)state;
    assert_int_equal(buf_add(&b, bytes, 60), 0);
    assert_int_equal(buf_add(&b, bytes, 41), -E2BIG);
    assert_int_equal(b.len, 60); /* nothing of it */
    assert_int_equal(buf_add(&b, bytes, 40), 0);
    assert_int_equal(buf_add_u8(&b, 1), -E2BIG);
    assert_int_equal(buf_add(&b, bytes, 0), 0);
}

static void text_may_fill_the_ceiling(void **state)
{
    AUTO_BUF b = { .max = 5 };

    (void)state;
    assert_int_equal(buf_printf(&b, "%s", "12345"), 0);
    assert_string_equal(buf_text(&b), "12345");
    assert_int_equal(b.len, 5);
    assert_int_equal(buf_printf(&b, "6"), -E2BIG);
}

static void numbers_are_big_endian_and_come_back(void **state)
{
    AUTO_BUF b = { .max = 100 };
    struct view v;

    (void)state;
    assert_int_equal(buf_add_be16(&b, 0x0102), 0);
    assert_int_equal(buf_add_be32(&b, 0x03040506), 0);
    assert_int_equal(buf_add_be64(&b, 0x0708090a0b0c0d0eull), 0);
    assert_int_equal(buf_add_varint(&b, 300), 0);
    assert_int_equal(buf_add_varint(&b, UINT64_MAX), 0);
    assert_int_equal(b.data[0], 1);
    v = view_of(b.data, b.len);
    assert_int_equal(view_be16(&v), 0x0102);
    assert_int_equal(view_be32(&v), 0x03040506);
    assert_true(view_be64(&v) == 0x0708090a0b0c0d0eull);
    assert_true(view_varint(&v) == 300);
    assert_true(view_varint(&v) == UINT64_MAX);
    assert_int_equal(v.n, 0);
    assert_false(v.bad);
}

static void reading_past_the_end_is_remembered(void **state)
{
    struct view v = view_of("\1\2\3", 3), sub;

    (void)state;
    assert_int_equal(view_be16(&v), 0x0102);
    assert_int_equal(view_be32(&v), 0);
    assert_true(v.bad);
    assert_int_equal(view_u8(&v), 0); /* also what would have been there */
    assert_null(view_bytes(&v, 0));
    sub = view_sub(&v, 1);
    assert_true(sub.bad);
}

static void an_endless_varint_ends(void **state)
{
    uint8_t bytes[11] = { 0 };
    struct view v = view_of(bytes, sizeof(bytes));

    (void)state;
    memset(bytes, 0xff, sizeof(bytes));
    assert_true(view_varint(&v) == 0);
    assert_true(v.bad);
    v = view_of(bytes, 3);
    assert_true(view_varint(&v) == 0);
    assert_true(v.bad);
}

static void eating_keeps_the_rest(void **state)
{
    AUTO_BUF b = { .max = 100 };

    (void)state;
    assert_int_equal(buf_add_str(&b, "abcdef"), 0);
    buf_eat(&b, 2);
    assert_string_equal(buf_text(&b), "cdef");
    buf_eat(&b, 100);
    assert_int_equal(b.len, 0);
    buf_eat(&b, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_grows_to_its_ceiling_and_not_past_it),
        cmocka_unit_test(text_may_fill_the_ceiling),
        cmocka_unit_test(numbers_are_big_endian_and_come_back),
        cmocka_unit_test(reading_past_the_end_is_remembered),
        cmocka_unit_test(an_endless_varint_ends),
        cmocka_unit_test(eating_keeps_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
