/* path_test.c - see path.h */
#include "base/path.h"
#include "base/str.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int make_dir(void **state)
{
    char *dir = malloc(TEST_PATH);

    *state = dir && mkdtemp(test_template(dir, "path_test")) ? dir : NULL;
    return *state ? 0 : -1;
}

/* Also a check: removing fails when a test left more than it says. */
static int drop_dir(void **state)
{
    int r = rmdir(*state);

    free(*state);
    return r;
}

/* A name in the test's directory. */
static char *in(void **state, const char *name)
{
    char *path = path_join(*state, name);

    assert_non_null(path);
    return path;
}

static size_t entries(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void names_come_apart_and_together(void **state)
{
    static const struct {
        const char *path, *dir, *base;
    } rows[] = {
        { "a/b/c", "a/b", "c" }, { "a/b/c/", "a/b", "c" }, { "/a", "/", "a" },
        { "/", "/", "/" },       { "//", "/", "/" },       { "a", ".", "a" },
        { "", ".", "." },        { "a//b", "a", "b" },     { "//a//", "/", "a" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *dir = path_dir(rows[i].path);
        AUTO_FREE char *base = path_base(rows[i].path);

        assert_non_null(dir);
        assert_non_null(base);
        assert_string_equal(dir, rows[i].dir);
        assert_string_equal(base, rows[i].base);
    }
}

static void joining_puts_one_slash_between(void **state)
{
    static const struct {
        const char *dir, *name, *joined;
    } rows[] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" },
        { "", "b", "b" },    { "a", "/b", "/b" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *joined = path_join(rows[i].dir, rows[i].name);

        assert_non_null(joined);
        assert_string_equal(joined, rows[i].joined);
    }
}

static void a_name_is_one_component_and_stays_where_it_is(void **state)
{
    static const struct {
        const char *name;
        size_t n;
        bool good;
    } rows[] = {
        { "", 0, false },     { ".", 1, false },    { "..", 2, false }, { "a/b", 3, false },
        { "/", 1, false },    { "a\0b", 3, false }, { "\0", 1, false }, { "../x", 4, false },
        { "...", 3, true },   { ".a", 2, true },    { "a", 1, true },   { "..a", 3, true },
        { "a b\n", 4, true }, { "..x", 2, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(path_is_name(rows[i].name, rows[i].n), rows[i].good);
}

static void missing_directories_are_made_all_the_way(void **state)
{
    AUTO_FREE char *deep = in(state, "x//y/z/");
    AUTO_FREE char *file = in(state, "x/f");
    AUTO_FREE char *below = in(state, "x/f/g");
    struct err err = ERR_INIT;
    struct stat st;

    assert_int_equal(path_mkdirs(deep, 0700, &err), 0);
    assert_int_equal(path_mkdirs(deep, 0700, &err), 0);
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(path_write(file, "", 0, 0644, &err), 0);
    assert_int_equal(path_mkdirs(file, 0700, &err), -ENOTDIR);
    assert_non_null(strstr(err.text, "/x/f' exists and is not a directory"));
    assert_int_equal(path_mkdirs(below, 0700, &err), -ENOTDIR);
    assert_int_equal(path_mkdirs("", 0700, &err), -ENOENT);
    for (const char *const *p = (const char *const[]){ "x/f", "x/y/z", "x/y", "x", NULL }; *p;
         p++) {
        AUTO_FREE char *path = in(state, *p);

        assert_int_equal(remove(path), 0);
    }
}

/* In the place of the C library's. */
static unsigned flushes;

int fsync(int fd)
{
    (void)fd;
    flushes++;
    return 0;
}

static void a_file_appears_whole_with_its_mode(void **state)
{
    static const struct {
        int (*write)(const char *path, const void *p, size_t n, mode_t mode, struct err *err);
        unsigned flushes; /* of the file and its directory */
    } rows[] = { { path_write, 2 }, { path_write_unflushed, 0 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *path = in(state, "secret");
        struct err err = ERR_INIT;
        struct stat st;
        AUTO_BUF b = { .max = 64 };

        assert_int_equal(rows[i].write(path, "old", 3, 0644, &err), 0);
        flushes = 0;
        assert_int_equal(rows[i].write(path, "new text", 8, 0600, &err), 0);
        assert_int_equal(flushes, rows[i].flushes);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(path_read(path, &b, &err), 0);
        assert_string_equal(buf_text(&b), "new text");
        assert_int_equal(entries(*state), 1);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_file_that_is_not_committed_leaves_nothing(void **state)
{
    AUTO_FREE char *path = in(state, "half");
    AUTO_FREE char *nowhere = in(state, "no/such/dir");
    struct err err = ERR_INIT;
    struct path_out o;

    assert_int_equal(path_out_begin(&o, path, 0600, &err), 0);
    assert_int_equal(path_write_fd(o.fd, "half", 4), 0);
    assert_int_equal(entries(*state), 1);
    path_out_done(&o);
    assert_int_equal(entries(*state), 0);
    assert_int_equal(path_out_begin(&o, nowhere, 0600, &err), -ENOENT);
    path_out_done(&o);
    path_out_done(&o); /* twice is fine */
}

static void a_file_past_the_ceiling_is_refused(void **state)
{
    AUTO_FREE char *path = in(state, "f");
    struct err err = ERR_INIT;
    AUTO_BUF exact = { .max = 8 };
    AUTO_BUF small = { .max = 7 };

    assert_int_equal(path_write(path, "12345678", 8, 0600, &err), 0);
    assert_int_equal(path_read(path, &exact, &err), 0);
    assert_int_equal(exact.len, 8);
    assert_int_equal(path_read(path, &small, &err), -E2BIG);
    assert_non_null(strstr(err.text, "is larger than 7 bytes"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(path_read(path, &exact, &err), -ENOENT);
    assert_int_equal(path_read(*state, &exact, &err), -EISDIR);
}

static void a_large_file_is_read_in_full(void **state)
{
    AUTO_FREE char *path = in(state, "big");
    AUTO_FREE char *data = calloc(1, 300 * KIB);
    struct err err = ERR_INIT;
    AUTO_BUF b = { .max = MIB };

    assert_non_null(data);
    memset(data, 'x', 300 * KIB);
    assert_int_equal(path_write(path, data, 300 * KIB, 0600, &err), 0);
    assert_int_equal(path_read(path, &b, &err), 0);
    assert_int_equal(b.len, 300 * KIB);
    assert_memory_equal(b.data, data, b.len);
    assert_int_equal(unlink(path), 0);
}

static void xdg_variables_win_over_home(void **state)
{
    AUTO_FREE char *config = NULL;
    AUTO_FREE char *cache = NULL;
    AUTO_FREE char *state_dir = NULL;
    struct err err = ERR_INIT;
    char *none = NULL;

    (void)state;
    setenv("HOME", "/home/me", 1);
    setenv("XDG_CONFIG_HOME", "/etc/me", 1);
    setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
    unsetenv("XDG_STATE_HOME");
    assert_int_equal(path_xdg(PATH_CONFIG, "ydl", &config, &err), 0);
    assert_string_equal(config, "/etc/me/ydl");
    assert_int_equal(path_xdg(PATH_CACHE, "ydl", &cache, &err), 0);
    assert_string_equal(cache, "/home/me/.cache/ydl");
    assert_int_equal(path_xdg(PATH_STATE, "ydl", &state_dir, &err), 0);
    assert_string_equal(state_dir, "/home/me/.local/state/ydl");
    unsetenv("HOME");
    assert_int_equal(path_xdg(PATH_CACHE, "ydl", &none, &err), -ENOENT);
    assert_string_equal(err.text, "neither XDG_CACHE_HOME nor HOME names a directory");
}

static void a_tree_is_removed_with_links_but_not_what_they_point_to(void **state)
{
    AUTO_FREE char *tree = in(state, "tree");
    AUTO_FREE char *deep = in(state, "tree/a/b/c");
    AUTO_FREE char *kept = in(state, "kept");
    AUTO_FREE char *link = in(state, "tree/a/link");
    AUTO_FREE char *file = in(state, "tree/a/b/file");

    assert_int_equal(path_mkdirs(deep, 0700, NULL), 0);
    assert_int_equal(path_write_new(kept, "x", 1, 0600, NULL), 0);
    assert_int_equal(path_write_new(file, "x", 1, 0600, NULL), 0);
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(path_remove(tree, NULL), 0);
    assert_int_equal(access(tree, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(path_remove(tree, NULL), 0); /* not there: fine */
    assert_int_equal(unlink(kept), 0);
}

static void a_new_file_replaces_nothing(void **state)
{
    AUTO_FREE char *path = in(state, "f");
    struct err err = ERR_INIT;

    assert_int_equal(path_write_new(path, "a", 1, 0600, &err), 0);
    assert_int_equal(path_write_new(path, "b", 1, 0600, &err), -EEXIST);
    assert_int_equal(path_remove(path, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_apart_and_together),
        cmocka_unit_test(joining_puts_one_slash_between),
        cmocka_unit_test(a_name_is_one_component_and_stays_where_it_is),
        cmocka_unit_test_setup_teardown(missing_directories_are_made_all_the_way, make_dir,
                                        drop_dir),
        cmocka_unit_test_setup_teardown(a_file_appears_whole_with_its_mode, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_file_that_is_not_committed_leaves_nothing, make_dir,
                                        drop_dir),
        cmocka_unit_test_setup_teardown(a_file_past_the_ceiling_is_refused, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_large_file_is_read_in_full, make_dir, drop_dir),
        cmocka_unit_test(xdg_variables_win_over_home),
        cmocka_unit_test_setup_teardown(a_tree_is_removed_with_links_but_not_what_they_point_to,
                                        make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_new_file_replaces_nothing, make_dir, drop_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
