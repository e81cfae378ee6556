/* models_output_test.c - a job's own version is found again, and nobody else's is taken for it */
#include "base/path.h"
#include "loop/fiber.h"
#include "model/publish.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOB "application_1_0001"

struct world {
    struct loop *loop;
    struct models r;
    char *dir, *model;
};

static int64_t publish_as(const struct world *w, const char *job, bool output)
{
    const struct model_publish what = {
        .name = "m", .path = w->model, .job = job, .output = output, .quiet = true
    };
    AUTO_MODEL_PUBLISHED p = { 0 };

    assert_int_equal(model_publish(&w->r, &what, &p, NULL), 0);
    return p.manifest.version;
}

/* The version that is JOB's output; 0: none. */
static int64_t find(const struct world *w, int64_t since)
{
    AUTO_MANIFEST m = { 0 };
    struct err err = ERR_INIT;
    int r = models_output(&w->r, "m", JOB, since, &m, &err);

    assert_true(r >= 0 && err.code == 0);
    return r ? m.version : 0;
}

static void spoil(const struct world *w, const char *version)
{
    AUTO_FREE char *dir = str_printf("%s/m/versions/%s", w->r.root, version);
    AUTO_FREE char *file = str_printf("%s/MANIFEST.json", dir);

    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(truncate(file, 3), 0);
}

static int output_run(void *arg)
{
    struct world *w = arg;
    int64_t now = loop_wall(), day = 86400000;

    assert_int_equal(find(w, now), 0); /* there is no such model */
    assert_int_equal(publish_as(w, JOB, false), 1);
    assert_int_equal(find(w, now), 0); /* its script pushed that one */
    assert_int_equal(publish_as(w, "application_1_0002", true), 2);
    assert_int_equal(find(w, now), 0);
    assert_int_equal(publish_as(w, JOB, true), 3);
    assert_int_equal(publish_as(w, "application_1_0002", true), 4);
    assert_int_equal(find(w, now), 3);
    assert_int_equal(find(w, now + day / 2), 3); /* clocks differ */
    spoil(w, "4");
    assert_int_equal(find(w, now), 3);
    spoil(w, "3");
    assert_int_equal(find(w, now), 0);
    assert_int_equal(publish_as(w, "application_1_0002", true), 5);
    assert_int_equal(publish_as(w, JOB, true), 6);
    assert_int_equal(publish_as(w, "application_1_0003", true), 7);
    assert_int_equal(find(w, now + 2 * day), 0); /* all are older than the job */
    return 0;
}

static int in_a_fiber(void *arg)
{
    struct world *w = arg;
    struct fs_set *set = NULL;
    AUTO_FREE char *registry = path_join(w->dir, "registry");
    int r;

    assert_int_equal(fs_set_new(w->loop, NULL, &set, NULL), 0);
    assert_int_equal(models_open(w->loop, set, registry, &w->r, NULL), 0);
    r = output_run(w);
    assert_int_equal(path_remove(registry, NULL), 0);
    models_done(&w->r);
    fs_set_free(set);
    return r;
}

static void a_jobs_output_is_found_again(void **state)
{
    char dir[] = "/tmp/ydl-output-XXXXXX";
    struct world w = { .dir = mkdtemp(dir) };
    AUTO_FREE char *model = path_join(dir, "model");
    AUTO_FREE char *file = path_join(model, "model.py");
    static const char text[] = "def load(dir):\n    return 1\n\ndef predict(x):\n    return x\n";

    (void)state;
    w.model = model;
    assert_int_equal(mkdir(model, 0755), 0);
    assert_int_equal(path_write_new(file, text, strlen(text), 0644, NULL), 0);
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    assert_int_equal(loop_run(w.loop, in_a_fiber, &w, false), 0);
    loop_free(w.loop);
    assert_int_equal(path_remove(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jobs_output_is_found_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
