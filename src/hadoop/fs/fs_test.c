/* fs_test.c - local files through the interface that HDFS has too. */
#include "base/str.h"
#include "hadoop/fs/fs.h"
#include "loop/fiber.h"
#include "test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every test runs on a fiber, in a directory of its own. */
struct bench {
    struct loop *loop;
    struct fs_set *set;
    struct fs *fs;
    char dir[TEST_PATH];
    char path[PATH_MAX];
    void (*body)(struct bench *b);
};

static const char *at(struct bench *b, const char *name)
{
    snprintf(b->path, sizeof(b->path), "%s/%s", b->dir, name);
    return b->path;
}

static int run(void *arg)
{
    struct bench *b = arg;
    AUTO_FREE char *path = NULL;

    assert_int_equal(fs_set_new(b->loop, NULL, &b->set, NULL), 0);
    assert_int_equal(fs_find(b->set, b->dir, FS_ON_LOCAL, &b->fs, &path, NULL), 0);
    b->body(b);
    assert_int_equal(fs_delete(b->fs, b->dir, true, NULL), 0);
    b->set = fs_set_free(b->set);
    return 0;
}

static void with_bench(void (*body)(struct bench *b))
{
    struct bench b = { .body = body };

    assert_non_null(mkdtemp(test_template(b.dir, "fs_test")));
    assert_int_equal(loop_new(&b.loop, NULL), 0);
    assert_int_equal(loop_run(b.loop, run, &b, false), 0);
    loop_free(b.loop);
}

static void put(struct bench *b, const char *name, const char *text)
{
    const struct fs_create options = { .mode = FS_MODE_DEFAULT, .overwrite = true };
    AUTO_FS_WRITER *w = NULL;

    assert_int_equal(fs_create(b->fs, at(b, name), &options, &w, NULL), 0);
    assert_int_equal(fs_write(w, text, strlen(text), NULL), 0);
    assert_int_equal(fs_written(w), strlen(text));
    assert_int_equal(fs_close(take(w), NULL), 0);
}

static void expect(struct bench *b, const char *name, const char *text)
{
    AUTO_FS_READER *r = NULL;
    char got[200];
    ssize_t n;

    assert_int_equal(fs_open(b->fs, at(b, name), &r, NULL), 0);
    n = fs_pread(r, 0, got, sizeof(got), NULL);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(got, text, (size_t)n);
    assert_int_equal(fs_length(r), strlen(text));
}

/* ---- names ---- */

static void finding(struct bench *b)
{
    static const struct {
        const char *text, *path;
        int r;
    } rows[] = {
        { "/a//b/./c/../d/", "/a/b/d", 0 },
        { "file:///a", "/a", 0 },
        { "file:/a", "/a", 0 },
        { "/", "/", 0 },
        { "/with:colon", "/with:colon", 0 },
        { "/a*?[b]{c,d}\\e", "/a*?[b]{c,d}\\e", 0 },
        { "file://host/a", NULL, -EINVAL },
        { "hdfs://ns/a", NULL, -EINVAL },
        { "", NULL, -EINVAL },
        { "/..", NULL, -EINVAL },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *path = NULL;
        struct fs *fs = NULL;

        assert_int_equal(fs_find(b->set, rows[i].text, FS_ON_CLUSTER, &fs, &path, NULL), rows[i].r);
        if (rows[i].r == 0) {
            assert_string_equal(path, rows[i].path);
            assert_true(fs_is_local(fs));
        }
    }
}

static void local_names_are_found_without_any_cluster(void **state)
{
    (void)state;
    with_bench(finding);
}

static void relative(struct bench *b)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *uri = NULL;
    char cwd[PATH_MAX];
    struct fs *fs;

    assert_non_null(getcwd(cwd, sizeof(cwd)));
    assert_int_equal(fs_find(b->set, "x:y", FS_ON_LOCAL, &fs, &path, NULL), 0);
    assert_true(str_starts(path, cwd));
    assert_true(str_ends(path, "/x:y"));
    assert_int_equal(fs_uri(fs, "/a b", &uri, NULL), 0);
    assert_string_equal(uri, "file:///a b");
    assert_int_equal(*fs_home(fs), '/');
}

static void a_relative_name_is_in_the_working_directory(void **state)
{
    (void)state;
    with_bench(relative);
}

