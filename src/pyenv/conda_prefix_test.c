/* conda_prefix_test.c - files that are told where they are; see conda_prefix.h */
#include "base/path.h"
#include "pyenv/conda_prefix.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOLDER "/holder_holder_holder"

static const struct {
    const char *text, *to; /* NULL: it stays */
} texts[] = {
    { "prefix=/e\nlibs=-L/e/lib\n", "prefix=/new\nlibs=-L/new/lib\n" },
    { "/e", "/new" },
    { "/e:/e;'/e'", "/new:/new;'/new'" },
    { "/etc /e.txt /e-1 /e_2 /e3", NULL },
    { "/other/e/bin /e/bin", "/new/bin /new/bin" }, /* the longer one of two that fit */
    { "no place", NULL },
    { "", NULL },
};

static void a_path_counts_where_it_is_whole(void **state)
{
    char one[] = "/e", two[] = "/other/e", *both[] = { one, two, NULL };
    struct strs from = { both, 2 };
    const struct conda_prefix_move m = { &from, "/new" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO_BUF out = { .max = KIB };
        int r = conda_prefix_text(&m, texts[i].text, strlen(texts[i].text), &out);

        assert_true(texts[i].to ? r > 0 : r == 0);
        assert_string_equal(buf_text(&out), texts[i].to ? texts[i].to : texts[i].text);
    }
}

