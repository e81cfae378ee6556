/* writable_test.c - see writable.h */
#include "base/str.h"
#include "hadoop/token/writable.h"
#include "test.h"

#include <string.h>

static void numbers_have_the_bytes_that_java_writes(void **state)
{
    static const struct {
        int64_t n;
        const char *hex;
    } rows[] = {
        { 0, "00" },
        { 1, "01" },
        { 127, "7f" },
        { -1, "ff" },
        { -112, "90" },
        { 128, "8f80" },
        { 300, "8e012c" },
        { -113, "8770" },
        { -256, "87ff" },
        { -257, "860100" },
        { 1410901177871, "8a01488043760f" },
        { INT32_MAX, "8c7fffffff" },
        { INT32_MIN, "847fffffff" },
        { INT64_MAX, "887fffffffffffffff" },
        { INT64_MIN, "807fffffffffffffff" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *hex = NULL;
        AUTO_BUF b = { .max = 64 };
        struct view v;

        assert_int_equal(writable_add_vlong(&b, rows[i].n), 0);
        assert_int_equal(str_hex(b.data, b.len, &hex), 0);
        assert_string_equal(hex, rows[i].hex);
        v = view_of(b.data, b.len);
        assert_int_equal(writable_vlong(&v), rows[i].n);
        assert_false(v.bad);
        assert_int_equal(v.n, 0);
        for (size_t n = 0; n < b.len; n++) {
            v = view_of(b.data, n);
            assert_int_equal(writable_vlong(&v), 0);
            assert_true(v.bad);
        }
    }
}

static void an_int_that_is_too_large_is_bad(void **state)
{
    static const uint8_t large[] = { 0x8b, 1, 0, 0, 0, 0 }, small[] = { 0x84, 0x80, 0, 0, 0 };
    struct view v = view_of(large, sizeof(large));

    (void)state;
    assert_int_equal(writable_vint(&v), 0);
    assert_true(v.bad);
    v = view_of(small, sizeof(small));
    assert_int_equal(writable_vint(&v), 0);
    assert_true(v.bad);
}

static void texts_and_bytes_go_there_and_back(void **state)
{
    AUTO_FREE char *big = malloc(300), *text = NULL;
    struct view v, t;
    AUTO_BUF b = { .max = 1024 };

    (void)state;
    assert_non_null(big);
    memset(big, 'x', 299);
    big[299] = '\0';
    assert_int_equal(writable_add_text(&b, big), 0);
    assert_int_equal(writable_add_bytes(&b, "\0\xff", 2), 0);
    assert_int_equal(writable_add_text(&b, ""), 0);
    v = view_of(b.data, b.len);
    assert_int_equal(writable_dup(writable_text(&v), &text), 0);
    assert_string_equal(text, big);
    t = writable_bytes(&v);
    assert_int_equal(t.n, 2);
    assert_memory_equal(t.p, "\0\xff", 2);
    free(take(text));
    assert_int_equal(writable_dup(t, &text), -EBADMSG); /* a name has no NUL */
    assert_int_equal(writable_dup(writable_text(&v), &text), 0);
    assert_string_equal(text, "");
    assert_false(v.bad);
}

static void lengths_that_cannot_be_are_bad(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } rows[] = { { "\xff", 1 }, { "\x05xxxx", 5 }, { "\x8c\x7f\xff\xff\xffx", 6 }, { "", 0 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct view v = view_of(rows[i].bytes, rows[i].n), t = writable_bytes(&v);

        assert_true(v.bad && t.bad);
        assert_int_equal(t.n, 0);
    }
}

static void strings_have_four_bytes_of_length_and_may_be_null(void **state)
{
    static const uint8_t bytes[] = "\0\0\0\2ab\xff\xff\xff\xff\0\0\0\7a";
    struct view v = view_of(bytes, sizeof(bytes) - 1), t = writable_string(&v);

    (void)state;
    assert_int_equal(t.n, 2);
    assert_memory_equal(t.p, "ab", 2);
    t = writable_string(&v);
    assert_int_equal(t.n, 0);
    assert_false(v.bad);
    (void)writable_string(&v);
    assert_true(v.bad);
}

static void a_full_buffer_is_reported(void **state)
{
    AUTO_BUF b = { .max = 3 };

    (void)state;
    assert_int_equal(writable_add_text(&b, "abc"), -E2BIG);
    assert_int_equal(writable_add_vlong(&b, INT64_MAX), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_the_bytes_that_java_writes),
        cmocka_unit_test(an_int_that_is_too_large_is_bad),
        cmocka_unit_test(texts_and_bytes_go_there_and_back),
        cmocka_unit_test(lengths_that_cannot_be_are_bad),
        cmocka_unit_test(strings_have_four_bytes_of_length_and_may_be_null),
        cmocka_unit_test(a_full_buffer_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
