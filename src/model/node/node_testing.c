/* node_testing.c - see node_testing.h. */
#include "model/node/node_testing.h"
#include "base/path.h"
#include "hadoop/session/session.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

char *world_path(const struct world *w, const char *below)
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

int world_set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    if (!w || !test_dir(w->top, "node_cache") || loop_new(&w->loop, NULL) < 0)
        return -1;
    w->registry = world_path(w, "registry");
    if (strs_take(&w->dirs, world_path(w, "one")) < 0 ||
        strs_take(&w->dirs, world_path(w, "two")) < 0)
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

void world_drop(struct node_cache_got *got)
{
    if (got->lock >= 0)
        close(got->lock);
    free(got->path);
    *got = (struct node_cache_got){ .lock = -1 };
}

int world_tear_down(void **state)
{
    struct world *w = *state;

    world_drop(&w->got);
    world_drop(&w->got2);
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

int world_get(struct world *w)
{
    world_drop(&w->got);
    w->err = (struct err)ERR_INIT;
    w->seen = 0;
    return loop_run(w->loop, get_work, w, false);
}

char world_first_byte(const struct world *w)
{
    AUTO_FREE char *a = path_join(w->got.path, "model/a.bin");
    char c = 0;
    AUTO_CLOSE int fd = open(a, O_RDONLY | O_CLOEXEC);

    assert_int_equal(read(fd, &c, 1), 1);
    return c;
}

size_t world_names(const struct world *w, size_t dir)
{
    AUTO_FREE char *models = path_join(w->dirs.v[dir], "models");
    AUTO_DIR DIR *d = opendir(models);
    const struct dirent *e;
    size_t n = 0;

    while (d && (e = readdir(d)))
        n += *e->d_name != '.' && !str_ends(e->d_name, ".lock");
    return n;
}

char *world_lock(const struct world *w, int version)
{
    char *path = str_printf("%s/models/%s.lock", w->dirs.v[0], w->hash[version]);

    assert_non_null(path);
    return path;
}
