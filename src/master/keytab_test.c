/* keytab_test.c - what a helper answers, and when it is asked; see keytab.h */
#include "hadoop/token/ident.h"
#include "master/keytab.h"
#include "test.h"

#include <string.h>

/* Owner a, renewer rm; issued and ending at small numbers, each one byte. */
static void add_token(struct credentials *c, const char *kind, const char *service, uint8_t issued,
                      uint8_t ends)
{
    uint8_t id[] = { 0, 1, 'a', 2, 'r', 'm', 0, issued, ends, 1, 1 };
    const struct token t = { .id = id,
                             .id_len = sizeof(id),
                             .password = id,
                             .password_len = 1,
                             .kind = (char *)kind,
                             .service = (char *)service };

    assert_int_equal(credentials_add(c, service, &t, NULL), 0);
}

static void tokens_are_replaced_when_three_quarters_of_the_first_have_passed(void **state)
{
    AUTO_CREDENTIALS *c = NULL;

    (void)state;
    assert_int_equal(credentials_new(&c, NULL), 0);
    assert_true(keytab_due(c) == INT64_MAX);
    add_token(c, KIND_RM, "rm", 1, 5);
    assert_true(keytab_due(c) == INT64_MAX); /* not for HDFS */
    add_token(c, KIND_HDFS, "n1", 20, 120);
    assert_int_equal(keytab_due(c), 95);
    add_token(c, KIND_HDFS, "n2", 20, 60);
    assert_int_equal(keytab_due(c), 50);
}

static void pauses_grow_but_not_past_what_tokens_live(void **state)
{
    static const struct {
        unsigned failures;
        int64_t span, expected;
    } rows[] = {
        { 1, 0, 1000 },     { 2, 0, 2000 },     { 5, 0, 16000 },     { 99, 0, 600000 },
        { 1, 30000, 1000 }, { 3, 30000, 3750 }, { 99, 30000, 3750 }, { 99, 86400000, 600000 },
        { 99, 4000, 1000 }, { 1, 4000, 1000 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(keytab_pause(rows[i].failures, rows[i].span), rows[i].expected);
}

static void an_answer_is_a_time_and_tokens(void **state)
{
    AUTO_CREDENTIALS *c = NULL;
    AUTO_CREDENTIALS *got = NULL;
    AUTO_BUF text = { .max = MIB };
    struct err err = ERR_INIT;
    int64_t ms = 0;

    (void)state;
    assert_int_equal(credentials_new(&c, NULL), 0);
    add_token(c, KIND_HDFS, "n1", 1, 2);
    assert_int_equal(buf_add_str(&text, "30000\n"), 0);
    assert_int_equal(credentials_write(c, &text, &err), 0);
    assert_int_equal(keytab_answer(text.data, text.len, &got, &ms, &err), 0);
    assert_int_equal(ms, 30000);
    assert_non_null(credentials_find(got, KIND_HDFS, "n1"));
}

static void other_answers_are_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "30000",
        "x\nHDTS",
        "0\nHDTS",
        "-1\nHDTS",
        "30000\n",
        "30000\nHD",
        "30000\nJUNK\1\2\3",
        "9999999999999999999999999999\nHDTS",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CREDENTIALS *got = NULL;
        struct err err = ERR_INIT;
        int64_t ms = 0;

        assert_int_equal(keytab_answer(rows[i], strlen(rows[i]), &got, &ms, &err), -EBADMSG);
        assert_null(got);
    }
}

static void a_complaint_becomes_one_sentence_and_its_hint(void **state)
{
    static const struct {
        const char *said;
        int status;
        const char *text, *hint;
    } rows[] = {
        { "ydl: Kerberos: no library\n  hint: install it\n", 69 << 8, "Kerberos: no library",
          "install it" },
        { "./ydl-helper: version `GLIBC_2.99' not found\nmore\n", 1 << 8,
          "./ydl-helper: version `GLIBC_2.99' not found", "" },
        { "", 7 << 8, "the helper ended with code 7", "" },
        { "\n", 9, "the helper was ended by signal 9", "" },
        { "no end of line", 1 << 8, "no end of line", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        keytab_complaint(rows[i].said, rows[i].status, &err);
        assert_string_equal(err.text, rows[i].text);
        assert_string_equal(err.hint, rows[i].hint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_replaced_when_three_quarters_of_the_first_have_passed),
        cmocka_unit_test(pauses_grow_but_not_past_what_tokens_live),
        cmocka_unit_test(an_answer_is_a_time_and_tokens),
        cmocka_unit_test(other_answers_are_refused),
        cmocka_unit_test(a_complaint_becomes_one_sentence_and_its_hint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
