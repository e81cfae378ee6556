/* node_cache_test.c - a node's cache, with a registry on this machine in the place of HDFS: it is
 * read by the same calls. */
#include "base/path.h"
#include "hadoop/session/session.h"
#include "loop/fiber.h"
#include "model/manifest.h"
#include "model/node/node_cache.h"
#include "model/node/node_lock.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define BYTES 300000

struct world {
    struct loop *loop;
    char top[TEST_PATH];
    char *registry;
    struct strs dirs;          /* two */
    char hash[3][SHA256_TEXT]; /* of versions 1 and 2 */
    /* of one call */
    struct node_cache_want want;
    struct node_cache_got got, got2;
    struct err err;
    uint64_t seen;
    bool die;
};

static char *in(const struct world *w, const char *below)
{
    char *path = path_join(w->top, below);

    assert_non_null(path);
    return path;
}

static void hash(const void *p, size_t n, char ret[SHA256_TEXT])
{
    AUTO_SHA256 *sha = NULL;

    assert_int_equal(sha256_new(&sha, NULL), 0);
    assert_int_equal(sha256_add(sha, p, n, NULL), 0);
    assert_int_equal(sha256_end(sha, ret, NULL), 0);
}

/* m:VERSION with two files. */
static void publish(struct world *w, int version)
{
    AUTO_FREE char *dir = str_printf("%s/m/versions/%d", w->registry, version);
    AUTO_FREE char *model = dir ? path_join(dir, "model/sub") : NULL;
    AUTO_FREE char *a = dir ? path_join(dir, "model/a.bin") : NULL;
    AUTO_FREE char *b = model ? path_join(model, "b") : NULL;
    AUTO_FREE char *to = dir ? path_join(dir, "MANIFEST.json") : NULL;
    AUTO_FREE char *bytes = malloc(BYTES);
    AUTO_FREE char *text = NULL;
    struct manifest_file files[] = { { .path = "model/a.bin", .size = BYTES },
                                     { .path = "model/sub/b", .size = 1, .executable = true } };
    const struct manifest_facts facts = { .id = "x",
                                          .name = "m",
                                          .format = "python",
                                          .entry = "",
                                          .created_by = "ada",
                                          .version = version,
                                          .created_ms = 1,
                                          .files = files,
                                          .n = 2 };

    assert_true(to && b && a && bytes);
    memset(bytes, 'a' + version, BYTES);
    hash(bytes, BYTES, files[0].sha256);
    hash("b", 1, files[1].sha256);
    assert_int_equal(path_mkdirs(model, 0755, NULL), 0);
    assert_int_equal(path_write_new(a, bytes, BYTES, 0644, NULL), 0);
    assert_int_equal(path_write_new(b, "b", 1, 0755, NULL), 0);
    assert_int_equal(manifest_text(&facts, &text, &w->err), 0);
    assert_int_equal(path_write_new(to, text, strlen(text), 0644, NULL), 0);
    hash(text, strlen(text), w->hash[version]);
}

static int connect_here(void *user, struct session **ret, struct err *err)
{
    (void)user;
    (void)err;
    *ret = NULL; /* local files only */
    return 0;
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
    struct world *w = user;

    assert_true(done <= total);
    w->seen = done;
    if (w->die && done > 0)
        (void)kill(getpid(), SIGKILL);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    if (!w || !test_dir(w->top, "node_cache") || loop_new(&w->loop, NULL) < 0)
        return -1;
    w->registry = in(w, "registry");
    if (strs_take(&w->dirs, in(w, "one")) < 0 || strs_take(&w->dirs, in(w, "two")) < 0)
        return -1;
    publish(w, 1);
    publish(w, 2);
    w->want = (struct node_cache_want){ .dirs = &w->dirs,
                                        .limit = 1 << 30,
                                        .registry = w->registry,
                                        .model = "m",
                                        .version = 1,
                                        .connect = connect_here,
                                        .on_progress = on_progress,
                                        .user = w };
    w->got.lock = w->got2.lock = -1;
    *state = w;
    return 0;
}

