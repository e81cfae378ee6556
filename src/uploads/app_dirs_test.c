/* app_dirs_test.c - directories of applications that have ended; see app_dirs.h */
#include "uploads/app_dirs.h"
#include "uploads/cache_testing.h"

/* What exists of the three: "app other foreign". */
static void expect(const struct bench *b, bool app, bool other, bool foreign)
{
    const struct {
        const char *name;
        bool there;
    } rows[] = { { "jobs/" APP, app }, { "jobs/" OTHER_APP, other }, { "jobs/mine", foreign } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *path = in(b->base, rows[i].name);

        assert_non_null(path);
        assert_int_equal(access(path, F_OK) == 0, rows[i].there);
    }
}

static void make_three(const struct bench *b)
{
    put(b->base, "jobs/" APP "/key", "x");
    put(b->base, "jobs/" OTHER_APP "/key", "x");
    put(b->base, "jobs/mine/key", "x");
    age(b->base, "jobs/" OTHER_APP);
}

static size_t sweep(struct bench *b, int want)
{
    struct app_dirs_alive alive = bench_alive(b);
    struct err err = ERR_INIT;
    size_t n = 0;

    assert_int_equal(app_dirs_sweep(b->fs, b->base, &alive, &n, &err), want);
    return n;
}

static void sweeping(struct bench *b)
{
    assert_int_equal(sweep(b, 0), 0); /* there is nothing at all */
    make_three(b);
    assert_int_equal(sweep(b, 0), 0); /* all live */
    b->state = -EACCES;
    assert_int_equal(sweep(b, 0), 0); /* nobody knows */
    b->state = -ECONNREFUSED;
    assert_int_equal(sweep(b, -ECONNREFUSED), 0);
    b->state = APP_DIRS_UNKNOWN; /* the one that is new may be about to be submitted */
    expect(b, true, true, true);
    assert_int_equal(sweep(b, 0), 1);
    expect(b, true, false, true);
    b->state = APP_DIRS_ENDED;
    assert_int_equal(sweep(b, 0), 1);
    expect(b, false, false, true);
}

static void only_what_has_ended_is_swept(void **state)
{
    with_bench(state, sweeping);
}

static void uses(struct bench *b)
{
    struct app_dirs_alive alive = bench_alive(b);
    AUTO_CACHE *c = bench_cache(b);
    char key[] = "aa/b", other[] = "cc/d";
    struct cache_file files[] = { { .key = key }, { .url = other }, { .key = other } };
    struct cache_files list = { files, COUNT_OF(files) };
    AUTO_APP_DIRS jobs = { 0 };

    make_three(b);
    assert_int_equal(cache_use(c, APP, &list, NULL), 0);
    assert_int_equal(app_dirs(b->fs, b->base, &alive, &jobs, NULL), 0);
    assert_int_equal(jobs.n, 2);
    for (size_t i = 0; i < jobs.n; i++) {
        bool said = str_eq(jobs.v[i].app, APP);

        assert_int_equal(jobs.v[i].settled, said);
        assert_int_equal(jobs.v[i].uses.n, said ? 2 : 0);
        assert_int_equal(strs_has(&jobs.v[i].uses, "cc/d"), said);
    }
}

static void an_application_says_what_it_uses(void **state)
{
    with_bench(state, uses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_has_ended_is_swept, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(an_application_says_what_it_uses, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
