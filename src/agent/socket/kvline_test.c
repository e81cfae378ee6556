/* kvline_test.c - see kvline.h */
#include "agent/socket/kvline.h"
#include "base/auto.h"
#include "test.h"

#include <string.h>

/* Words joined by '|', or the error. */
static const char *parsed(const char *line, size_t n, struct buf *out)
{
    struct kvline_word words[KVLINE_WORDS];
    struct err err = ERR_INIT;
    size_t count = 0;

    buf_reset(out);
    if (kvline_parse(line, n, words, &count, &err) < 0)
        assert_int_equal(buf_add_str(out, err.text), 0);
    else
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(buf_add(out, words[i].p, words[i].n), 0);
            if (i + 1 < count)
                assert_int_equal(buf_add_u8(out, '|'), 0);
        }
    assert_non_null(buf_text(out));
    return (const char *)out->data;
}

static void a_line_is_words(void **state)
{
    static const struct {
        const char *line, *wanted;
    } rows[] = {
        { "put k v", "put|k|v" },
        { "put k two words  and more ", "put|k|two words  and more " },
        { "put k ", "put|k|" },
        { "putnew k two words", "putnew|k|two words" },
        { "putnew k", "usage: putnew KEY VALUE" },
        { "put k", "usage: put KEY VALUE" },
        { "get k", "get|k" },
        { "get", "usage: get KEY" },
        { "get k more", "usage: get KEY" },
        { "get  k", "two spaces in a row, or one at the end: get KEY" },
        { "wait k", "wait|k" },
        { "wait k 500", "wait|k|500" },
        { "list", "list" },
        { "list a/", "list|a/" },
        { "barrier b 4 1000", "barrier|b|4|1000" },
        { "progress 3 10 loss=0.5 acc=1", "progress|3|10|loss=0.5|acc=1" },
        { "note two  words ", "note|two  words " },
        { "note ", "usage: note TEXT" },
        { "put  v", "usage: put KEY VALUE" },
        { "", "empty request (try: help)" },
        { " get k", "empty request (try: help)" },
        { "getk", "unknown request (try: help)" },
        { "ge k", "unknown request (try: help)" },
    };
    AUTO_BUF out = { .max = KIB };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(parsed(rows[i].line, strlen(rows[i].line), &out), rows[i].wanted);
}

static void too_many_words_are_refused(void **state)
{
    AUTO_BUF line = { .max = 4 * KIB };
    AUTO_BUF out = { .max = 4 * KIB };

    (void)state;
    assert_int_equal(buf_add_str(&line, "progress"), 0);
    for (int i = 1; i < KVLINE_WORDS; i++)
        assert_int_equal(buf_add_str(&line, " 1"), 0);
    assert_non_null(strstr(parsed((char *)line.data, line.len, &out), "progress|1|1"));
    assert_int_equal(buf_add_str(&line, " 1"), 0);
    assert_non_null(strstr(parsed((char *)line.data, line.len, &out), "usage: progress"));
}

static void an_answer_is_one_line(void **state)
{
    static const struct {
        struct kvline_word words[3];
        size_t n;
        const char *wanted;
    } rows[] = {
        { { { "ok", 2 } }, 1, "ok\n" },
        { { { "value", 5 }, { "a b", 3 } }, 2, "value a b\n" },
        { { { "value", 5 }, { "", 0 } }, 2, "value \n" },
        { { { "keys", 4 }, { "a", 1 }, { "b", 1 } }, 3, "keys a b\n" },
        { { { "value", 5 }, { "a\nb", 3 } },
          2,
          "error the value is not one line of text: get it by HTTP\n" },
        { { { "value", 5 }, { "a\0b", 3 } },
          2,
          "error the value is not one line of text: get it by HTTP\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF out = { .max = KIB };

        assert_int_equal(kvline_answer(rows[i].words, rows[i].n, &out), 0);
        assert_non_null(buf_text(&out));
        assert_string_equal((char *)out.data, rows[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_words),
        cmocka_unit_test(too_many_words_are_refused),
        cmocka_unit_test(an_answer_is_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
