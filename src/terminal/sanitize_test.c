/* sanitize_test.c - see sanitize.h */
#include "terminal/sanitize.h"
#include "test.h"

#include <string.h>

static void a_terminal_gets_nothing_that_moves_it(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "plain text", "plain text" },
        { "", "" },
        { "gr\xc3\xbc\xc3\x9f \xe2\x94\x82 \xf0\x9f\x98\x80",
          "gr\xc3\xbc\xc3\x9f \xe2\x94\x82 \xf0\x9f\x98\x80" },
        { "a\tb", "a\tb" },
        { "\033[31mred\033[0m", "\033[31mred\033[0m\033[0m" },
        { "\033[38;5;208mx", "\033[38;5;208mx\033[0m" },
        { "\033[2J\033[Hgone", "gone" },
        { "\033[?25lhidden\033[K", "hidden" },
        { "\033[>4;2mx", "x" },
        { "\033]0;title\007x", "\\x1b]0;title\\x07x" },
        { "\033c", "\\x1bc" },
        { "\033", "\\x1b" },
        { "\033[", "\\x1b[" },
        { "\033[31", "\\x1b[31" },
        { "10%\b\b\b", "10%" },
        { "bad \xff\xfe", "bad \\xff\\xfe" },
        { "cut \xe2\x94", "cut \\xe2\\x94" },
        { "c1 \xc2\x9b"
          "2J",
          "c1 \\xc2\\x9b2J" },
        { "\x7f\x01", "\\x7f\\x01" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF b = { .max = 4096 };

        assert_int_equal(sanitize_line(&b, rows[i].in, strlen(rows[i].in)), 0);
        assert_non_null(buf_text(&b));
        assert_string_equal(buf_text(&b), rows[i].out);
    }
}

static void a_nul_and_the_end_of_memory_are_no_trap(void **state)
{
    AUTO_BUF b = { .max = 4096 };
    AUTO_FREE char *exact = malloc(3); /* the sanitizer sees a step beyond */

    (void)state;
    assert_non_null(exact);
    memcpy(exact, "\0\xe2\x94", 3);
    assert_int_equal(sanitize_line(&b, exact, 3), 0);
    assert_non_null(buf_text(&b));
    assert_string_equal(buf_text(&b), "\\x00\\xe2\\x94");
}

static void of_a_progress_bar_the_last_state_is_seen(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "no return", "no return" },
        { "10%\r20%\r30%", "30%" },
        { "\r10%\r20%\r", "20%" },
        { "dos line\r", "dos line" },
        { "\r\r\r", "" },
        { "", "" },
        { "a\r", "a" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t n = strlen(rows[i].in);
        const char *p = sanitize_segment(rows[i].in, &n);

        assert_int_equal(n, strlen(rows[i].out));
        assert_memory_equal(p, rows[i].out, n);
    }
}

static void a_character_that_is_not_whole_is_noticed(void **state)
{
    static const struct {
        const char *in;
        size_t tail;
    } rows[] = {
        { "", 0 },
        { "abc", 0 },
        { "\xc3", 1 },
        { "\xc3\xbc", 0 },
        { "x\xe2\x94", 2 },
        { "x\xe2\x94\x82", 0 },
        { "x\xf0\x9f\x98", 3 },
        { "x\xf0\x9f\x98\x80", 0 },
        { "\x80\x80\x80\x80", 0 },
        { "\xff", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(sanitize_tail(rows[i].in, strlen(rows[i].in)), rows[i].tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_gets_nothing_that_moves_it),
        cmocka_unit_test(a_nul_and_the_end_of_memory_are_no_trap),
        cmocka_unit_test(of_a_progress_bar_the_last_state_is_seen),
        cmocka_unit_test(a_character_that_is_not_whole_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
