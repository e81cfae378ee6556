/* last_lines_test.c - see last_lines.h */
#include "agent/output/last_lines.h"
#include "base/path.h"
#include "test.h"

#include <string.h>

static char file[TEST_PATH];

static int make_file(void **state)
{
    int fd;

    (void)state;
    test_template(file, "lines");
    fd = mkstemp(file);
    close(fd);
    return fd < 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

static void put(const void *p, size_t n)
{
    assert_int_equal(path_write(file, p, n, 0600, NULL), 0);
}

static void the_last_lines_are_cleaned(void **state)
{
#define ROW(text, lines, wanted)                                                                   \
    {                                                                                              \
        text, sizeof(text) - 1, lines, wanted                                                      \
    }
    static const struct {
        const char *text;
        size_t n;
        unsigned lines;
        const char *wanted;
    } rows[] = {
        ROW("", 5, ""),
        ROW("one", 5, "one\n"),
        ROW("one\ntwo\nthree\n", 2, "two\nthree\n"),
        ROW("one\n\n\n", 2, "\n\n"),
        ROW("one\ntwo", 1, "two\n"),
        ROW("one\n", 0, ""),
        ROW("a\tb\x01 c\x7f\n", 5, "a\tb c\n"),
        ROW("nul\0in it\n", 5, "nulin it\n"),
        ROW("gr\xc3\xbc\xc3\n", 5, "gr\xc3\xbc\xef\xbf\xbd\n"),
        ROW("10%\r50%\r100%\r\n", 5, "100%\n"),
        ROW("\033[31mred\033[0m\033\n", 5, "red\n"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF out = { .max = KIB };

        put(rows[i].text, rows[i].n);
        assert_int_equal(lines_last(file, rows[i].lines, &out), 0);
        assert_non_null(buf_text(&out));
        assert_string_equal((char *)out.data, rows[i].wanted);
    }
}

static void long_output_is_cut_to_the_room_there_is(void **state)
{
    size_t n = 100000;
    AUTO_FREE char *text = malloc(n);
    AUTO_BUF out = { .max = 4 * KIB };

    (void)state;
    assert_non_null(text);
    memset(text, 'x', n); /* no line at all */
    put(text, n);
    assert_int_equal(lines_last(file, 20, &out), 0);
    assert_true(out.len > 256 && out.len <= 4 * KIB);
    buf_reset(&out);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 1000 == 999 ? '\n' : 'y';
    put(text, n);
    assert_int_equal(lines_last(file, 20, &out), 0);
    assert_int_equal(out.len % 1000, 0); /* whole lines */
    assert_true(out.len >= 3000);
    buf_reset(&out);
    memset(text, 0xff, n);
    put(text, n);
    assert_int_equal(lines_last(file, 20, &out), 0);
    assert_true(out.len <= 4 * KIB);
}

static void a_file_that_is_not_there_has_no_lines(void **state)
{
    AUTO_BUF out = { .max = 4 * KIB };

    (void)state;
    assert_int_equal(lines_last("/no/such/file", 20, &out), 0);
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_lines_are_cleaned, make_file, remove_file),
        cmocka_unit_test_setup_teardown(long_output_is_cut_to_the_room_there_is, make_file,
                                        remove_file),
        cmocka_unit_test(a_file_that_is_not_there_has_no_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