static void naming(struct bench *b)
{
    AUTO_FS_ENTRY e = { 0 };
    AUTO_FREE char *other = str_printf("%s/b", b->dir);
    struct err err = ERR_INIT;

    put(b, "a", "one");
    put(b, "b", "two");
    assert_int_equal(fs_rename(b->fs, at(b, "a"), other, false, &err), -EEXIST);
    assert_int_equal(fs_rename(b->fs, at(b, "a"), other, true, NULL), 0);
    expect(b, "b", "one");
    assert_int_equal(fs_stat(b->fs, at(b, "a"), &e, &err), -ENOENT);
    assert_true(str_ends(err.text, "/a': no such file or directory"));
    assert_int_equal(fs_exists(b->fs, at(b, "a"), &e, NULL), 0);
    assert_int_equal(fs_chmod(b->fs, at(b, "b"), 0640, NULL), 0);
    assert_int_equal(fs_set_times(b->fs, at(b, "b"), 1234567, -1, NULL), 0);
    assert_int_equal(fs_exists(b->fs, at(b, "b"), &e, NULL), 1);
    assert_int_equal(e.mode, 0640);
    assert_int_equal(e.mtime, 1234567);
    assert_int_equal(e.length, 3);
    assert_string_equal(e.name, "b");
    assert_int_equal(e.type, FS_FILE);
    assert_int_equal(fs_recover_lease(b->fs, at(b, "b"), 0, NULL), 0);
    assert_int_equal(fs_delete(b->fs, "/", true, NULL), -EBUSY);
}

static void names_and_attributes_change_as_told(void **state)
{
    (void)state;
    with_bench(naming);
}

static void directories(struct bench *b)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    struct fs_summary s;
    char all[200] = "";

    assert_int_equal(fs_mkdirs(b->fs, at(b, "d/e/f"), 0700, false, NULL), -ENOENT);
    assert_int_equal(fs_mkdirs(b->fs, at(b, "d/e/f"), 0700, true, NULL), 0);
    assert_int_equal(fs_mkdirs(b->fs, at(b, "d/e/f"), FS_MODE_DEFAULT, true, NULL), 0);
    assert_int_equal(fs_mkdirs(b->fs, at(b, "d"), FS_MODE_DEFAULT, false, NULL), -EEXIST);
    put(b, "d/z", "12345");
    put(b, "d/a", "");
    assert_int_equal(symlink("nowhere", at(b, "d/link")), 0);
    assert_int_equal(fs_list_open(b->fs, at(b, "d"), &list, NULL), 0);
    while (fs_list_next(list, &e, NULL) > 0)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%d ", e->name, e->type);
    assert_string_equal(all, "a0 e1 link2 z0 ");
    list = fs_list_close(list);
    assert_int_equal(fs_list_open(b->fs, at(b, "d/z"), &list, NULL), 0);
    assert_int_equal(fs_list_next(list, &e, NULL), 1);
    assert_string_equal(e->path, at(b, "d/z"));
    assert_int_equal(fs_list_next(list, &e, NULL), 0);
    list = fs_list_close(list);
    assert_int_equal(fs_list_open_after(b->fs, at(b, "d"), "e", &list, NULL), 0);
    assert_int_equal(fs_list_next(list, &e, NULL), 1);
    assert_string_equal(e->name, "link");
    assert_int_equal(fs_summary(b->fs, at(b, "d"), &s, NULL), 0);
    assert_int_equal(s.dirs, 3);
    assert_int_equal(s.files, 3);
    assert_int_equal(s.length, 5);
    assert_int_equal(fs_delete(b->fs, at(b, "d"), false, NULL), -ENOTEMPTY);
    assert_int_equal(fs_delete(b->fs, at(b, "d"), true, NULL), 0);
    assert_int_equal(fs_delete(b->fs, at(b, "d"), true, NULL), -ENOENT);
}

static void directories_are_made_listed_and_removed(void **state)
{
    (void)state;
    with_bench(directories);
}

static void expect_glob(struct bench *b, const char *pattern, const char *want)
{
    AUTO_FS_ENTRIES found = { 0 };
    char all[200] = "";

    assert_int_equal(fs_glob(b->fs, at(b, pattern), &found, NULL), 0);
    for (size_t i = 0; i < found.n; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "",
                 found.v[i].path + strlen(b->dir) + 1);
    assert_string_equal(all, want);
}

static void globbing(struct bench *b)
{
    assert_int_equal(fs_mkdirs(b->fs, at(b, "x/deep"), FS_MODE_DEFAULT, true, NULL), 0);
    assert_int_equal(fs_mkdirs(b->fs, at(b, "y/deep"), FS_MODE_DEFAULT, true, NULL), 0);
    put(b, "x/deep/1", "");
    put(b, "y/deep/1", "");
    put(b, "y/deep/2", "");
    put(b, "st*r", "");
    put(b, "start", "");
    expect_glob(b, "*/deep/1", "x/deep/1 y/deep/1");
    expect_glob(b, "[xy]/*/?", "x/deep/1 y/deep/1 y/deep/2");
    expect_glob(b, "{x/deep,y}/*", "x/deep/1 y/deep");
    expect_glob(b, "{x,[x]}/deep", "x/deep");
    expect_glob(b, "st\\*r", "st*r");
    expect_glob(b, "st*r*", "st*r start");
    expect_glob(b, "start/*", "");
    expect_glob(b, "start/x", "");
    expect_glob(b, "none/*/x", "");
    expect_glob(b, "x", "x");
}

