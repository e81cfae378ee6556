/* target_test.c - names of what is copied. What needs a file system is tested with `ydl fs`. */
#include "cmd/fs/target.h"
#include "test.h"

#include <string.h>

static void a_dot_means_what_is_in_the_directory(void **state)
{
    static const struct {
        const char *operand, *entry, *name;
    } rows[] = {
        { "a", "a", "a" },
        { "x/a/", "a", "a" },
        { ".", "cwd", "" },
        { "./", "cwd", "" },
        { "x/.", "x", "" },
        { "..", "up", "" },
        { "a/../..", "up", "" },
        { ".hidden", ".hidden", ".hidden" },
        { "...", "...", "..." },
        { "/", "", "" },
        { "hdfs://ns/a.", "a.", "a." },
        { "file:.", "cwd", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(target_name(rows[i].operand, rows[i].entry), rows[i].name);
}

static void a_temporary_name_is_hidden_and_beside_the_target(void **state)
{
    AUTO_FREE char *a = NULL;
    AUTO_FREE char *b = NULL;

    (void)state;
    assert_int_equal(target_temporary("/d/name", &a, NULL), 0);
    assert_int_equal(target_temporary("/d/name", &b, NULL), 0);
    assert_true(str_starts(a, "/d/.name.ydl-") && str_ends(a, ".tmp"));
    assert_string_not_equal(a, b);
    assert_true(target_is_temporary(a + strlen("/d/")));
}

static void only_our_temporary_names_are_taken_for_such(void **state)
{
    static const char *const others[] = {
        "",
        ".ydl-0123456789abcdef.tmp",
        "name.ydl-0123456789abcdef.tmp",
        ".name.ydl-0123456789abcde.tmp",
        ".name.ydl-0123456789abcdefa.tmp",
        ".name.ydl-0123456789abcdeF.tmp",
        ".name.ydl-0123456789abcdef.tmp2",
        ".name.yd-00123456789abcdef.tmp",
        ".name.tmp",
    };

    (void)state;
    assert_true(target_is_temporary(".n.ydl-0123456789abcdef.tmp"));
    assert_true(target_is_temporary("..ydl-0123456789abcdef.tmp.ydl-0123456789abcdef.tmp"));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(target_is_temporary(others[i]));
}

static void a_temporary_name_is_never_too_long_nor_cut_inside_a_character(void **state)
{
    char path[2 + 2 * 200 + 1] = "/";
    AUTO_FREE char *tmp = NULL;

    (void)state;
    for (size_t i = 0; i < 200; i++)
        memcpy(path + 1 + 2 * i, "é", 3);
    assert_int_equal(target_temporary(path, &tmp, NULL), 0);
    assert_int_equal(strlen(tmp), 1 + 254); /* 255 would cut one in two */
    for (const char *p = tmp; *p;) {
        size_t n = str_utf8_len(p);

        assert_true(n > 0);
        p += n;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dot_means_what_is_in_the_directory),
        cmocka_unit_test(a_temporary_name_is_hidden_and_beside_the_target),
        cmocka_unit_test(only_our_temporary_names_are_taken_for_such),
        cmocka_unit_test(a_temporary_name_is_never_too_long_nor_cut_inside_a_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
