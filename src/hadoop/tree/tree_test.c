/* tree_test.c - what a walk tells and what it leaves out, and copies of whole directories. */
#include "base/path.h"
#include "hadoop/tree/tree_copy.h"
#include "loop/fiber.h"
#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Every test runs on a fiber, in a directory of its own. */
struct bench {
    struct loop *loop;
    struct fs_set *set;
    struct fs *fs;
    char dir[TEST_PATH];
    struct buf told; /* "D a, F a/b 3, L a" */
    const char *leave_out;
    void (*body)(struct bench *b);
};

static char *at(struct bench *b, const char *name)
{
    return *name ? path_join(b->dir, name) : strdup(b->dir);
}

static int run(void *arg)
{
    struct bench *b = arg;
    AUTO_FREE char *path = NULL;

    assert_int_equal(fs_set_new(b->loop, NULL, &b->set, NULL), 0);
    assert_int_equal(fs_find(b->set, b->dir, FS_ON_LOCAL, &b->fs, &path, NULL), 0);
    b->body(b);
    b->set = fs_set_free(b->set);
    return 0;
}

static void with_bench(void (*body)(struct bench *b))
{
    struct bench b = { .body = body, .told = { .max = 64 * KIB } };

    assert_non_null(mkdtemp(test_template(b.dir, "tree_test")));
    assert_int_equal(loop_new(&b.loop, NULL), 0);
    assert_int_equal(loop_run(b.loop, run, &b, false), 0);
    loop_free(b.loop);
    assert_int_equal(path_remove(b.dir, NULL), 0);
    buf_done(&b.told);
}

