/* spec_argv_test.c - see spec_words() in spec.h */
#include "job/spec/spec.h"
#include "test.h"

#include <string.h>

/* The words with '|' after each. */
static char *joined(const struct strs *l)
{
    AUTO_BUF b = { .max = 4 * KIB };

    for (size_t i = 0; i < l->n; i++)
        if (buf_printf(&b, "%s|", l->v[i]) < 0)
            return NULL;
    return buf_text(&b) ? strdup(buf_text(&b)) : NULL;
}

static void words_are_split_as_a_shell_splits_them(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "", "" },
        { "  \t\n ", "" },
        { "a", "a|" },
        { " a  b\tc\nd\r\n", "a|b|c|d|" },
        { "a 'b c' d", "a|b c|d|" },
        { "a \"b c\" d", "a|b c|d|" },
        { "a'b'\"c\"d", "abcd|" },
        { "'' \"\"", "||" },
        { "a\\ b", "a b|" },
        { "\\'x\\\"", "'x\"|" },
        { "'a\\b'", "a\\b|" },
        { "\"a\\b\\\"\\\\\\$\\`\"", "a\\b\"\\$`|" },
        { "\"a\\\nb\" c\\\nd", "ab|cd|" },
        { "a \\\n b \\\n\\\n c", "a|b|c|" },
        { "$HOME `x` *.py ~ {rank} #no", "$HOME|`x`|*.py|~|{rank}|#no|" },
        { "'a|b' \"c&d\" e\\;f", "a|b|c&d|e;f|" },
        { "python -c 'import sys; print(1)'", "python|-c|import sys; print(1)|" },
        { "grüße 日本", "grüße|日本|" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        AUTO_STRS words = { 0 };
        AUTO_FREE char *text = NULL;

        assert_int_equal(spec_words(rows[i].text, &words, &err), 0);
        text = joined(&words);
        assert_non_null(text);
        assert_string_equal(text, rows[i].words);
    }
}

static void what_is_not_closed_or_needs_a_shell_is_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { "a 'b", "a single quote is not closed" },
        { "a \"b", "a double quote is not closed" },
        { "a \"b\\\"", "a double quote is not closed" },
        { "a \"b\\", "a double quote is not closed" },
        { "a b\\", "nothing follows the last backslash" },
        { "make && ./run", "'&' needs a shell: quote it, or write sh -c '…'" },
        { "a | b", "'|' needs a shell: quote it, or write sh -c '…'" },
        { "a >out", "'>' needs a shell: quote it, or write sh -c '…'" },
        { "a 2>&1", "'>' needs a shell: quote it, or write sh -c '…'" },
        { "a; b", "';' needs a shell: quote it, or write sh -c '…'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        AUTO_STRS words = { 0 };

        assert_int_equal(spec_words(rows[i].text, &words, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_split_as_a_shell_splits_them),
        cmocka_unit_test(what_is_not_closed_or_needs_a_shell_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
