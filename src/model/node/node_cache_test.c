/* node_cache_test.c - versions are fetched and found; see node_cache.h. */
#include "base/path.h"
#include "loop/fiber.h"
#include "model/node/node_testing.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void a_version_is_fetched_once_and_then_found_without_its_registry(void **state)
{
    struct world *w = *state;
    struct stat st;

    assert_int_equal(world_get(w), 0);
    assert_true(w->got.fetched);
    assert_int_equal(w->seen, BYTES + 1);
    assert_int_equal(world_first_byte(w), 'b');
    assert_int_equal(world_names(w, 0), 1);
    assert_int_equal(stat(w->got.path, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
    assert_int_equal(world_get(w), 0); /* by the registry's manifest */
    assert_false(w->got.fetched);
    assert_int_equal(path_remove(w->registry, NULL), 0);
    w->want.hash = w->hash[1];
    assert_int_equal(world_get(w), 0);
    assert_false(w->got.fetched);
    w->want.check_all = true;
    assert_int_equal(world_get(w), 0);
    w->want.hash = w->hash[2];
    w->want.version = 2;
    assert_int_equal(world_get(w), -ENOENT);
    assert_int_equal(world_names(w, 0), 1);
}

/* A byte of another value; returns when the file's inode has a later time than the manifest's,
 * which takes as long as the kernel's clock ticks. */
static void damage(const struct world *w, const char *file)
{
    AUTO_FREE char *path = path_join(w->got.path, file);
    AUTO_FREE char *manifest = path_join(w->got.path, "MANIFEST.json");
    struct stat before, now;
    AUTO_CLOSE int fd = -1;

    assert_int_equal(stat(manifest, &before), 0);
    assert_int_equal(chmod(path, 0600), 0);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    do {
        assert_int_equal(pwrite(fd, "!", 1, 0), 1);
        assert_int_equal(fstat(fd, &now), 0);
    } while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
             now.st_ctim.tv_nsec == before.st_ctim.tv_nsec && !str_eq(file, "MANIFEST.json"));
}

static void what_was_changed_or_cut_is_fetched_again(void **state)
{
    struct world *w = *state;
    static const char *const files[] = { "model/a.bin", "model/sub/b", "MANIFEST.json" };

    assert_int_equal(world_get(w), 0);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        for (int how = 0; how < 4; how++) {
            AUTO_FREE char *path = path_join(w->got.path, files[i]);

            damage(w, files[i]);
            if (how == 1)
                assert_int_equal(truncate(path, 0), 0);
            else if (how > 1)
                assert_int_equal(unlink(path), 0);
            if (how == 3)
                assert_int_equal(symlink("/etc/passwd", path), 0);
            assert_int_equal(world_get(w), 0);
            assert_true(w->got.fetched);
            assert_int_equal(world_first_byte(w), 'b');
            assert_int_equal(world_names(w, 0), 1);
        }
    }
}

static void bytes_that_went_bad_without_a_trace_are_found_when_asked_for(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *manifest = NULL;

    assert_int_equal(world_get(w), 0);
    manifest = path_join(w->got.path, "MANIFEST.json");
    damage(w, "model/a.bin");
    assert_int_equal(chmod(manifest, 0600), 0); /* its inode is the younger one now */
    assert_int_equal(world_get(w), 0);
    assert_false(w->got.fetched);
    assert_int_equal(world_first_byte(w), '!');
    w->want.check_all = true;
    assert_int_equal(world_get(w), 0);
    assert_true(w->got.fetched);
    assert_int_equal(world_first_byte(w), 'b');
}

struct pair {
    struct world *w;
    size_t fetched;
};

static int get_one_of_two(void *arg, struct err *err)
{
    struct pair *p = arg;
    struct node_cache_got got = { .lock = -1 };
    int r = node_cache_get(p->w->loop, &p->w->want, &got, err);

    p->fetched += got.fetched;
    world_drop(&got);
    return r;
}

static int get_eight(void *arg)
{
    struct pair *p = arg;
    struct group g;
    int r = 0;

    group_init(&g, p->w->loop, 0);
    for (int i = 0; i < 8 && r == 0; i++)
        r = group_go(&g, get_one_of_two, p, &p->w->err);
    return group_wait(&g, &p->w->err) < 0 ? -EIO : r;
}