static void drop(struct node_cache_got *got)
{
    if (got->lock >= 0)
        close(got->lock);
    free(got->path);
    *got = (struct node_cache_got){ .lock = -1 };
}

static int tear_down(void **state)
{
    struct world *w = *state;

    drop(&w->got);
    drop(&w->got2);
    loop_free(w->loop);
    free(w->registry);
    strs_done(&w->dirs);
    (void)path_remove(w->top, NULL);
    free(w);
    return 0;
}

static int get_work(void *arg)
{
    struct world *w = arg;

    return node_cache_get(w->loop, &w->want, &w->got, &w->err);
}

/* Another call, which gives back what the last one got. */
static int get(struct world *w)
{
    drop(&w->got);
    w->err = (struct err)ERR_INIT;
    w->seen = 0;
    return loop_run(w->loop, get_work, w, false);
}

static char first_byte(const struct world *w)
{
    AUTO_FREE char *a = path_join(w->got.path, "model/a.bin");
    char c = 0;
    AUTO_CLOSE int fd = open(a, O_RDONLY | O_CLOEXEC);

    assert_int_equal(read(fd, &c, 1), 1);
    return c;
}

/* What is in DIR/models, without locks. */
static size_t names(const struct world *w, size_t dir)
{
    AUTO_FREE char *models = path_join(w->dirs.v[dir], "models");
    AUTO_DIR DIR *d = opendir(models);
    const struct dirent *e;
    size_t n = 0;

    while (d && (e = readdir(d)))
        n += *e->d_name != '.' && !str_ends(e->d_name, ".lock");
    return n;
}

/* ---- */

static void a_version_is_fetched_once_and_then_found_without_its_registry(void **state)
{
    struct world *w = *state;
    struct stat st;

    assert_int_equal(get(w), 0);
    assert_true(w->got.fetched);
    assert_int_equal(w->seen, BYTES + 1);
    assert_int_equal(first_byte(w), 'b');
    assert_int_equal(names(w, 0), 1);
    assert_int_equal(stat(w->got.path, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
    assert_int_equal(get(w), 0); /* by the registry's manifest */
    assert_false(w->got.fetched);
    assert_int_equal(path_remove(w->registry, NULL), 0);
    w->want.hash = w->hash[1];
    assert_int_equal(get(w), 0);
    assert_false(w->got.fetched);
    w->want.check_all = true;
    assert_int_equal(get(w), 0);
    w->want.hash = w->hash[2];
    w->want.version = 2;
    assert_int_equal(get(w), -ENOENT);
    assert_int_equal(names(w, 0), 1);
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

    assert_int_equal(get(w), 0);
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
            assert_int_equal(get(w), 0);
            assert_true(w->got.fetched);
            assert_int_equal(first_byte(w), 'b');
            assert_int_equal(names(w, 0), 1);
        }
    }
}

static void bytes_that_went_bad_without_a_trace_are_found_when_asked_for(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *manifest = NULL;

    assert_int_equal(get(w), 0);
    manifest = path_join(w->got.path, "MANIFEST.json");
    damage(w, "model/a.bin");
    assert_int_equal(chmod(manifest, 0600), 0); /* its inode is the younger one now */
    assert_int_equal(get(w), 0);
    assert_false(w->got.fetched);
    assert_int_equal(first_byte(w), '!');
    w->want.check_all = true;
    assert_int_equal(get(w), 0);
    assert_true(w->got.fetched);
    assert_int_equal(first_byte(w), 'b');
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
    drop(&got);
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
    assert_int_equal(names(p.w, 0), 1);
}

static void what_a_killed_fetch_left_is_not_used(void **state)
{
    struct world *w = *state;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        w->die = true;
        (void)get(w);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(names(w, 0), 1); /* all bytes, and no name of its own */
    assert_int_equal(get(w), 0);
    assert_true(w->got.fetched);
    assert_int_equal(names(w, 0), 1);
}

