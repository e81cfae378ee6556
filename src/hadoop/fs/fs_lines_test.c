/* fs_lines_test.c - fs_lines() on local files. */
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "hadoop/fs/fs.h"
#include "test.h"

#include <string.h>

struct got {
    struct buf text; /* each line in brackets; a long one as its length */
    size_t stop;     /* after so many lines; 0: never */
    size_t n;
};

static int on_line(void *arg, const char *line, size_t n)
{
    struct got *g = arg;

    assert_int_equal(n > 100 ? buf_printf(&g->text, "[%zu]", n)
                             : buf_printf(&g->text, "[%.*s]", (int)n, line),
                     0);
    return ++g->n == g->stop ? 42 : 0;
}

static void assert_lines(const char *bytes, size_t n, size_t stop, const char *want)
{
    char dir[TEST_PATH];
    AUTO_FS_SET *set = NULL;
    AUTO_FREE char *path = NULL;
    struct fs *fs = NULL;
    struct got g = { .text = { .max = MIB }, .stop = stop };
    int r;

    assert_non_null(test_dir(dir, "lines"));
    path = path_join(dir, "file");
    assert_non_null(path);
    assert_int_equal(path_write_new(path, bytes, n, 0600, NULL), 0);
    assert_int_equal(fs_set_new(NULL, NULL, &set, NULL), 0);
    {
        AUTO_FREE char *there = NULL;

        assert_int_equal(fs_find(set, path, FS_ON_LOCAL, &fs, &there, NULL), 0);
        r = fs_lines(fs, there, on_line, &g, NULL);
    }
    assert_int_equal(r, stop ? 42 : 0);
    assert_int_equal(buf_add(&g.text, "", 1), 0);
    assert_string_equal((char *)g.text.data, want);
    buf_done(&g.text);
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void lines_come_whole_and_in_order(void **state)
{
    (void)state;
    assert_lines("", 0, 0, "");
    assert_lines("\n", 1, 0, "[]");
    assert_lines("a\nbc\n\nd\n", 8, 0, "[a][bc][][d]");
    assert_lines("a\ncut", 5, 0, "[a]");
    assert_lines("a\nb\nc\n", 6, 2, "[a][b]");
}

/* Longer than what is read at once, as long as may be, and longer. */
static void a_line_may_be_long_but_not_too_long(void **state)
{
    size_t most = FS_LINE_MAX, n = 0;
    AUTO_FREE char *p = malloc(3 * most);
    AUTO_FREE char *want = str_printf("[a][%zu][b][%zu][c]", most - 1, most);

    (void)state;
    assert_non_null(p);
    assert_non_null(want);
    memset(p, 'x', 3 * most);
    memcpy(p, "a\n", 2);
    n = 2 + most - 1;
    memcpy(p + n, "\nb\n", 3);
    n += 3 + most;
    memcpy(p + n, "\nc\n", 3);
    assert_lines(p, n + 3, 0, want);
    memset(p, 'x', most + 7);
    memcpy(p + most + 1, "\nd\ne", 5);
    assert_lines(p, most + 6, 0, "[d]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_whole_and_in_order),
        cmocka_unit_test(a_line_may_be_long_but_not_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
