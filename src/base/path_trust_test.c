/* path_trust_test.c - which directories others cannot play tricks in. */
#include "base/path.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER 12345

static void ours_and_sticky_ones_are_trusted_and_those_that_others_write_are_not(void **state)
{
    static const struct {
        mode_t mode;
        const char *why; /* NULL: trusted */
    } rows[] = {
        { 0700, NULL },
        { 0755, NULL },
        { 01777, NULL },
        { 0777, "others can write to" },
        { 0703, "others can write to" },
    };
    char dir[TEST_PATH];
    AUTO_FREE char *link = test_dir(dir, "path_trust") ? path_join(dir, "link") : NULL;
    AUTO_FREE char *own = path_join(dir, "own");

    (void)state;
    assert_true(link && own);
    assert_int_equal(mkdir(own, 0700), 0);
    assert_int_equal(symlink(own, link), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(chmod(own, rows[i].mode), 0);
        assert_int_equal(path_trusted(own, &err), rows[i].why ? -EPERM : 0);
        if (rows[i].why)
            assert_non_null(strstr(err.text, rows[i].why));
        assert_int_equal(path_trusted(link, NULL), rows[i].why ? -EPERM : 0);
    }
    assert_int_equal(path_remove(dir, NULL), 0);
    assert_int_equal(path_trusted(own, NULL), -ENOENT);
    assert_int_equal(path_trusted("/dev/null", NULL), -ENOTDIR);
    assert_int_equal(path_trusted("/", NULL), 0);
}

static void a_directory_whose_parent_everybody_writes_can_be_exchanged(void **state)
{
    char dir[TEST_PATH];
    AUTO_FREE char *own = test_dir(dir, "path_trust") ? path_join(dir, "own") : NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(own);
    assert_int_equal(mkdir(own, 0700), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(path_trusted(own, &err), -EPERM);
    assert_non_null(strstr(err.text, "anyone can replace the files in"));
    assert_int_equal(chmod(dir, 01777), 0);
    assert_int_equal(path_trusted(own, NULL), 0);
    assert_int_equal(path_remove(dir, NULL), 0);
}

/* Needs root, to make something another user's. */
static void another_users_directory_is_never_trusted(void **state)
{
    char dir[TEST_PATH];
    struct err err = ERR_INIT;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(test_dir(dir, "path_trust"));
    assert_int_equal(chown(dir, OTHER, OTHER), 0);
    assert_int_equal(path_trusted(dir, &err), -EPERM);
    assert_non_null(strstr(err.text, "belongs to another user (uid 12345)"));
    assert_int_equal(chmod(dir, 01777),
                     0); /* whose it is can exchange what is in it all the same */
    assert_int_equal(path_trusted(dir, NULL), -EPERM);
    assert_int_equal(chown(dir, 65534, 65534), 0); /* root's only where root has no name */
    assert_int_equal(path_trusted(dir, NULL), -EPERM);
    assert_int_equal(chown(dir, 0, OTHER), 0);
    assert_int_equal(chmod(dir, 0775), 0); /* a group that is not ours */
    assert_int_equal(path_trusted(dir, NULL), -EPERM);
    assert_int_equal(path_remove(dir, NULL), 0);
}

/* Needs root, to be somebody else. */
static void a_group_of_several_users_is_not_us(void **state)
{
    static const struct {
        gid_t group;
        int trusted;
    } rows[] = { { OTHER, 0 }, { OTHER + 1, -EPERM } };
    char dir[TEST_PATH];

    (void)state;
    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int status = -1;
        pid_t pid;

        assert_non_null(test_dir(dir, "path_trust"));
        assert_int_equal(chmod(dir, 0770), 0);
        assert_int_equal(chown(dir, OTHER, rows[i].group), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(setgid(rows[i].group) < 0 || setuid(OTHER) < 0 ||
                  path_trusted(dir, NULL) != rows[i].trusted);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(path_remove(dir, NULL), 0);
    }
}

static void a_group_is_private_by_its_number_or_its_name(void **state)
{
    static const char users[] = "root:x:0:0::/:\n+\njoe:x:1005:1007:Joe:/home/joe:/bin/sh\n"
                                "sue:x:1010:1010::/:\nkim:x:1011:1011::/:\n";
    static const char groups[] = "root:x:0:\nusers:x:100:\njoe:x:1007:joe\nteam:x:1008:joe,ann\n"
                                 "ann:x:1009:joe\nsue:x:1010:sue,ann\nkim:x:1011:\nold:x:1012:ann\n"
                                 "short:x:77";
    char dir[TEST_PATH];
    AUTO_FREE char *passwd = test_dir(dir, "path_trust") ? path_join(dir, "passwd") : NULL;
    AUTO_FREE char *group = path_join(dir, "group");

    (void)state;
    assert_int_equal(path_write(passwd, users, strlen(users), 0600, NULL), 0);
    assert_int_equal(path_write(group, groups, strlen(groups), 0600, NULL), 0);
    assert_true(path_group_is_private(passwd, group, 1005, 1005));
    assert_true(path_group_is_private(passwd, group, 1005, 1007));
    assert_true(path_group_is_private(passwd, group, 1011, 1011));
    assert_false(path_group_is_private(passwd, group, 1010, 1010)); /* ann was added to it */
    assert_false(path_group_is_private(passwd, group, 1012, 1012));
    assert_false(path_group_is_private(passwd, group, 1005, 100));
    assert_false(path_group_is_private(passwd, group, 1005, 1008));
    assert_false(path_group_is_private(passwd, group, 1005, 1009));
    assert_false(path_group_is_private(passwd, group, 1005, 77));
    assert_false(path_group_is_private(passwd, group, 1006, 1007));
    assert_false(path_group_is_private("/none", group, 1005, 1007));
    assert_int_equal(path_remove(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_and_sticky_ones_are_trusted_and_those_that_others_write_are_not),
        cmocka_unit_test(a_directory_whose_parent_everybody_writes_can_be_exchanged),
        cmocka_unit_test(a_group_of_several_users_is_not_us),
        cmocka_unit_test(a_group_is_private_by_its_number_or_its_name),
        cmocka_unit_test(another_users_directory_is_never_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