/* A file with these bytes; its name is in `path`. */
static int file_with(const char *dir, const void *p, size_t n)
{
    AUTO_FREE char *path = path_join(dir, "x");
    int fd;

    assert_non_null(path);
    (void)unlink(path);
    assert_int_equal(path_write_new(path, p, n, 0600, NULL), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int moved(int fd, char *data, size_t n, const char *from, const char *to)
{
    struct strs one = { (char *[]){ (char *)from, NULL }, 1 };
    const struct conda_prefix_move m = { &one, to };
    AUTO_CONDA_PATCHES p = { 0 };
    size_t stuck = 0;

    assert_int_equal(conda_prefix_binary(&m, fd, n, &p, &stuck), 0);
    for (size_t i = 0; i < p.n; i++) {
        assert_true(p.v[i].at + p.v[i].n <= n);
        memcpy(data + p.v[i].at, p.v[i].bytes, p.v[i].n);
    }
    close(fd);
    return (int)stuck;
}

static void a_string_keeps_its_room_and_can_grow_again(void **state)
{
    static const char was[] = "\177ELF\0a:" HOLDER "/b:" HOLDER "/c\0next\0" HOLDER "\0end";
    char data[sizeof(was)];

    memcpy(data, was, sizeof(was));
    assert_int_equal(moved(file_with(*state, was, sizeof(was)), data, sizeof(was), HOLDER, "/e"),
                     0);
    assert_string_equal(data + 5, "a:/e/b:/e/c");
    assert_null(memmem(data, sizeof(data), HOLDER, strlen(HOLDER)));
    assert_memory_equal(data + sizeof(data) - 4, "end", 4);
    assert_non_null(memmem(data, sizeof(data), "\0next\0/e\0", 9));
    assert_int_equal(moved(file_with(*state, data, sizeof(was)), data, sizeof(was), "/e", HOLDER),
                     0);
    assert_memory_equal(data, was, sizeof(was));
}

static void a_string_without_room_stays(void **state)
{
    static const char was[] = "/e/x\0next\0/e/y";
    char data[sizeof(was)];

    memcpy(data, was, sizeof(was));
    assert_int_equal(moved(file_with(*state, was, sizeof(was)), data, sizeof(was), "/e", "/long"),
                     2);
    assert_memory_equal(data, was, sizeof(was));
}

static void strings_at_the_borders_of_what_is_read_are_found(void **state)
{
    enum { SIZE = 3 * MIB + 7 };
    AUTO_FREE char *was = calloc(1, SIZE), *data = malloc(SIZE);
    size_t n = 0;

    assert_true(was && data);
    for (size_t at = 0; at + 64 < SIZE; at += 32771, n++)
        memcpy(was + at, HOLDER "/lib", sizeof(HOLDER "/lib"));
    memcpy(data, was, SIZE);
    assert_int_equal(moved(file_with(*state, was, SIZE), data, SIZE, HOLDER, "/e"), 0);
    for (size_t at = 0; at + 64 < SIZE; at += 32771, n--)
        assert_string_equal(data + at, "/e/lib");
    assert_int_equal(n, 0);
}

/* ---- an environment ---- */

static void put(const char *dir, const char *name, const void *p, size_t n)
{
    AUTO_FREE char *path = path_join(dir, name), *above = path ? path_dir(path) : NULL;

    assert_non_null(above);
    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    assert_int_equal(path_write_new(path, p, n, 0500, NULL), 0);
}

static bool says(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_BUF bytes = { .max = MIB };
    struct stat st;

    assert_non_null(path);
    assert_int_equal(path_read(path, &bytes, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0500);
    return memmem(bytes.data, bytes.len, text, strlen(text) + 1) ||
           (bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0);
}

static const char list[] = "binary\t" HOLDER HOLDER HOLDER HOLDER HOLDER "\tlib/x.so\n"
                           "text\t" HOLDER "\tshare/x.txt\n"
                           "text\t" HOLDER "\tshare/gone\n";
static const char program[] = "\177ELF\0" HOLDER HOLDER HOLDER HOLDER HOLDER "/share\0end";

static char *make_env(const char *dir, const char *rows)
{
    char *env = path_join(dir, "env");

    assert_non_null(env);
    put(env, "lib/x.so", program, sizeof(program));
    put(env, "share/x.txt", HOLDER "/data", strlen(HOLDER "/data"));
    put(env, CONDA_PREFIX_LIST, rows, strlen(rows));
    return env;
}

static void an_environment_is_told_where_it_is(void **state)
{
    AUTO_FREE char *env = make_env(*state, list), *moved_to = path_join(*state, "e");
    AUTO_FREE char *data = str_printf("%s/data", env), *share = str_printf("%s/share", env);
    AUTO_FREE char *again = str_printf("%s/share", moved_to);
    AUTO_STRS stuck = { 0 };
    size_t n = 0;

    assert_true(data && share && moved_to && again);
    assert_int_equal(conda_prefix_env(env, &n, &stuck, NULL), 0);
    assert_int_equal(n, 2);
    assert_true(says(env, "share/x.txt", data));
    assert_true(says(env, "lib/x.so", share));
    assert_int_equal(conda_prefix_env(env, &n, &stuck, NULL), 0); /* it knows */
    assert_int_equal(n, 0);
    assert_int_equal(rename(env, moved_to), 0);
    assert_int_equal(conda_prefix_env(moved_to, &n, &stuck, NULL), 0);
    assert_int_equal(n, 2);
    assert_true(says(moved_to, "lib/x.so", again));
    assert_int_equal(stuck.n, 0);
}

static void a_place_that_is_too_long_is_told_to_texts_only(void **state)
{
    static const char rows[] = "binary\t/h\tlib/x.so\ntext\t" HOLDER "\tshare/x.txt\n";
    AUTO_FREE char *env = make_env(*state, rows);
    AUTO_STRS stuck = { 0 };
    size_t n = 0;

    assert_int_equal(conda_prefix_env(env, &n, &stuck, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(stuck.n, 1);
    assert_string_equal(stuck.v[0], "lib/x.so");
}

static void a_list_that_leads_elsewhere_is_refused(void **state)
{
    static const char *const rows[] = { "text\t/h\t../x\n", "text\t/h\t/etc/x\n",
                                        "text\t/h\n",       "text\t/h\ta/../../b\n",
                                        "other\t/h\tx\n",   "text\t/\tx\n" };
    AUTO_FREE char *env = make_env(*state, ""), *path = path_join(env, CONDA_PREFIX_LIST);
    AUTO_STRS stuck = { 0 };
    struct err err = ERR_INIT;
    size_t n = 0;

    assert_non_null(path);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(unlink(path), 0);
        assert_int_equal(path_write_new(path, rows[i], strlen(rows[i]), 0600, NULL), 0);
        assert_int_equal(conda_prefix_env(env, &n, &stuck, &err), -EINVAL);
    }
}

static void what_has_no_list_is_left_alone(void **state)
{
    AUTO_STRS stuck = { 0 };
    size_t n = 1;

    assert_int_equal(conda_prefix_env(*state, &n, &stuck, NULL), 0);
    assert_int_equal(n, 0);
}

static int make_dir(void **state)
{
    char name[TEST_PATH];

    *state = test_dir(name, "place") ? realpath(name, NULL) : NULL;
    return *state ? 0 : -1;
}

static int remove_dir(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_counts_where_it_is_whole),
        cmocka_unit_test_setup_teardown(a_string_keeps_its_room_and_can_grow_again, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_string_without_room_stays, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(strings_at_the_borders_of_what_is_read_are_found, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(an_environment_is_told_where_it_is, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_place_that_is_too_long_is_told_to_texts_only, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_list_that_leads_elsewhere_is_refused, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_has_no_list_is_left_alone, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
