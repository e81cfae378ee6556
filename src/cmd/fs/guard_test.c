/* guard_test.c - what nobody deletes by mistake. */
#include "base/auto.h"
#include "cmd/fs/guard.h"
#include "test.h"

#include <string.h>

static void homes_are_deleted_only_when_it_is_meant(void **state)
{
    static const struct {
        const char *path, *home;
        const char *refusal; /* NULL: it may go */
        bool even_home, local;
    } rows[] = {
        { "/", "/user/al", "'/' is not deleted", false },
        { "/", "/user/al", "'/' is not deleted", true },
        { "/user/al", "/user/al", "'/user/al' is your home directory", false },
        { "/user/al", "/user/al", NULL, true },
        { "/user", "/user/al", "'/user' holds home directories", false },
        { "/user", "/user/al", NULL, true },
        { "/user/bob", "/user/al", "'/user/bob' is a user's home directory", false },
        { "/home/bob", "/home/al", NULL, false, true },
        { "/home/al", "/home/al", "'/home/al' is your home directory", false, true },
        { "/user/al/x", "/user/al", NULL, false },
        { "/user/bob/x", "/user/al", NULL, false },
        { "/use", "/user/al", NULL, false },
        { "/data/al", "/user/al", NULL, false },
        { "/tmp", "/root", NULL, false },
        { "/root", "/root", "'/root' is your home directory", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        struct guard g = { .home = rows[i].home,
                           .homes_beside = !rows[i].local,
                           .even_home = rows[i].even_home };
        int r = guard_delete(&g, rows[i].path, &err);

        assert_int_equal(r, rows[i].refusal ? -EPERM : 0);
        assert_string_equal(err.text, rows[i].refusal ? rows[i].refusal : "");
    }
}

static void a_path_is_within_itself_and_what_is_above_it(void **state)
{
    (void)state;
    assert_true(guard_within("/a/b", "/a/b"));
    assert_true(guard_within("/a/b", "/a"));
    assert_true(guard_within("/a/b", "/"));
    assert_false(guard_within("/a/bc", "/a/b"));
    assert_false(guard_within("/a", "/a/b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(homes_are_deleted_only_when_it_is_meant),
        cmocka_unit_test(a_path_is_within_itself_and_what_is_above_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