static void files_that_are_not_what_the_manifest_says_are_refused(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *path = str_printf("%s/m/versions/1/model/a.bin", w->registry);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, "!", 1, BYTES / 2), 1);
    assert_int_equal(get(w), -EBADMSG);
    assert_non_null(strstr(w->err.text, "fetch 'model/a.bin' of m:1"));
    assert_int_equal(names(w, 0), 0);
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_int_equal(get(w), -EBADMSG);
    w->want.hash = w->hash[2]; /* of another version */
    assert_int_equal(get(w), -ESTALE);
    w->want.hash = "../../etc";
    assert_int_equal(get(w), -EINVAL);
    assert_int_equal(names(w, 0), 0);
}

static void a_directory_that_others_can_touch_is_not_used(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *models = in(w, "one/models");

    assert_int_equal(path_mkdirs(models, 0755, NULL), 0);
    assert_int_equal(chmod(models, 0755), 0);
    assert_int_equal(get(w), 0);
    assert_true(str_starts(w->got.path, w->dirs.v[1]));
    assert_int_equal(rmdir(models), 0);
    assert_int_equal(symlink("/tmp", models), 0);
    w->want.version = 2;
    assert_int_equal(get(w), 0);
    assert_true(str_starts(w->got.path, w->dirs.v[1]));
    assert_int_equal(path_remove(w->dirs.v[1], NULL), 0);
    assert_int_equal(path_write_new(w->dirs.v[1], "", 0, 0600, NULL), 0);
    assert_int_equal(get(w), -ENOTDIR);
}

static void unused_versions_are_removed_and_the_oldest_first(void **state)
{
    struct world *w = *state;
    struct node_cache_prune how = { .keep = BYTES + 1, .before = INT64_MAX };
    AUTO_NODE_CACHE_ENTRIES all = { 0 };
    AUTO_NODE_CACHE_ENTRIES gone = { 0 };
    struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

    assert_int_equal(get(w), 0);
    assert_int_equal(futimens(w->got.lock, long_ago), 0);
    w->got2 = w->got; /* stays in use */
    w->got = (struct node_cache_got){ .lock = -1 };
    w->want.version = 2;
    assert_int_equal(get(w), 0);
    drop(&w->got);
    assert_int_equal(node_cache_list(w->dirs.v[0], &all, &w->err), 0);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.v[0].version, 2);
    assert_string_equal(all.v[1].model, "m");
    assert_true(all.v[1].in_use && !all.v[0].in_use);
    assert_int_equal(all.v[1].used_ms, 1000000);
    how.dry = true;
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), 0);
    assert_int_equal(gone.n, 1);
    assert_int_equal(names(w, 0), 2);
    node_cache_entries_done(&gone);
    how.dry = false;
    drop(&w->got2); /* now the older one can go */
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), 0);
    assert_int_equal(gone.n, 1);
    assert_int_equal(gone.v[0].version, 1);
    assert_int_equal(names(w, 0), 1);
    how = (struct node_cache_prune){ .before = 5000 }; /* long ago */
    node_cache_entries_done(&gone);
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), 0);
    assert_int_equal(gone.n, 0);
    w->want.limit = 1;
    w->want.version = 1;
    assert_int_equal(get(w), 0); /* more than the limit, and the other one goes */
    assert_int_equal(names(w, 0), 1);
    assert_int_equal(node_cache_prune(w->dirs.v[1], &how, &gone, &w->err), 0); /* not there */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_version_is_fetched_once_and_then_found_without_its_registry),
        CASE(what_was_changed_or_cut_is_fetched_again),
        CASE(bytes_that_went_bad_without_a_trace_are_found_when_asked_for),
        CASE(of_several_that_start_together_one_fetches),
        CASE(what_a_killed_fetch_left_is_not_used),
        CASE(files_that_are_not_what_the_manifest_says_are_refused),
        CASE(a_directory_that_others_can_touch_is_not_used),
        CASE(unused_versions_are_removed_and_the_oldest_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
