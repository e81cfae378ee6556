/* str_test.c - see str.h */
#include "base/str.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void a_list_owns_copies_and_ends_with_null(void **state)
{
    AUTO_STRS l = { 0 };
    char word[] = "w0";

    (void)state;
    for (int i = 0; i < 40; i++) {
        word[1] = (char)('0' + i % 10);
        assert_int_equal(strs_add(&l, word), 0);
        assert_int_equal(l.n, i + 1);
        assert_null(l.v[l.n]);
    }
    assert_string_equal(l.v[37], "w7");
    assert_int_equal(strs_take(&l, NULL), -ENOMEM);
    assert_true(strs_has(&l, "w9"));
    assert_false(strs_has(&l, "w"));
}

static void splitting_drops_empty_pieces_and_white_space(void **state)
{
    static const struct {
        const char *text, *seps, *joined;
    } rows[] = {
        { "a,b", ",", "a|b|" },       { " a ,, b c ,", ",", "a|b c|" }, { "", ",", "" },
        { " , ,", ",", "" },          { "a:b,c", ",:", "a|b|c|" },      { "one", ",", "one|" },
        { "\ta\n,b\r", ",", "a|b|" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_STRS l = { 0 };
        char joined[64] = "";

        assert_int_equal(strs_split(&l, rows[i].text, rows[i].seps), 0);
        for (size_t k = 0, n = 0; k < l.n; k++)
            n += (size_t)snprintf(joined + n, sizeof(joined) - n, "%s|", l.v[k]);
        assert_string_equal(joined, rows[i].joined);
    }
}

static void prefixes_and_suffixes_are_found(void **state)
{
    (void)state;
    assert_true(str_starts("hdfs://a", "hdfs://"));
    assert_false(str_starts("hdf", "hdfs"));
    assert_true(str_starts("x", ""));
    assert_true(str_ends("a.tar.gz", ".gz"));
    assert_false(str_ends("gz", ".gz"));
    assert_true(str_eq(NULL, NULL));
    assert_false(str_eq(NULL, ""));
    assert_true(str_eq("a", "a"));
}

static void only_whole_numbers_in_range_are_numbers(void **state)
{
    static const struct {
        const char *text;
        int result;
        int64_t value;
    } rows[] = {
        { "0", 0, 0 },         { "-7", 0, -7 },       { "100", 0, 100 },
        { "101", -ERANGE, 0 }, { "-8", -ERANGE, 0 },  { "99999999999999999999", -ERANGE, 0 },
        { "", -EINVAL, 0 },    { "-", -EINVAL, 0 },   { " 5", -EINVAL, 0 },
        { "+5", -EINVAL, 0 },  { "5 ", -EINVAL, 0 },  { "5x", -EINVAL, 0 },
        { "0x5", -EINVAL, 0 }, { "1e2", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t v = 0;

        assert_int_equal(str_to_i64(rows[i].text, -7, 100, &v), rows[i].result);
        assert_int_equal(v, rows[i].value);
    }
}

static void sizes_are_powers_of_1024(void **state)
{
    static const struct {
        const char *text;
        int result;
        uint64_t value;
    } rows[] = {
        { "512", 0, 512 },
        { "0", 0, 0 },
        { "64k", 0, 65536 },
        { "64KB", 0, 65536 },
        { "1.5g", 0, 1610612736 },
        { "2GiB", 0, 2147483648 },
        { "0.5k", 0, 512 },
        { "10b", 0, 10 },
        { "3T", 0, 3298534883328 },
        { "15e", 0, 15ULL << 60 },
        { "16e", -ERANGE, 0 },
        { "18446744073709551615", 0, UINT64_MAX },
        { "18446744073709551616", -ERANGE, 0 },
        { "", -EINVAL, 0 },
        { "k", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },
        { "1.g", -EINVAL, 0 },
        { ".5g", -EINVAL, 0 },
        { "1.5", -EINVAL, 0 },
        { "1ib", -EINVAL, 0 },
        { "1kx", -EINVAL, 0 },
        { "1 k", -EINVAL, 0 },
        { "1.00001g", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t v = 0;

        assert_int_equal(str_to_size(rows[i].text, &v), rows[i].result);
        assert_true(v == rows[i].value);
    }
}

static void durations_add_up_in_falling_units(void **state)
{
    static const struct {
        const char *text;
        int result;
        int64_t value;
    } rows[] = {
        { "250ms", 0, 250 },
        { "30s", 0, 30000 },
        { "30", 0, 30000 },
        { "0.5", 0, 500 },
        { "5m", 0, 300000 },
        { "1h30m", 0, 5400000 },
        { "2d", 0, 172800000 },
        { "1d2h3m4s5ms", 0, 93784005 },
        { "0", 0, 0 },
        { "1.5h", 0, 5400000 },
        { "30m1h", -EINVAL, 0 },
        { "1m1m", -EINVAL, 0 },
        { "1h30", -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { "s", -EINVAL, 0 },
        { "-5s", -EINVAL, 0 },
        { "5 s", -EINVAL, 0 },
        { "5y", -EINVAL, 0 },
        { "5mm", -EINVAL, 0 },
        { "9223372036854775807s", -ERANGE, 0 },
        { "9223372036854775807ms", 0, INT64_MAX },
        { "9223372036854775808ms", -ERANGE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t v = 0;

        assert_int_equal(str_to_ms(rows[i].text, &v), rows[i].result);
        assert_int_equal(v, rows[i].value);
    }
}

static void sizes_are_shown_with_two_digits_at_least(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        { 0, "0 B" },
        { 87, "87 B" },
        { 1023, "1023 B" },
        { 1024, "1.0 KB" },
        { 12345, "12 KB" },
        { 10188, "9.9 KB" },
        { 10189, "10 KB" },
        { 1610612736, "1.5 GB" },
        { 1048575, "1.0 MB" },
        { 1023ULL << 20, "1023 MB" },
        { UINT64_MAX, "16 EB" },
    };
    char out[STR_SIZE_MAX];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(str_size(rows[i].bytes, out), rows[i].text);
}

static void a_slip_finds_the_word_that_was_meant(void **state)
{
    static const char *const words[] = { "queue",      "workers", "version", "help",
                                         "completion", "fs",      "cluster", "doctor" };
    static const struct {
        const char *typed, *meant;
    } rows[] = {
        { "quue", "queue" },    { "QUEUE", "queue" },     { "vresion", "version" },
        { "hlep", "help" },     { "comp", "completion" }, { "ls", "fs" },
        { "wrkrs", "workers" }, { "xyzzy", NULL },        { "", NULL },
        { "q", NULL },          { "clutser", "cluster" }, { "docker", "doctor" },
    };
    char endless[200];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *found = str_nearest(rows[i].typed, words, COUNT_OF(words));

        assert_true(str_eq(found, rows[i].meant));
    }
    memset(endless, 'q', sizeof(endless));
    endless[sizeof(endless) - 1] = '\0';
    assert_null(str_nearest(endless, words, COUNT_OF(words)));
}

static void nothing_cleaned_can_move_a_terminal(void **state)
{
    static const struct {
        const char *raw, *clean;
    } rows[] = {
        { "plain", "plain" },
        { "a\nb\tc\r", "a\\nb\\tc\\r" },
        { "\033[2J", "\\x1b[2J" },
        { "\x7f", "\\x7f" },
        { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
        { "\xe2\x80\xa6", "\xe2\x80\xa6" },
        { "\xc2\x9b"
          "31m",
          "\\xc2\\x9b31m" }, /* a one-byte CSI in UTF-8 */
        { "\xff\xfe", "\\xff\\xfe" },
        { "\xc3", "\\xc3" },
        { "\xe2\x80", "\\xe2\\x80" },
        { "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* a surrogate */
        { "\xc0\xaf", "\\xc0\\xaf" },          /* an overlong slash */
        { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
        { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(str_clean(out, sizeof(out), rows[i].raw), strlen(rows[i].clean));
        assert_string_equal(out, rows[i].clean);
    }
    assert_int_equal(str_clean(out, 4, "ab\xe2\x80\xa6"), 2); /* never half a character */
    assert_string_equal(out, "ab");
    assert_int_equal(str_clean(out, 1, "ab"), 0);
    assert_string_equal(out, "");
}

static void base64_goes_there_and_back(void **state)
{
    static const struct {
        const char *text, *coded;
    } rows[] = {
        { "", "" },        { "f", "Zg==" },          { "fo", "Zm8=" },
        { "foo", "Zm9v" }, { "foobar", "Zm9vYmFy" }, { "\xff\xfe\xfd", "//79" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *coded = NULL;
        AUTO_FREE uint8_t *plain = NULL;
        size_t n = 0;

        assert_int_equal(str_base64(rows[i].text, strlen(rows[i].text), &coded), 0);
        assert_string_equal(coded, rows[i].coded);
        assert_int_equal(str_unbase64(coded, &plain, &n), 0);
        assert_int_equal(n, strlen(rows[i].text));
        assert_memory_equal(plain, rows[i].text, n);
    }
}

static void what_is_not_base64_is_refused(void **state)
{
    static const char *const rows[] = {
        "Z", "Zg=", "Zg", "Zg=a", "====", "Z===", "Zm 9", "Zm9v\n"
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE uint8_t *plain = NULL;
        size_t n = 0;

        assert_int_equal(str_unbase64(rows[i], &plain, &n), -EINVAL);
        assert_null(plain);
    }
}

static void bytes_become_hexadecimal(void **state)
{
    AUTO_FREE char *hex = NULL;

    (void)state;
    assert_int_equal(str_hex("\x00\x7f\xff", 3, &hex), 0);
    assert_string_equal(hex, "007fff");
}

static void what_stands_behind_the_last_separator_is_the_name(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = { { "a/b/c", "c" }, { "c", "c" }, { "a/", "" }, { "", "" }, { "/a.b", "a.b" } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(str_behind(rows[i].in, '/'), rows[i].out);
    assert_string_equal(str_behind("org.x.Y", '.'), "Y");
}

/* The values that its authors publish. */
static void the_hash_is_fnv_1a(void **state)
{
    (void)state;
    assert_true(str_hash("", 0) == 0xcbf29ce484222325u);
    assert_true(str_hash("a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(str_hash("foobar", 6) == 0x85944171f73967e8u);
}

static void a_list_is_sorted_by_its_bytes(void **state)
{
    AUTO_STRS l = { 0 };

    (void)state;
    strs_sort(&l);
    assert_int_equal(strs_split(&l, "b B a10 a9", " "), 0);
    assert_int_equal(strs_printf(&l, "%s%d", "a", 1), 0);
    strs_sort(&l);
    assert_string_equal(l.v[0], "B");
    assert_string_equal(l.v[1], "a1");
    assert_string_equal(l.v[2], "a10");
    assert_string_equal(l.v[3], "a9");
    assert_string_equal(l.v[4], "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_owns_copies_and_ends_with_null),
        cmocka_unit_test(splitting_drops_empty_pieces_and_white_space),
        cmocka_unit_test(prefixes_and_suffixes_are_found),
        cmocka_unit_test(only_whole_numbers_in_range_are_numbers),
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(durations_add_up_in_falling_units),
        cmocka_unit_test(sizes_are_shown_with_two_digits_at_least),
        cmocka_unit_test(a_slip_finds_the_word_that_was_meant),
        cmocka_unit_test(nothing_cleaned_can_move_a_terminal),
        cmocka_unit_test(base64_goes_there_and_back),
        cmocka_unit_test(what_is_not_base64_is_refused),
        cmocka_unit_test(bytes_become_hexadecimal),
        cmocka_unit_test(what_stands_behind_the_last_separator_is_the_name),
        cmocka_unit_test(the_hash_is_fnv_1a),
        cmocka_unit_test(a_list_is_sorted_by_its_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
