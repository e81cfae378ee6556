/* json_test.c - see json.h */
#include "base/json.h"
#include "base/path.h"
#include "test.h"

#include <string.h>

static void keys_are_printed_in_the_order_they_were_given(void **state)
{
    AUTO_JSON *v = NULL;
    AUTO_FREE char *text = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    (void)state;
    assert_non_null(f);
    assert_int_equal(json_make(&v, &err, "{s:i, s:s, s:[b,n]}", "zeta", 1, "alpha", "x", "list", 1),
                     0);
    assert_int_equal(json_print(f, v, &err), 0);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "{\"zeta\":1,\"alpha\":\"x\",\"list\":[true,null]}\n");
}

static void a_nested_maker_that_ran_out_is_out_of_memory(void **state)
{
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(json_make(&v, &err, "{s:o, s:o}", "a", json_integer(1), "b", NULL), -ENOMEM);
    assert_null(v);
    assert_string_equal(err.text, "out of memory");
}

static void text_that_is_not_utf8_is_said_or_replaced(void **state)
{
    static const struct {
        const char *raw, *shown;
    } rows[] = {
        { "plain", "plain" },
        { "", "" },
        { "a\xff"
          "b",
          "a\xef\xbf\xbd"
          "b" },
        { "\xc2\x85", "\xc2\x85" },
        { "\xc2", "\xef\xbf\xbd" },
        { "\xc3\xbc", "\xc3\xbc" },
    };
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(json_make(&v, &err, "{s:s}", "a", "\xff"), -EILSEQ);
    assert_true(json_is_null(json_text(NULL)));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *s = json_text(rows[i].raw);

        assert_string_equal(json_string_value(s), rows[i].shown);
    }
}

static void a_fault_is_named_with_line_and_column(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "{\n  \"a\": 1,\n  \"a\": 2\n}",
          "f: line 3 column 5: duplicate object key near '\"a\"'" },
        { "", "f: line 1 column 0: unexpected token near end of file" },
        { "[1,", "f: line 1 column 3: " },
        { "{} x", "f: line 1 column 4: end of file expected near 'x'" },
        { "\"\\ud800\"", "f: line 1 column 8: invalid Unicode '\\uD800' near '\"\\ud800\"'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *v = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(json_parse("f", rows[i].text, strlen(rows[i].text), &v, &err), -EINVAL);
        assert_int_equal(strncmp(err.text, rows[i].why, strlen(rows[i].why)), 0);
    }
}

static void nesting_has_an_end(void **state)
{
    char text[JSON_DEPTH_MAX * 2 + 3];
    struct err err = ERR_INIT;
    json_t *v = NULL;

    (void)state;
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    assert_int_equal(json_parse("f", text, sizeof(text) - 1, &v, &err), -EINVAL);
    assert_string_equal(err.text, "f: JSON nested more than 64 deep");
    assert_int_equal(json_parse("f", text + 1, sizeof(text) - 3, &v, &err), 0);
    json_decref(v);
    assert_int_equal(json_parse("f", "\"[[\\\"[[\"", 8, &v, &err), 0);
    assert_string_equal(json_string_value(v), "[[\"[[");
    json_decref(v);
}

/* Around the lengths at which the parser's own buffer grows: torture lets each growth fail. */
static void a_text_is_read_whole_or_not_at_all(void **state)
{
    struct err err = ERR_INIT;
    char text[64];

    (void)state;
    for (int n = 12; n <= 32; n++) {
        AUTO_JSON *v = NULL;
        int len = snprintf(text, sizeof(text), "[\"%.*s\"]", n, "0123456789abcdef0123456789abcdef");
        int r = json_parse("f", text, (size_t)len, &v, &err);

        assert_true(r == 0 || (r == -ENOMEM && !v));
        assert_int_equal(json_string_length(json_array_get(v, 0)), r == 0 ? n : 0);
    }
}

static void a_file_is_parsed_up_to_its_ceiling(void **state)
{
    char path[TEST_PATH];
    AUTO_CLOSE int fd = mkstemp(test_template(path, "json_test"));
    AUTO_JSON *v = NULL;
    AUTO_JSON *none = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(path_write_fd(fd, "{\"a\":[1]}", 9), 0);
    assert_int_equal(json_parse_file(path, 9, &v, &err), 0);
    assert_int_equal(json_array_size(json_object_get(v, "a")), 1);
    assert_int_equal(json_parse_file(path, 8, &none, &err), -E2BIG);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(json_parse_file(path, 8, &none, &err), -ENOENT);
}

static void a_member_is_a_whole_number_or_what_stands_for_it(void **state)
{
    AUTO_JSON *v = NULL;

    (void)state;
    assert_int_equal(json_make(&v, NULL, "{s:i, s:s, s:f}", "n", 7, "text", "7", "half", 0.5), 0);
    assert_int_equal(json_int_or(v, "n", -1), 7);
    assert_int_equal(json_int_or(v, "text", -1), -1);
    assert_int_equal(json_int_or(v, "half", -1), -1);
    assert_int_equal(json_int_or(v, "none", INT64_MIN), INT64_MIN);
    assert_int_equal(json_int_or(NULL, "n", 3), 3);
}

static void texts_are_listed_up_to_their_number_or_a_null(void **state)
{
    char a[] = "a", b[] = "b\xff", d[] = "d";
    char *const words[] = { a, b, NULL, d };
    static const struct {
        size_t n, listed;
    } rows[] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 4, 2 }, { SIZE_MAX, 2 } };
    AUTO_JSON *none = json_texts(NULL, SIZE_MAX);

    (void)state;
    assert_int_equal(json_array_size(none), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *v = json_texts(words, rows[i].n);

        assert_true(json_is_array(v));
        assert_int_equal(json_array_size(v), rows[i].listed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_printed_in_the_order_they_were_given),
        cmocka_unit_test(a_nested_maker_that_ran_out_is_out_of_memory),
        cmocka_unit_test(text_that_is_not_utf8_is_said_or_replaced),
        cmocka_unit_test(a_fault_is_named_with_line_and_column),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(a_file_is_parsed_up_to_its_ceiling),
        cmocka_unit_test(a_text_is_read_whole_or_not_at_all),
        cmocka_unit_test(a_member_is_a_whole_number_or_what_stands_for_it),
        cmocka_unit_test(texts_are_listed_up_to_their_number_or_a_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
