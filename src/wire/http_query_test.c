/* http_query_test.c - claims about paths and queries. */
#include "test.h"
#include "wire/http.h"
#include "wire/http_query.h"

#include <stdio.h>
#include <string.h>

static void paths_come_out_decoded_and_plain(void **state)
{
    static const struct {
        const char *target, *path;
    } rows[] = {
        { "/", "/" },
        { "/v1/job", "/v1/job" },
        { "/v1/job?tasks=0", "/v1/job" },
        { "/v1/job#top", "/v1/job" },
        { "/v1/kv/a%2Fb", "/v1/kv/a/b" },
        { "/caf%C3%A9", "/caf\xc3\xa9" },
        { "/a+b", "/a+b" },
        { "/...", "/..." },
        { "/..a/b..", "/..a/b.." },
        { "//x", "//x" },
        { "*", "*" },
        { "http://host:80/x?y", "/x" },
        { "HTTPS://host", "/" },
        { "http://host?a=b", "/" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_DONE(http_target_done) struct http_target t = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(http_target_parse(rows[i].target, &t, &err), 0);
        assert_string_equal(t.path, rows[i].path);
    }
}

static void what_could_surprise_is_refused(void **state)
{
    static const char percent[] = "a path with a wrong '%' in it";
    static const char dots[] = "a path with '.' or '..' in it";
    static const char query[] = "a query with a wrong '%' in it";
    static const char start[] = "a path that does not begin with '/'";
    static const struct {
        const char *target, *text;
    } rows[] = {
        { "", start },           { "x", start },           { "?a=b", start },
        { "**", start },         { "/%00", percent },      { "/a%0", percent },
        { "/a%", percent },      { "/%zz", percent },      { "/%-1", percent },
        { "/..", dots },         { "/../etc", dots },      { "/a/..", dots },
        { "/a/./b", dots },      { "/.", dots },           { "/%2e%2e/etc", dots },
        { "/a%2f..%2fb", dots }, { "/a%2F%2E%2E", dots },  { "/a?b=%00", query },
        { "/a?%=1", query },     { "/a?x=1&y=%4", query },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_target t = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(http_target_parse(rows[i].target, &t, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].text);
        assert_null(t.path);
    }
}

static void names_of_a_query_are_found(void **state)
{
    AUTO_DONE(http_target_done) struct http_target t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        http_target_parse("/x?task=worker%3A1&follow&a+b=c+d%2B&&=v&task=2&e=#f=1", &t, &err), 0);
    assert_string_equal(http_target_get(&t, "task"), "worker:1");
    assert_string_equal(http_target_get(&t, "follow"), "");
    assert_string_equal(http_target_get(&t, "a b"), "c d+");
    assert_string_equal(http_target_get(&t, ""), "v");
    assert_string_equal(http_target_get(&t, "e"), "");
    assert_null(http_target_get(&t, "f"));
    assert_null(http_target_get(&t, "Task"));
}

static void a_query_has_a_limit(void **state)
{
    AUTO_BUF b = { .max = 4 * KIB };
    AUTO_DONE(http_target_done) struct http_target t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(buf_add_str(&b, "/?a"), 0);
    for (int i = 1; i < HTTP_QUERY_MAX; i++)
        assert_int_equal(buf_add_str(&b, "&a"), 0);
    assert_int_equal(http_target_parse(buf_text(&b), &t, &err), 0);
    http_target_done(&t);
    assert_int_equal(buf_add_str(&b, "&a"), 0);
    assert_int_equal(http_target_parse(buf_text(&b), &t, &err), -EINVAL);
    assert_string_equal(err.text, "a query with more than 256 names");
}

static void what_was_quoted_comes_back(void **state)
{
    AUTO_BUF b = { .max = 1 * KIB };
    AUTO_FREE char *back = NULL;

    (void)state;
    assert_int_equal(http_quote(&b, "worker:1 a/b?c=d&e+f%~\xc3\xa9"), 0);
    assert_non_null(buf_text(&b));
    assert_string_equal(buf_text(&b), "worker%3A1%20a%2Fb%3Fc%3Dd%26e%2Bf%25~%C3%A9");
    assert_int_equal(http_unquote(buf_text(&b), b.len, true, &back), 0);
    assert_string_equal(back, "worker:1 a/b?c=d&e+f%~\xc3\xa9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_come_out_decoded_and_plain),
        cmocka_unit_test(what_could_surprise_is_refused),
        cmocka_unit_test(names_of_a_query_are_found),
        cmocka_unit_test(a_query_has_a_limit),
        cmocka_unit_test(what_was_quoted_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