static void of_several_that_start_together_one_fetches(void **state)
{
    struct pair p = { .w = *state };

    p.w->want.hash = p.w->hash[1];
    assert_int_equal(loop_run(p.w->loop, get_eight, &p, false), 0);
    assert_int_equal(p.fetched, 1);
    assert_int_equal(world_names(p.w, 0), 1);
}

static void what_a_killed_fetch_left_is_not_used(void **state)
{
    struct world *w = *state;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        w->die = true;
        (void)world_get(w);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(world_names(w, 0), 1); /* all bytes, and no name of its own */
    assert_int_equal(world_get(w), 0);
    assert_true(w->got.fetched);
    assert_int_equal(world_names(w, 0), 1);
}

static void files_that_are_not_what_the_manifest_says_are_refused(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *path = str_printf("%s/m/versions/1/model/a.bin", w->registry);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, "!", 1, BYTES / 2), 1);
    assert_int_equal(world_get(w), -EBADMSG);
    assert_non_null(strstr(w->err.text, "fetch 'model/a.bin' of m:1"));
    assert_int_equal(world_names(w, 0), 0);
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_int_equal(world_get(w), -EBADMSG);
    w->want.hash = w->hash[2]; /* of another version */
    assert_int_equal(world_get(w), -ESTALE);
    w->want.hash = "../../etc";
    assert_int_equal(world_get(w), -EINVAL);
    assert_int_equal(world_names(w, 0), 0);
}

static void a_directory_that_others_can_touch_is_not_used(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *models = world_path(w, "one/models");

    assert_int_equal(path_mkdirs(models, 0755, NULL), 0);
    assert_int_equal(chmod(models, 0755), 0);
    assert_int_equal(world_get(w), 0);
    assert_true(str_starts(w->got.path, w->dirs.v[1]));
    assert_int_equal(rmdir(models), 0);
    assert_int_equal(symlink("/tmp", models), 0);
    w->want.version = 2;
    assert_int_equal(world_get(w), 0);
    assert_true(str_starts(w->got.path, w->dirs.v[1]));
    assert_int_equal(path_remove(w->dirs.v[1], NULL), 0);
    assert_int_equal(path_write_new(w->dirs.v[1], "", 0, 0600, NULL), 0);
    assert_int_equal(world_get(w), -ENOTDIR);
}

/* As with a disk that can only be read any more. */
static void a_version_that_cannot_be_locked_is_fetched_to_another_directory(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *lock = world_lock(w, 1);

    assert_int_equal(world_get(w), 0);
    world_drop(&w->got);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(symlink("/dev/null", lock), 0);
    w->want.hash = w->hash[1];
    assert_int_equal(world_get(w), 0);
    assert_true(w->got.fetched && str_starts(w->got.path, w->dirs.v[1]));
    assert_int_equal(w->err.code, 0);
}

static void a_directory_that_cannot_be_made_is_passed_over(void **state)
{
    struct world *w = *state;

    assert_int_equal(symlink("one", w->dirs.v[0]), 0);
    assert_int_equal(world_get(w), 0);
    assert_true(w->got.fetched && str_starts(w->got.path, w->dirs.v[1]));
    assert_int_equal(path_remove(w->dirs.v[1], NULL), 0);
    world_drop(&w->got);
    assert_int_equal(symlink("two", w->dirs.v[1]), 0);
    assert_int_equal(world_get(w), -ELOOP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_version_is_fetched_once_and_then_found_without_its_registry),
        WORLD_TEST(what_was_changed_or_cut_is_fetched_again),
        WORLD_TEST(bytes_that_went_bad_without_a_trace_are_found_when_asked_for),
        WORLD_TEST(of_several_that_start_together_one_fetches),
        WORLD_TEST(what_a_killed_fetch_left_is_not_used),
        WORLD_TEST(files_that_are_not_what_the_manifest_says_are_refused),
        WORLD_TEST(a_directory_that_others_can_touch_is_not_used),
        WORLD_TEST(a_version_that_cannot_be_locked_is_fetched_to_another_directory),
        WORLD_TEST(a_directory_that_cannot_be_made_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
