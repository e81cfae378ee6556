/* path_remove_test.c - a tree goes away, and nothing but the tree. */
#include "base/path.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static struct {
    const char *from, *to, *link; /* once, when entries of a second directory are read, … */
    const char *entry;            /* … or else when this one has been */
    unsigned opened;
    DIR *last;
} swap;

/* Stands before the C library's: whoever reads a directory can be disturbed at an exact moment. */
struct dirent *readdir(DIR *d)
{
    struct dirent *e;
    bool now = false;

    if (d != swap.last) {
        swap.last = d;
        now = ++swap.opened == 2 && !swap.entry;
    }
    e = now ? NULL : (struct dirent *)readdir64(d);
    now = now || (e && swap.entry && strcmp(e->d_name, swap.entry) == 0);
    if (now && swap.from && (rename(swap.from, swap.to) < 0 || symlink(swap.link, swap.from) < 0))
        return NULL;
    return e ? e : (struct dirent *)readdir64(d);
}

static char *make_file(const char *dir, const char *name)
{
    char *path = path_join(dir, name);

    assert_non_null(path);
    assert_int_equal(path_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(path_write_new(path, "x", 1, 0600, NULL), 0);
    return path;
}

static void a_link_that_is_put_in_the_way_is_not_followed(void **state)
{
    char dir[TEST_PATH];
    AUTO_FREE char *tree = test_dir(dir, "path_remove") ? path_join(dir, "tree") : NULL;
    AUTO_FREE char *inner = tree ? path_join(tree, "a") : NULL;
    AUTO_FREE char *aside = path_join(dir, "aside");
    AUTO_FREE char *victim = path_join(dir, "victim");
    AUTO_FREE char *ours = NULL;
    AUTO_FREE char *theirs = NULL;

    (void)state;
    assert_non_null(inner);
    assert_non_null(aside);
    assert_non_null(victim);
    ours = make_file(inner, "f");
    theirs = make_file(victim, "f");
    swap.opened = 0;
    swap.from = inner;
    swap.to = aside;
    swap.link = victim;
    assert_true(path_remove(tree, NULL) < 0);
    swap.from = NULL;
    assert_int_equal(access(theirs, F_OK), 0);
    assert_int_equal(access(ours, F_OK), 0); /* through the link: that of the other directory */
    assert_int_equal(rmdir(aside), 0);       /* what was in the tree is gone */
    assert_int_equal(path_remove(dir, NULL), 0);
}

/* In the moment between its name and its opening. */
static void a_link_in_the_place_of_a_directory_is_not_followed(void **state)
{
    char dir[TEST_PATH];
    AUTO_FREE char *tree = test_dir(dir, "path_remove") ? path_join(dir, "tree") : NULL;
    AUTO_FREE char *inner = tree ? path_join(tree, "a") : NULL;
    AUTO_FREE char *aside = path_join(dir, "aside");
    AUTO_FREE char *victim = path_join(dir, "victim");
    AUTO_FREE char *theirs = NULL;

    (void)state;
    assert_true(inner && aside && victim);
    assert_int_equal(path_mkdirs(inner, 0700, NULL), 0);
    theirs = make_file(victim, "f");
    swap.from = inner;
    swap.to = aside;
    swap.link = victim;
    swap.entry = "a";
    assert_true(path_remove(tree, NULL) < 0);
    swap.from = swap.entry = NULL;
    assert_int_equal(access(theirs, F_OK), 0);
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void a_link_with_a_slash_behind_it_is_a_link(void **state)
{
    char dir[TEST_PATH];
    AUTO_FREE char *victim = test_dir(dir, "path_remove") ? path_join(dir, "victim") : NULL;
    AUTO_FREE char *link = path_join(dir, "link");
    AUTO_FREE char *slash = path_join(dir, "link/");
    AUTO_FREE char *kept = NULL;

    (void)state;
    assert_true(victim && link && slash);
    kept = make_file(victim, "f");
    assert_int_equal(symlink(victim, link), 0);
    assert_int_equal(path_remove(slash, NULL), 0);
    assert_int_equal(access(link, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(path_remove(dir, NULL), 0);
}

/* Deeper than a path can be long, and than we open directories at once. */
static void a_deep_tree_goes_too(void **state)
{
    static const char name[] = "a-name-that-is-not-short-so-that-the-whole-path-gets-too-long";
    char dir[TEST_PATH];
    AUTO_CLOSE int at = -1;

    (void)state;
    assert_non_null(test_dir(dir, "path_remove"));
    at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 200; i++) {
        int next;

        assert_int_equal(mkdirat(at, "beside", 0700), 0);
        assert_int_equal(mkdirat(at, name, 0700), 0);
        next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    assert_int_equal(path_remove(dir, NULL), 0);
    assert_int_equal(access(dir, F_OK), -1);
}

static void what_cannot_be_removed_is_named(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(path_remove("/proc/self/status/x", &err), -ENOTDIR);
    assert_string_equal(err.text, "remove '/proc/self/status/x': Not a directory");
    assert_int_equal(path_remove("/proc/self/no-such-file", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_is_put_in_the_way_is_not_followed),
        cmocka_unit_test(a_link_in_the_place_of_a_directory_is_not_followed),
        cmocka_unit_test(a_link_with_a_slash_behind_it_is_a_link),
        cmocka_unit_test(a_deep_tree_goes_too),
        cmocka_unit_test(what_cannot_be_removed_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
