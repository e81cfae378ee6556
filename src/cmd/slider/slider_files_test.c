/* slider_files_test.c - broken files, and packages. */
#include "base/path.h"
#include "cmd/slider/slider_verb_testing.h"

#include <sys/stat.h>

/* The text's own metainfo.json and resources, as they stand in it. */
#define UNFINISHED                                                                                 \
    "  \"schemaVersion\": \"2.1\",\n"                                                              \
    "  \"application\": {\n"

static void a_broken_file_shows_the_place(void **state)
{
    static const struct {
        const char *text, *error, *excerpt, *hint;
    } rows[] = {
        { UNFINISHED, "f:1:3: '[' or '{' expected near '\"schemaVersion\"'",
          "      \"schemaVersion\": \"2.1\",\n      ^\n", "the file must begin with '{'" },
        { "{ \"exports\": [\n            \"name\": \"host_port\" } ] }",
          "f:2:19: ']' expected near ':'",
          "                \"name\": \"host_port\" } ] }\n                      ^\n",
          "a '{' or '[' is missing at or before this place" },
        { "{ \"a\": {\n  \"b\": 1\n}\n\n", "f:3:2: '}' expected near end of file",
          "    }\n     ^\n",
          "1 brace or bracket is opened and not closed, at or before this place" },
        { "{ \"packages\": [ 1\n    1 ] }", "f:2:5: ']' expected near '1'",
          "        1 ] }\n        ^\n", "" },
        { "{ \"a\": 1 } }", "f:1:12: end of file expected near '}'",
          "    { \"a\": 1 } }\n               ^\n",
          "a '{' or '[' is missing at or before this place" },
        { "{ \"a\": 1, \"a\": 2 }", "f:1:11: duplicate object key near '\"a\"'",
          "    { \"a\": 1, \"a\": 2 }\n              ^\n", "" },
        { "[]", "f:1:1: an object was expected", "    []\n    ^\n", "" },
        { "", "f:1:1: '[' or '{' expected near end of file", "    \n    ^\n", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF text = { .max = KIB };
        AUTO_BUF excerpt = { .max = KIB };
        AUTO_JSON *v = NULL;
        struct err err = ERR_INIT;
        int r = buf_add_str(&text, rows[i].text);

        if (r == 0)
            r = slider_parse("f", &text, &excerpt, &v, &err);
        if (r == -ENOMEM || !buf_text(&excerpt))
            return; /* the torture build */
        assert_string_equal(err.text, rows[i].error);
        assert_int_equal(r, CLI_USAGE);
        assert_null(v);
        assert_string_equal(buf_text(&excerpt), rows[i].excerpt);
        assert_string_equal(err.hint, rows[i].hint);
    }
}

/* The place is shown, however long the line is and whatever is in it. */
static void a_long_line_is_shown_around_its_place(void **state)
{
    AUTO_BUF text = { .max = 4 * KIB };
    AUTO_BUF excerpt = { .max = KIB };
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;
    int r = buf_printf(&text, "{ \"a\": \"%0200d\", \t\"ä\": x }", 7);

    (void)state;
    if (r == 0)
        r = slider_parse("f", &text, &excerpt, &v, &err);
    if (r == -ENOMEM || !buf_text(&excerpt))
        return;
    assert_int_equal(r, CLI_USAGE);
    assert_non_null(strstr(buf_text(&excerpt), "\"ä\": x }\n"));
    for (const char *line = buf_text(&excerpt); *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") < 90);
    assert_null(strchr(buf_text(&excerpt), '\t'));
}

static void write_file(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);

    assert_non_null(path);
    assert_int_equal(path_write_new(path, text, strlen(text), 0600, NULL), 0);
}

static int make_dir(void **state)
{
    char name[TEST_PATH];

    *state = test_dir(name, "slider") ? realpath(name, NULL) : NULL;
    return *state ? 0 : -1;
}

static int remove_dir(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

static void files_are_found_here_and_in_the_package(void **state)
{
    struct slider_package p = { 0 };
    AUTO_BUF excerpt = { .max = KIB };
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;
    int r;

    write_file(*state, "appConfig.json", "{\"a\": 1}");
    r = slider_package_open(&p, *state, &err);
    if (r == 0)
        r = slider_file("appConfig.json", &p, &excerpt, &v, &err);
    if (r == 0) {
        assert_int_equal(json_integer_value(json_object_get(v, "a")), 1);
        assert_true(slider_package_has(&p, "appConfig.json"));
        assert_false(slider_package_has(&p, "other.json"));
        json_decref(v);
        v = NULL;
        r = slider_file("other.json", &p, &excerpt, &v, &err);
        if (r != -ENOMEM) {
            assert_int_equal(r, CLI_USAGE);
            assert_string_equal(err.text, "there is no file 'other.json'");
        }
    }
    slider_package_done(&p);
    if (r != -ENOMEM)
        assert_int_equal(slider_package_open(&p, "/nowhere", &err), CLI_USAGE);
    slider_package_done(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_file_shows_the_place),
        cmocka_unit_test(a_long_line_is_shown_around_its_place),
        cmocka_unit_test_setup_teardown(files_are_found_here_and_in_the_package, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