static void patterns_are_followed_through_directories(void **state)
{
    (void)state;
    with_bench(globbing);
}

/* ---- content ---- */

static void writing(struct bench *b)
{
    struct fs_create options = { .mode = 0600, .parents = true };
    AUTO_FS_WRITER *w = NULL;
    AUTO_FS_ENTRY e = { 0 };
    void *room;
    size_t n;

    assert_int_equal(fs_create(b->fs, at(b, "new/file"), &options, &w, NULL), 0);
    assert_int_equal(fs_write_room(w, &room, &n, NULL), 0);
    assert_true(n >= 4);
    memcpy(room, "abcd", 4);
    assert_int_equal(fs_write_commit(w, 4, NULL), 0);
    assert_int_equal(fs_hflush(w, NULL), 0);
    expect(b, "new/file", "abcd");
    assert_int_equal(fs_write(w, "ef", 2, NULL), 0);
    assert_int_equal(fs_close(take(w), NULL), 0);
    expect(b, "new/file", "abcdef");
    assert_int_equal(fs_stat(b->fs, at(b, "new/file"), &e, NULL), 0);
    assert_int_equal(e.mode, 0600);
    assert_int_equal(fs_create(b->fs, at(b, "new/file"), &options, &w, NULL), -EEXIST);
    options.overwrite = true;
    assert_int_equal(fs_create(b->fs, at(b, "new/file"), &options, &w, NULL), 0);
    w = fs_abort(w);
    assert_int_equal(fs_exists(b->fs, at(b, "new/file"), &e, NULL), 0);
    options.keep = true;
    assert_int_equal(fs_create(b->fs, at(b, "new/file"), &options, &w, NULL), 0);
    assert_int_equal(fs_write(w, "left", 4, NULL), 0);
    w = fs_abort(w);
    expect(b, "new/file", "left");
}

static void a_file_is_whole_or_not_there(void **state)
{
    (void)state;
    with_bench(writing);
}

static void replacing(struct bench *b)
{
    struct fs_create how = { .mode = 0640 };
    AUTO_FS_READER *reader = NULL;
    AUTO_FS_ENTRY e = { 0 };
    char got[8];

    assert_int_equal(fs_put(b->fs, at(b, "empty"), &how, NULL, 0, NULL), 0);
    expect(b, "empty", "");
    assert_int_equal(fs_put(b->fs, at(b, "empty"), &how, "x", 1, NULL), -EEXIST);
    assert_int_equal(fs_replace(b->fs, at(b, "f"), &how, "old", 3, NULL), 0);
    assert_int_equal(fs_replace(b->fs, at(b, "f"), &how, "new", 3, NULL), -EEXIST);
    assert_int_equal(fs_exists(b->fs, at(b, ".f.part"), &e, NULL), 0);
    expect(b, "f", "old");
    put(b, ".f.part", "of one that was killed");
    assert_int_equal(fs_open(b->fs, at(b, "f"), &reader, NULL), 0);
    how.overwrite = true;
    assert_int_equal(fs_replace(b->fs, at(b, "f"), &how, "new", 3, NULL), 0);
    expect(b, "f", "new");
    assert_int_equal(fs_pread(reader, 0, got, sizeof(got), NULL), 3);
    assert_memory_equal(got, "old", 3); /* who reads it has all of the one it opened */
    assert_int_equal(fs_stat(b->fs, at(b, "f"), &e, NULL), 0);
    assert_int_equal(e.mode, 0640);
}

static void a_small_file_is_replaced_at_once(void **state)
{
    (void)state;
    with_bench(replacing);
}

static void reading(struct bench *b)
{
    AUTO_FS_READER *r = NULL;
    const void *p;
    char got[8];

    put(b, "f", "0123456789");
    assert_int_equal(fs_open(b->fs, b->dir, &r, NULL), -EISDIR);
    assert_int_equal(fs_open(b->fs, at(b, "f"), &r, NULL), 0);
    assert_int_equal(fs_read(r, got, 3, NULL), 3);
    assert_memory_equal(got, "012", 3);
    assert_int_equal(fs_read_next(r, &p, 2, NULL), 2);
    assert_memory_equal(p, "34", 2);
    assert_int_equal(fs_pread(r, 8, got, 8, NULL), 2);
    assert_int_equal(fs_read_next(r, &p, 0, NULL), 5);
    assert_memory_equal(p, "56789", 5);
    assert_int_equal(fs_read(r, got, 8, NULL), 0);
    fs_seek(r, 9);
    assert_int_equal(fs_read(r, got, 8, NULL), 1);
    fs_seek(r, 99);
    assert_int_equal(fs_read(r, got, 8, NULL), 0);
    assert_false(fs_growing(r));
    assert_int_equal(fs_length(r), 10);
}

