/* warmup_expected_test.c - what fits an expectation, and what is said of what does not. */
#include "serve/engine/warmup_expected.h"
#include "test.h"

#include <string.h>

static int read_text(const char *text, struct buf *file, struct warmup_expected *e, struct err *err)
{
    assert_int_equal(buf_add(file, text, strlen(text)), 0);
    return warmup_expected_read(file, e, err);
}

static void an_answer_is_compared_with_what_was_expected(void **state)
{
    static const struct {
        const char *expected, *answer, *says; /* NULL: it fits */
    } rows[] = {
        { "{\"a\":[1,2]}", "{\"a\":[1.0,2.00001],\"b\":3}", NULL },
        { "{\"a\":[1,2]}", "{\"a\":[1,2.1]}", "a[1] is 2.1 where 2 was expected" },
        { "{\"a\":[1,2]}", "{\"a\":[1]}", "a has 1 elements where 2 were expected" },
        { "{\"a\":1}", "{}", "a is nothing where 1 was expected" },
        { "{\"a\":1}", "{\"a\":\"1\"}", "a is \"1\" where 1 was expected" },
        { "{\"a\":1}", "{\"a\":true}", "a is true where 1 was expected" },
        { "{\"a\":true}", "{\"a\":false}", "a is false where true was expected" },
        { "{\"a\":null}", "{\"a\":null}", NULL },
        { "{\"a\":\"x\"}", "{\"a\":\"y\"}", "a is \"y\" where \"x\" was expected" },
        { "{\"a\":[[0.1],[NaN]]}", "{\"a\":[[0.10000000149],[NaN]]}", NULL },
        { "{\"a\":[NaN]}", "{\"a\":[1]}", "a[0] is 1 where NaN was expected" },
        { "{\"a\":[-Infinity]}", "{\"a\":[Infinity]}", "where -Infinity was expected" },
        { "{\"a\":0}", "{\"a\":1e-9}", NULL },
        { "{\"a\":0}", "{\"a\":1e-7}", "where 0 was expected" },
        { "{\"o\":[{\"name\":\"y\",\"data\":[[1,2],[3,4]]}]}",
          "{\"o\":[{\"name\":\"y\",\"shape\":[2,2],\"data\":[1,2,3,4]}]}", NULL },
        { "{\"o\":[{\"data\":[[1,2],[3,4]]}]}", "{\"o\":[{\"data\":[1,2,9,4]}]}",
          "o[0].data[2] is 9 where 3 was expected" },
        { "{\"o\":[{\"data\":[1,2]}]}", "{\"o\":[{\"data\":[1]}]}", "o[0].data has fewer" },
        { "{\"o\":[{\"data\":[1]}]}", "{\"o\":[{\"data\":[1,2]}]}", "o[0].data has more" },
        { "{\"a\":1}", "[", "the answer is no JSON" },
        { "{\"a\":1}", "[1]", "the answer is [1] where" },
        { "[]", "[1]", "the answer has 1 elements where 0" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF file = { .max = 4 * KIB };
        AUTO_BUF text = { .max = 4 * KIB };
        AUTO_WARMUP_EXPECTED e = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(
            buf_printf(&text, "{\"request\":{\"x\":1},\"expected\":%s}", rows[i].expected), 0);
        assert_int_equal(read_text(buf_text(&text), &file, &e, &err), 0);
        assert_string_equal(buf_text(&file), "{\"x\":1}");
        assert_int_equal(warmup_expected_check(&e, rows[i].answer, strlen(rows[i].answer), &err),
                         rows[i].says ? -EBADMSG : 0);
        if (rows[i].says && !strstr(err.text, rows[i].says))
            fail_msg("%s", err.text);
    }
}

static void tolerances_are_those_of_the_file(void **state)
{
    static const struct {
        const char *tolerances;
        bool fits;
    } rows[] = { { "", false },
                 { ",\"rtol\":0.1", true },
                 { ",\"rtol\":0,\"atol\":0.5", true },
                 { ",\"rtol\":0,\"atol\":0.4", false } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF file = { .max = 4 * KIB };
        AUTO_BUF text = { .max = 4 * KIB };
        AUTO_WARMUP_EXPECTED e = { 0 };

        assert_int_equal(
            buf_printf(&text, "{\"request\":{},\"expected\":[10]%s}", rows[i].tolerances), 0);
        assert_int_equal(read_text(buf_text(&text), &file, &e, NULL), 0);
        assert_int_equal(warmup_expected_check(&e, "[10.5]", 6, NULL), rows[i].fits ? 0 : -EBADMSG);
    }
}

static void what_is_no_such_file_is_the_request_itself(void **state)
{
    static const char *const rows[] = { "", "{", "[1]", "{\"instances\":[1]}", "\"request\"" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF file = { .max = 4 * KIB };
        AUTO_WARMUP_EXPECTED e = { 0 };

        assert_int_equal(read_text(rows[i], &file, &e, NULL), 0);
        assert_string_equal(buf_text(&file), rows[i]);
        assert_int_equal(warmup_expected_check(&e, "anything", 8, NULL), 0);
    }
}

static void a_file_that_is_wrong_is_refused_with_a_sentence(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "{\"request\":{}}", "'expected' is missing" },
        { "{\"request\":1,\"expected\":1}", "'request' must be" },
        { "{\"request\":{},\"expected\":1,\"rtoll\":1}", "there is no 'rtoll'" },
        { "{\"request\":{},\"expected\":1,\"rtol\":-1}", "'rtol' must be" },
        { "{\"request\":{},\"expected\":1,\"atol\":\"1\"}", "'atol' must be" },
        { "{\"request\":{},\"expected\":1,\"atol\":NaN}", "'atol' must be" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF file = { .max = 4 * KIB };
        AUTO_WARMUP_EXPECTED e = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(read_text(rows[i].text, &file, &e, &err), -EINVAL);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_compared_with_what_was_expected),
        cmocka_unit_test(tolerances_are_those_of_the_file),
        cmocka_unit_test(what_is_no_such_file_is_the_request_itself),
        cmocka_unit_test(a_file_that_is_wrong_is_refused_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
