/* cache_prune_test.c - what may go, and what must stay; see cache.h */
#include "uploads/cache_testing.h"

#define LONG_AGO 1000 /* seconds since 1970 */

static void job_dir(const struct bench *b, const char *app)
{
    AUTO_FREE char *dir = str_printf("%s/jobs/%s", b->base, app);

    assert_non_null(dir);
    assert_int_equal(path_mkdirs(dir, 0700, NULL), 0);
}

/* How many entries would go, or do. */
static size_t pruned(struct bench *b, int64_t before, bool dry)
{
    AUTO_CACHE *c = bench_cache(b);
    AUTO_CACHE_ENTRIES gone = { 0 };
    struct app_dirs_alive alive = bench_alive(b);
    struct err err = ERR_INIT;

    assert_int_equal(cache_prune(c, &alive, before, dry, &gone, &err), 0);
    return gone.n;
}

static size_t listed(struct bench *b, struct cache_entries *ret)
{
    AUTO_CACHE *c = bench_cache(b);
    struct app_dirs_alive alive = bench_alive(b);

    assert_int_equal(cache_list(c, &alive, ret, NULL), 0);
    return ret->n;
}

static void put_old(struct bench *b, const char *name, struct cache_files *ret)
{
    put(b->work, name, name);
    assert_int_equal(put_one(b, name, ret, NULL), 0);
    set_used(b, &ret->v[0], LONG_AGO);
}

static void by_age(struct bench *b)
{
    AUTO_CACHE_FILES old = { 0 }, young = { 0 };
    AUTO_CACHE_ENTRIES left = { 0 };

    put_old(b, "old", &old);
    put(b->work, "young", "young");
    assert_int_equal(put_one(b, "young", &young, NULL), 0);
    assert_int_equal(pruned(b, (LONG_AGO + 1) * 1000, true), 1);
    assert_int_equal(pruned(b, (LONG_AGO + 1) * 1000, false), 1);
    assert_int_equal(listed(b, &left), 1);
    assert_string_equal(left.v[0].name, "young");
    assert_int_equal(left.v[0].size, 5);
    assert_int_equal(pruned(b, INT64_MAX, false), 1);
    assert_int_equal(pruned(b, INT64_MAX, false), 0);
}

static void what_was_not_used_for_long_goes(void **state)
{
    with_bench(state, by_age);
}

static void in_use(struct bench *b)
{
    AUTO_CACHE *c = bench_cache(b);
    AUTO_CACHE_FILES one = { 0 }, two = { 0 };
    AUTO_CACHE_ENTRIES all = { 0 };

    put_old(b, "one", &one);
    put_old(b, "two", &two);
    job_dir(b, APP);
    assert_int_equal(cache_use(c, APP, &one, NULL), 0);
    assert_int_equal(listed(b, &all), 2);
    for (size_t i = 0; i < all.n; i++)
        assert_int_equal(all.v[i].users.n, str_eq(all.v[i].name, "one"));
    assert_int_equal(pruned(b, INT64_MAX, false), 1);
    assert_int_equal(pruned(b, INT64_MAX, false), 0);
    b->state = APP_DIRS_ENDED;
    assert_int_equal(pruned(b, INT64_MAX, false), 1);
}

static void what_a_living_application_uses_stays(void **state)
{
    with_bench(state, in_use);
}

static void submit(struct bench *b)
{
    AUTO_CACHE_FILES old = { 0 }, young = { 0 };

    put_old(b, "old", &old);
    put(b->work, "young", "young");
    assert_int_equal(put_one(b, "young", &young, NULL), 0);
    job_dir(b, APP); /* and does not say yet what it uses */
    b->state = APP_DIRS_UNKNOWN;
    assert_int_equal(pruned(b, INT64_MAX, false), 1);
    assert_int_equal(pruned(b, INT64_MAX, false), 0);
}

static void what_a_submit_under_way_may_count_on_stays(void **state)
{
    with_bench(state, submit);
}

static void unsure(struct bench *b)
{
    AUTO_CACHE *c = bench_cache(b);
    AUTO_CACHE_FILES old = { 0 };
    AUTO_CACHE_ENTRIES gone = { 0 };
    struct app_dirs_alive alive = bench_alive(b);
    struct err err = ERR_INIT;

    put_old(b, "old", &old);
    job_dir(b, APP);
    b->state = -ECONNREFUSED;
    assert_int_equal(cache_prune(c, &alive, INT64_MAX, false, &gone, &err), -ECONNREFUSED);
    assert_string_equal(err.text, "nobody answers");
    assert_int_equal(gone.n, 0);
}

static void nothing_goes_while_nobody_knows_what_lives(void **state)
{
    with_bench(state, unsure);
}

static void empty(struct bench *b)
{
    AUTO_CACHE_ENTRIES all = { 0 };
    AUTO_FREE char *strange = in(b->base, "cache/not-a-hash");

    assert_int_equal(listed(b, &all), 0);
    assert_int_equal(path_mkdirs(strange, 0700, NULL), 0);
    assert_int_equal(pruned(b, INT64_MAX, false), 0);
    assert_int_equal(access(strange, F_OK), 0);
}

static void a_cache_that_is_not_there_is_empty(void **state)
{
    with_bench(state, empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_not_used_for_long_goes, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_a_living_application_uses_stays, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_a_submit_under_way_may_count_on_stays, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(nothing_goes_while_nobody_knows_what_lives, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_cache_that_is_not_there_is_empty, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
