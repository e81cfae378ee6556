/* mode_test.c - permissions as text, and what chmod makes of them. */
#include "cmd/fs/mode.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void modes_are_shown_as_ls_shows_them(void **state)
{
    static const struct {
        struct fs_entry e;
        const char *text;
    } rows[] = {
        { { .type = FS_FILE, .mode = 0644 }, "-rw-r--r--" },
        { { .type = FS_DIRECTORY, .mode = 0755 }, "drwxr-xr-x" },
        { { .type = FS_DIRECTORY, .mode = 01777 }, "drwxrwxrwt" },
        { { .type = FS_DIRECTORY, .mode = 01770 }, "drwxrwx--T" },
        { { .type = FS_FILE, .mode = 04755 }, "-rwsr-xr-x" },
        { { .type = FS_FILE, .mode = 06644 }, "-rwSr-Sr--" },
        { { .type = FS_SYMLINK, .mode = 0777 }, "lrwxrwxrwx" },
        { { .type = FS_OTHER, .mode = 0 }, "?---------" },
        { { .type = FS_FILE, .mode = 0640, .acl = true }, "-rw-r-----+" },
    };
    char out[MODE_TEXT];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(mode_text(&rows[i].e, out), rows[i].text);
}

static void chmod_does_what_chmod_does(void **state)
{
    static const struct {
        const char *text;
        uint32_t before;
        bool directory;
        uint32_t after;
    } rows[] = {
        { "644", 0777, false, 0644 },        { "0", 0777, false, 0 },
        { "1777", 0, true, 01777 },          { "u+x", 0644, false, 0744 },
        { "u+x,go-w", 0666, false, 0744 },   { "+x", 0644, false, 0755 },
        { "a=r", 0777, false, 0444 },        { "go=", 0777, false, 0700 },
        { "u=rw,g=r,o=", 0, false, 0640 },   { "a+X", 0644, false, 0644 },
        { "a+X", 0644, true, 0755 },         { "a+X", 0744, false, 0755 },
        { "g=u", 0750, false, 0770 },        { "o=g", 0750, false, 0755 },
        { "+t", 0777, true, 01777 },         { "o+t", 0777, true, 01777 },
        { "-t", 01777, true, 0777 },         { "u+s", 0755, false, 04755 },
        { "u-w+x", 0600, false, 0500 },      { "a-rwx", 0777, false, 0 },
        { "g-u", 0770, false, 0700 },        { "a=rX", 0311, false, 0555 },
        { "u+rwx,u-w,g+r", 0, false, 0540 },
    };
    struct mode_change c;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint32_t after;

        assert_int_equal(mode_parse(rows[i].text, &c, NULL), 0);
        after = mode_apply(&c, rows[i].before, rows[i].directory);
        if (after != rows[i].after)
            fail_msg("%s: %o becomes %o, not %o", rows[i].text, rows[i].before, after,
                     rows[i].after);
    }
}

static void what_is_no_mode_is_refused(void **state)
{
    static const char *const rows[] = { "",      "8",   "17777", "0644x", "u",    "x",  "u+x,",
                                        "u+x,,", "u+y", ",u+x",  "a=rw ", "u++q", "99", "+r-w,k" };
    struct mode_change c;
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (mode_parse(rows[i], &c, &err) != -EINVAL)
            fail_msg("'%s' was taken for a mode", rows[i]);
    assert_non_null(strstr(err.text, "is not a mode"));
    assert_non_null(strstr(err.hint, "u+x"));
}

static void too_many_steps_are_refused_not_overrun(void **state)
{
    char text[4 * (MODE_STEPS + 1) + 1];
    struct mode_change c;
    size_t n = 0;

    (void)state;
    for (int i = 0; i <= MODE_STEPS; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%su+x", i ? "," : "");
    assert_int_equal(mode_parse(text, &c, NULL), -EINVAL);
}

static void only_a_complete_mode_needs_no_look_at_the_file(void **state)
{
    static const struct {
        const char *text;
        bool absolute;
    } rows[] = { { "755", true },  { "a=rw", true }, { "u=rw", false }, { "a=X", false },
                 { "a=u", false }, { "+x", false },  { "=r", true } };
    struct mode_change c;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(mode_parse(rows[i].text, &c, NULL), 0);
        assert_int_equal(mode_apply(&c, 0, false) == mode_apply(&c, 07777, false),
                         rows[i].absolute);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_shown_as_ls_shows_them),
        cmocka_unit_test(chmod_does_what_chmod_does),
        cmocka_unit_test(what_is_no_mode_is_refused),
        cmocka_unit_test(too_many_steps_are_refused_not_overrun),
        cmocka_unit_test(only_a_complete_mode_needs_no_look_at_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
