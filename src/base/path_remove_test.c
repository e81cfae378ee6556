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

/* A tree to remove, and a directory that it must not touch, in a directory of their own. */
struct trap {
    char dir[TEST_PATH];
    char *tree, *inner; /* inner: a directory in the tree */
    char *aside;        /* where `inner` is moved */
    char *victim;       /* what a link in its place leads to */
    char *theirs;       /* a file in it */
};

static void trap_make(struct trap *t)
{
    assert_true(test_dir(t->dir, "path_remove"));
    t->tree = path_join(t->dir, "tree");
    t->inner = t->tree ? path_join(t->tree, "a") : NULL;
    t->aside = path_join(t->dir, "aside");
    t->victim = path_join(t->dir, "victim");
    assert_true(t->inner && t->aside && t->victim);
    t->theirs = make_file(t->victim, "f");
    swap.from = t->inner;
    swap.to = t->aside;
    swap.link = t->victim;
}

static void trap_done(struct trap *t)
{
    assert_int_equal(access(t->theirs, F_OK), 0);
    assert_int_equal(path_remove(t->dir, NULL), 0);
    free(t->tree);
    free(t->inner);
    free(t->aside);
    free(t->victim);
    free(t->theirs);
}

static void a_link_that_is_put_in_the_way_is_not_followed(void **state)
{
    struct trap t;
    AUTO_FREE char *ours = NULL;

    (void)state;
    trap_make(&t);
    ours = make_file(t.inner, "f");
    swap.opened = 0;
    assert_true(path_remove(t.tree, NULL) < 0);
    swap.from = NULL;
    assert_int_equal(access(ours, F_OK), 0); /* through the link: that of the other directory */
    assert_int_equal(rmdir(t.aside), 0);     /* what was in the tree is gone */
    trap_done(&t);
}

/* In the moment between its name and its opening. */
static void a_link_in_the_place_of_a_directory_is_not_followed(void **state)
{
    struct trap t;

    (void)state;
    trap_make(&t);
    assert_int_equal(path_mkdirs(t.inner, 0700, NULL), 0);
    swap.entry = "a";
    assert_true(path_remove(t.tree, NULL) < 0);
    swap.from = swap.entry = NULL;
    trap_done(&t);
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