static void any_part_of_a_file_can_be_read(void **state)
{
    (void)state;
    with_bench(reading);
}

/* ---- pipes ---- */

#define PIECES 20

struct pipe_end {
    struct bench *b;
    int fd;
    size_t bytes;
};

/* Writes a little, waits, writes a little. */
static void drip(void *arg)
{
    struct pipe_end *p = arg;

    for (int i = 0; i < PIECES; i++) {
        assert_int_equal(write(p->fd, "drop", 4), 4);
        (void)fiber_sleep(p->b->loop, i % 4);
    }
    close(p->fd);
}

static int stop_at_40(void *arg, uint64_t done)
{
    *(uint64_t *)arg = done;
    return done >= 40 ? -ECANCELED : 0;
}

static void pipes_in(struct bench *b)
{
    const struct fs_create options = { .mode = FS_MODE_DEFAULT, .overwrite = true };
    AUTO_FS_WRITER *w = NULL;
    struct pipe_end p = { .b = b };
    AUTO_CLOSE int in = -1;
    uint64_t seen = 0;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    in = fds[0];
    p.fd = fds[1];
    assert_int_equal(fs_create(b->fs, at(b, "f"), &options, &w, NULL), 0);
    assert_int_equal(fiber_start(b->loop, drip, &p, NULL, NULL), 0);
    assert_int_equal(fs_copy_in(w, in, stop_at_40, &seen, NULL), -ECANCELED);
    assert_true(seen >= 40);
    assert_int_equal(fs_copy_in(w, in, NULL, NULL, NULL), 0);
    assert_int_equal(fs_written(w), 4 * PIECES);
    assert_int_equal(fcntl(in, F_GETFL) & O_NONBLOCK, 0); /* not ours to change */
    assert_int_equal(fs_close(take(w), NULL), 0);
}

static void a_slow_pipe_is_waited_for(void **state)
{
    (void)state;
    with_bench(pipes_in);
}

#define MANY 300000

/* Reads slowly what would not fit into a pipe at once. */
static void sip(void *arg)
{
    struct pipe_end *p = arg;
    char buffer[20000];
    ssize_t n;

    while ((n = read(p->fd, buffer, sizeof(buffer))) != 0) {
        if (n > 0)
            p->bytes += (size_t)n;
        (void)fiber_sleep(p->b->loop, 1);
    }
    close(p->fd);
    p->fd = -1;
}

static void pipes_out(struct bench *b)
{
    const struct fs_create options = { .mode = FS_MODE_DEFAULT };
    AUTO_FREE char *block = calloc(1, MANY);
    AUTO_FS_WRITER *w = NULL;
    AUTO_FS_READER *r = NULL;
    struct pipe_end p = { .b = b };
    int fds[2];

    assert_non_null(block);
    assert_int_equal(fs_create(b->fs, at(b, "f"), &options, &w, NULL), 0);
    assert_int_equal(fs_write(w, block, MANY, NULL), 0);
    assert_int_equal(fs_close(take(w), NULL), 0);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    p.fd = fds[0];
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0); /* for sip(), which is a fiber too */
    assert_int_equal(fiber_start(b->loop, sip, &p, NULL, NULL), 0);
    assert_int_equal(fs_open(b->fs, at(b, "f"), &r, NULL), 0);
    assert_int_equal(fs_copy_out(r, fds[1], NULL, NULL, NULL), 0);
    close(fds[1]);
    while (p.fd >= 0)
        (void)fiber_sleep(b->loop, 1);
    assert_int_equal(p.bytes, MANY);
}

static void a_full_pipe_holds_up_the_fiber_only(void **state)
{
    (void)state;
    with_bench(pipes_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_names_are_found_without_any_cluster),
        cmocka_unit_test(a_relative_name_is_in_the_working_directory),
        cmocka_unit_test(names_and_attributes_change_as_told),
        cmocka_unit_test(directories_are_made_listed_and_removed),
        cmocka_unit_test(patterns_are_followed_through_directories),
        cmocka_unit_test(a_file_is_whole_or_not_there),
        cmocka_unit_test(a_small_file_is_replaced_at_once),
        cmocka_unit_test(any_part_of_a_file_can_be_read),
        cmocka_unit_test(a_slow_pipe_is_waited_for),
        cmocka_unit_test(a_full_pipe_holds_up_the_fiber_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