static void put(struct bench *b, const char *name, const char *text)
{
    AUTO_FREE char *path = at(b, name);
    AUTO_FREE char *dir = path_dir(path);

    assert_int_equal(path_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(path_write(path, text, strlen(text), 0600, NULL), 0);
}

static void make_dir(struct bench *b, const char *name)
{
    AUTO_FREE char *path = at(b, name);

    assert_int_equal(path_mkdirs(path, 0700, NULL), 0);
}

static void make_link(struct bench *b, const char *to, const char *name)
{
    AUTO_FREE char *path = at(b, name);

    assert_int_equal(symlink(to, path), 0);
}

static void expect_file(struct bench *b, const char *name, const char *text)
{
    AUTO_FREE char *path = at(b, name);
    AUTO_BUF got = { .max = 4096 };

    assert_int_equal(path_read(path, &got, NULL), 0);
    assert_string_equal(buf_text(&got), text);
}

static bool is_there(struct bench *b, const char *name)
{
    AUTO_FREE char *path = at(b, name);

    return access(path, F_OK) == 0;
}

/* Walked as HDFS is: by lists of names, which are the same calls for both. */
static bool far;
bool __real_fs_is_local(const struct fs *fs);
bool __wrap_fs_is_local(const struct fs *fs);

bool __wrap_fs_is_local(const struct fs *fs)
{
    return !far && __real_fs_is_local(fs);
}

static int walk_far(const struct tree_walk *w, struct bench *b, struct err *err)
{
    int r;

    far = true;
    r = tree_walk(w, b->fs, err);
    far = false;
    return r;
}

/* ---- walking ---- */

static int tell(void *arg, const char *what, const char *name)
{
    struct bench *b = arg;

    return buf_printf(&b->told, "%s%s %s", b->told.len ? ", " : "", what, *name ? name : ".");
}

static int on_dir(void *arg, const struct tree_item *e, struct err *err)
{
    struct bench *b = arg;

    (void)err;
    if (b->leave_out && str_eq(e->name, b->leave_out))
        return 1;
    return tell(arg, "D", e->name);
}

static int on_file(void *arg, const struct tree_item *e, struct err *err)
{
    (void)err;
    return tell(arg, e->type == FS_FILE ? "F" : e->type == FS_SYMLINK ? "S" : "O", e->name);
}

static int on_left(void *arg, const char *name, bool empty, struct err *err)
{
    (void)err;
    return empty ? tell(arg, "E", name) : 0;
}

static struct tree_walk walk_of(struct bench *b, enum tree_links links)
{
    buf_reset(&b->told);
    return (struct tree_walk){ .root = b->dir,
                               .links = links,
                               .depth = 3,
                               .names = 20,
                               .arg = b,
                               .on_dir = on_dir,
                               .on_file = on_file,
                               .on_left = on_left };
}

static void each_directory_comes_before_what_is_in_it(struct bench *b)
{
    struct tree_walk w = walk_of(b, TREE_LINKS_FOLLOW);

    put(b, "b/2", "");
    put(b, "b/1", "");
    put(b, "a/c/3", "");
    put(b, "z", "");
    make_dir(b, "a/empty");
    assert_int_equal(tree_walk(&w, b->fs, NULL), 0);
    assert_string_equal(buf_text(&b->told),
                        "D ., F z, D a, D a/c, F a/c/3, D a/empty, E a/empty, D b, F b/1, F b/2");
    w = walk_of(b, TREE_LINKS_FOLLOW);
    b->leave_out = "a";
    assert_int_equal(tree_walk_local(&w, NULL), 0);
    assert_string_equal(buf_text(&b->told), "D ., F z, D b, F b/1, F b/2");
}

static void links_stand_for_what_the_rule_says(struct bench *b)
{
    struct tree_walk w = walk_of(b, TREE_LINKS_FILES);

    put(b, "a/1", "x");
    make_link(b, "a/1", "file");
    make_link(b, "a", "dir");
    make_link(b, "nowhere", "none");
    assert_int_equal(tree_walk_local(&w, NULL), 0);
    assert_string_equal(buf_text(&b->told), "D ., F file, D a, F a/1");
    w = walk_of(b, TREE_LINKS_FOLLOW);
    assert_int_equal(tree_walk_local(&w, NULL), 0);
    assert_string_equal(buf_text(&b->told), "D ., F file, S none, D a, F a/1, D dir, F dir/1");
}

static void limits_are_told_in_words(struct bench *b)
{
    struct tree_walk w = walk_of(b, TREE_LINKS_FILES);
    struct err err = ERR_INIT;

    make_dir(b, "1/2/3");
    assert_int_equal(tree_walk_local(&w, NULL), 0);
    make_dir(b, "1/2/3/4");
    assert_int_equal(tree_walk_local(&w, &err), -ELOOP);
    assert_non_null(strstr(err.text, "/1/2/3/4': more than 3 directories deep"));
    w = walk_of(b, TREE_LINKS_FILES);
    w.names = 3;
    err = (struct err)ERR_INIT;
    assert_int_equal(tree_walk_local(&w, &err), -E2BIG);
    assert_non_null(strstr(err.text, "has more than 3 files and directories"));
}

static void a_circle_of_links_ends(struct bench *b)
{
    struct tree_walk w = walk_of(b, TREE_LINKS_FOLLOW);
    struct err err = ERR_INIT;

    make_link(b, ".", "again");
    assert_int_equal(tree_walk_local(&w, &err), -ELOOP);
    assert_non_null(strstr(err.text, "is there a loop of symbolic links?"));
}

static void a_root_must_be_there(struct bench *b)
{
    struct tree_walk w = walk_of(b, TREE_LINKS_FOLLOW);
    AUTO_FREE char *none = at(b, "none");

    w.root = none;
    assert_int_equal(tree_walk_local(&w, NULL), -ENOENT);
    assert_int_equal(tree_walk(&w, b->fs, NULL), -ENOENT);
}

/* The task is at work while it is looked at. */
static int remove_it(void *arg, const struct tree_item *e, struct err *err)
{
    struct bench *b = arg;
    AUTO_FREE char *path = at(b, "gone");

    (void)e;
    return path_remove(path, err);
}

static void what_disappears_is_passed_over(struct bench *b)
{
    struct tree_walk w = walk_of(b, TREE_LINKS_FILES);

    put(b, "first", "");
    put(b, "gone/1", "");
    put(b, "stays/1", "");
    w.on_file = remove_it;
    assert_int_equal(tree_walk_local(&w, NULL), 0);
    assert_string_equal(buf_text(&b->told), "D ., D stays");
}

static void what_disappears_from_hdfs_is_passed_over(struct bench *b)
{
    struct tree_walk w = walk_of(b, TREE_LINKS_FILES);
    struct err err = ERR_INIT;

    put(b, "a/1", ""); /* is read when all names of the root are known */
    put(b, "gone/1", "");
    put(b, "stays/1", "");
    make_dir(b, "void");
    assert_int_equal(walk_far(&w, b, &err), 0);
    assert_string_equal(buf_text(&b->told),
                        "D ., D a, F a/1, D gone, F gone/1, D stays, F stays/1, D void, E void");
    w = walk_of(b, TREE_LINKS_FILES);
    w.on_file = remove_it;
    assert_int_equal(walk_far(&w, b, &err), 0);
    assert_int_equal(err.code, 0);
    assert_string_equal(buf_text(&b->told), "D ., D a, D stays, D void, E void");
    w.root = "/none/of/these";
    assert_int_equal(walk_far(&w, b, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/none/of/these"));
}

static int exchange_it(void *arg, const struct tree_item *e, struct err *err)
{
    struct bench *b = arg;
    AUTO_FREE char *path = at(b, "gone");

    (void)e;
    if (path_remove(path, err) < 0 || symlink("stays", path) < 0)
        return -EIO;
    return 0;
}

static void a_directory_that_becomes_a_link_is_not_followed(struct bench *b)
{
    struct tree_walk w = walk_of(b, TREE_LINKS_FILES);

    put(b, "first", "");
    put(b, "gone/1", "");
    make_dir(b, "stays");
    w.on_file = exchange_it;
    assert_int_equal(tree_walk_local(&w, NULL), 0);
    assert_string_equal(buf_text(&b->told), "D ., D stays, E stays");
}

/* ---- copying ---- */

static struct tree_copy copy_of(struct bench *b)
{
    return (struct tree_copy){ .loop = b->loop,
                               .from = b->fs,
                               .to = b->fs,
                               .how = { .mode = FS_MODE_DEFAULT },
                               .most = { .at_once = 3, .memory = MIB },
                               .depth = 10,
                               .arg = b };
}

static int copy(struct bench *b, const struct tree_copy *c, struct err *err)
{
    AUTO_FREE char *from = at(b, "from"), *to = at(b, "to");

    return tree_copy(c, from, to, err);
}

static void a_tree_is_copied_with_its_empty_directories(struct bench *b)
{
    const struct tree_copy c = copy_of(b);

    put(b, "from/1", "one");
    put(b, "from/a/b/2", "two");
    put(b, "from/a/b/3", "");
    make_dir(b, "from/a/empty");
    assert_int_equal(copy(b, &c, NULL), 0);
    expect_file(b, "to/1", "one");
    expect_file(b, "to/a/b/2", "two");
    expect_file(b, "to/a/b/3", "");
    assert_true(is_there(b, "to/a/empty"));
}

struct counting {
    struct bench *bench;
    unsigned now, most;
    uint64_t bytes;
    bool fails;
};

static int put_slowly(void *arg, const char *from, const char *to, struct err *err)
{
    struct counting *x = arg;
    AUTO_FREE char *name = path_base(from);

    (void)to;
    x->now++;
    x->most = x->now > x->most ? x->now : x->most;
    for (int i = 0; i < 5; i++)
        if (fiber_yield(x->bench->loop) < 0)
            return err_set(err, -ECANCELED, "interrupted");
    x->now--;
    return x->fails && str_eq(name, "7") ? err_set(err, -EDQUOT, "no room for '7'") : 0;
}

static void make_ten(struct bench *b)
{
    for (int i = 0; i < 10; i++) {
        char name[32];

        snprintf(name, sizeof(name), "from/%d", i);
        put(b, name, "x");
    }
}

static void files_are_under_way_within_limits(struct bench *b)
{
    struct counting x = { .bench = b };
    struct tree_copy c = copy_of(b);

    make_ten(b);
    c.arg = &x;
    c.put = put_slowly;
    assert_int_equal(copy(b, &c, NULL), 0);
    assert_int_equal(x.most, 3);
    c.most.at_once = 8;
    c.most.memory = 500 * KIB; /* two small files */
    x.most = 0;
    assert_int_equal(copy(b, &c, NULL), 0);
    assert_int_equal(x.most, 2);
    c.most.memory = 1; /* one that is larger than that goes alone */
    x.most = 0;
    assert_int_equal(copy(b, &c, NULL), 0);
    assert_int_equal(x.most, 1);
}

static void the_first_failure_is_told(struct bench *b)
{
    struct counting x = { .bench = b, .fails = true };
    struct tree_copy c = copy_of(b);
    struct err err = ERR_INIT;

    make_ten(b);
    c.arg = &x;
    c.put = put_slowly;
    assert_int_equal(copy(b, &c, &err), -EDQUOT);
    assert_string_equal(err.text, "no room for '7'");
}

static int refuse_dir(void *arg, const char *to, struct err *err)
{
    (void)arg;
    return err_set(err, -EACCES, "'%s' is not ours", to);
}

/* Files that are cancelled because of it fail as well, later. */
static void a_walk_that_fails_tells_its_own_reason(struct bench *b)
{
    struct counting x = { .bench = b };
    struct tree_copy c = copy_of(b);
    struct err err = ERR_INIT;

    put(b, "from/1", "x");
    make_dir(b, "from/a");
    c.arg = &x;
    c.put = put_slowly;
    c.on_dir = refuse_dir;
    assert_int_equal(copy(b, &c, &err), -EACCES);
    assert_non_null(strstr(err.text, "is not ours"));
}

static int count_bytes(void *arg, uint64_t n)
{
    struct counting *x = arg;

    x->bytes += n;
    return x->fails ? -ECANCELED : 0;
}

static void progress_counts_every_byte_and_can_end_it(struct bench *b)
{
    struct counting x = { .bench = b };
    struct tree_copy c = copy_of(b);

    make_ten(b);
    c.arg = &x;
    c.on_bytes = count_bytes;
    assert_int_equal(copy(b, &c, NULL), 0);
    assert_int_equal(x.bytes, 10);
    assert_int_equal(path_remove(b->dir, NULL), 0);
    put(b, "from/1", "text");
    x.fails = true;
    assert_int_equal(copy(b, &c, NULL), -ECANCELED);
    assert_false(is_there(b, "to/1"));
}

#define ON_BENCH(name)                                                                             \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        with_bench(name);                                                                          \
    }

ON_BENCH(each_directory_comes_before_what_is_in_it)
ON_BENCH(links_stand_for_what_the_rule_says)
ON_BENCH(limits_are_told_in_words)
ON_BENCH(a_circle_of_links_ends)
ON_BENCH(a_root_must_be_there)
ON_BENCH(what_disappears_is_passed_over)
ON_BENCH(what_disappears_from_hdfs_is_passed_over)
ON_BENCH(a_directory_that_becomes_a_link_is_not_followed)
ON_BENCH(a_tree_is_copied_with_its_empty_directories)
ON_BENCH(files_are_under_way_within_limits)
ON_BENCH(the_first_failure_is_told)
ON_BENCH(a_walk_that_fails_tells_its_own_reason)
ON_BENCH(progress_counts_every_byte_and_can_end_it)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_directory_comes_before_what_is_in_it),
        cmocka_unit_test(test_links_stand_for_what_the_rule_says),
        cmocka_unit_test(test_limits_are_told_in_words),
        cmocka_unit_test(test_a_circle_of_links_ends),
        cmocka_unit_test(test_a_root_must_be_there),
        cmocka_unit_test(test_what_disappears_is_passed_over),
        cmocka_unit_test(test_what_disappears_from_hdfs_is_passed_over),
        cmocka_unit_test(test_a_directory_that_becomes_a_link_is_not_followed),
        cmocka_unit_test(test_a_tree_is_copied_with_its_empty_directories),
        cmocka_unit_test(test_files_are_under_way_within_limits),
        cmocka_unit_test(test_the_first_failure_is_told),
        cmocka_unit_test(test_a_walk_that_fails_tells_its_own_reason),
        cmocka_unit_test(test_progress_counts_every_byte_and_can_end_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
