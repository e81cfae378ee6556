/* cgroup_test.c - see cgroup.h. The hierarchy is a directory of plain files. */
#include "agent/tasks/cgroup.h"
#include "base/path.h"
#include "base/str.h"
#include "test.h"

#include <string.h>

static char root[TEST_PATH];

static int set_up(void **state)
{
    (void)state;
    return test_dir(root, "cgroup") ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return path_remove(root, NULL);
}

static void put(const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(root, name);
    AUTO_FREE char *dir = path ? path_dir(path) : NULL;

    assert_non_null(dir);
    assert_int_equal(path_mkdirs(dir, 0755, NULL), 0);
    assert_int_equal(path_write(path, text, strlen(text), 0644, NULL), 0);
}

static void assert_text(const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(root, name);
    AUTO_BUF b = { .max = KIB };

    assert_non_null(path);
    assert_int_equal(path_read(path, &b, NULL), 0);
    assert_non_null(buf_text(&b));
    assert_string_equal((char *)b.data, text);
}

/* The kernel would make these files with the directory. */
static void as_made(const char *dir)
{
    static const char *const files[] = { "memory.max", "memory.swap.max", "memory.oom.group",
                                         "cgroup.kill" };

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_FREE char *name = path_join(dir, files[i]);

        assert_non_null(name);
        put(name, "");
    }
}

static void the_nearest_place_that_hands_memory_down_is_taken(void **state)
{
    struct cgroups g = { 0 };
    struct cgroup c = { 0 };
    bool made;

    (void)state;
    put("cgroup.subtree_control", "cpu memory\n");
    put("cgroup.procs", "");
    put("a/cgroup.subtree_control", "memory pids\n");
    put("a/cgroup.procs", "");
    put("a/b/cgroup.subtree_control", "pids memoryless\n");
    put("a/b/cgroup.procs", "1\n");
    as_made("a/ydl-1");
    made = cgroup_make(&g, root, "/a/b", "ydl-1", 1024, &c);
    if (made) {
        assert_text("a/ydl-1/memory.max", "1024");
        assert_text("a/ydl-1/memory.oom.group", "1");
        put("a/ydl-1/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 1\n");
        put("a/ydl-1/memory.peak", "4096\n");
        assert_int_equal(cgroup_oom_kills(&c), 2);
        assert_int_equal(cgroup_peak(&c), 4096);
        cgroup_kill(&c);
        assert_text("a/ydl-1/cgroup.kill", "1");
    }
    cgroup_remove(&c);
    cgroups_done(&g);
    assert_true(made);
}

static void without_a_place_there_is_none(void **state)
{
    struct cgroups g = { 0 };
    struct cgroup c = { 0 };

    (void)state;
    put("a/cgroup.subtree_control", "\n");
    put("a/cgroup.procs", "");
    assert_false(cgroup_make(&g, root, "/a", "ydl-1", 1024, &c));
    assert_false(cgroup_make(&g, root, "/a", "ydl-2", 1024, &c));
    assert_null(c.path);
    assert_int_equal(cgroup_procs(&c), -1);
    assert_int_equal(cgroup_oom_kills(&c), 0);
    cgroup_kill(&c);
    cgroup_remove(&c);
    cgroups_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_nearest_place_that_hands_memory_down_is_taken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_a_place_there_is_none, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
