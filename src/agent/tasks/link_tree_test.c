/* link_tree_test.c - see link_tree.h */
#include "agent/tasks/link_tree.h"
#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct world {
    char dir[TEST_PATH];
    char *from, *to;
};

static void put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *up = path ? path_dir(path) : NULL;

    assert_non_null(up);
    assert_int_equal(path_mkdirs(up, 0755, NULL), 0);
    assert_int_equal(path_write(path, text, strlen(text), 0644, NULL), 0);
}

static int tear_down(void **state)
{
    struct world *w = *state;

    (void)path_remove(w->dir, NULL);
    free(w->from);
    free(w->to);
    free(w);
    return 0;
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    if (!w)
        return -1;
    *state = w;
    if (test_dir(w->dir, "spread")) {
        w->from = path_join(w->dir, "cache");
        w->to = path_join(w->dir, "work");
    }
    if (w->from && w->to && path_mkdirs(w->from, 0755, NULL) == 0 &&
        path_mkdirs(w->to, 0755, NULL) == 0)
        return 0;
    tear_down(state);
    return -1;
}

static void holds(const char *dir, const char *name, const char *text, mode_t type)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_BUF b = { .max = KIB };
    struct stat st;

    assert_non_null(path);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & S_IFMT, type);
    if (!text)
        return;
    assert_int_equal(path_read(path, &b, NULL), 0);
    assert_string_equal(buf_text(&b), text);
}

static void directories_are_real_and_files_are_links(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;

    put(w->from, "train.py", "a");
    put(w->from, "data/deep/x", "b");
    assert_int_equal(spread_tree(w->from, w->to, &err), 0);
    holds(w->to, "train.py", "a", S_IFLNK);
    holds(w->to, "data", NULL, S_IFDIR);
    holds(w->to, "data/deep/x", "b", S_IFLNK);
    put(w->to, "data/new", "theirs"); /* tasks write beside them, not into the cache */
    assert_int_equal(spread_tree(w->from, w->to, &err), 0); /* again is fine */
}

static void what_is_there_stays(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *other = path_join(w->dir, "other"), *link = path_join(w->to, "data");
    AUTO_FREE char *leak = other ? path_join(other, "x") : NULL;
    struct err err = ERR_INIT;

    put(w->from, "train.py", "shipped");
    put(w->from, "data/x", "shipped");
    put(w->to, "train.py", "own");
    assert_true(leak && link);
    assert_int_equal(mkdir(other, 0755), 0);
    assert_int_equal(symlink(other, link), 0); /* an archive that YARN put there */
    assert_int_equal(spread_tree(w->from, w->to, &err), 0);
    holds(w->to, "train.py", "own", S_IFREG);
    assert_int_equal(access(leak, F_OK), -1);
}

static void links_lead_past_our_own(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *link = path_join(w->to, "ydl-ship"), *file = path_join(w->to, "a");
    struct err err = ERR_INIT;

    put(w->from, "a", "1");
    assert_true(link && file);
    assert_int_equal(symlink(w->from, link), 0);
    assert_int_equal(spread_tree(link, w->to, &err), 0);
    assert_int_equal(unlink(link), 0);
    holds(w->to, "a", "1", S_IFLNK);
}

static void what_is_missing_is_said(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;

    assert_int_equal(spread_tree("/no/such", w->to, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(directories_are_real_and_files_are_links, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_there_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_lead_past_our_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_is_said, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
