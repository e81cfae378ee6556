/* app_dirs_sweep_test.c - cleaning beside a command; see app_dirs_sweep.h */
#include "uploads/app_dirs_sweep.h"
#include "uploads/cache_testing.h"

static bool is_there(const struct bench *b, const char *app)
{
    AUTO_FREE char *name = str_printf("jobs/%s", app);
    AUTO_FREE char *path = name ? in(b->base, name) : NULL;

    assert_non_null(path);
    return access(path, F_OK) == 0;
}

static void make_two(const struct bench *b)
{
    put(b->base, "jobs/" APP "/key", "x");
    put(b->base, "jobs/" OTHER_APP "/key", "x");
    age(b->base, "jobs/" OTHER_APP);
}

/* What is left of an old directory when every application is said to be `state`. */
static void states(struct bench *b)
{
    static const struct {
        int state;
        bool stays;
    } rows[] = {
        { APP_DIRS_LIVES, true }, { APP_DIRS_UNKNOWN, true }, { -EACCES, true },
        { -ECONNREFUSED, true },  { APP_DIRS_ENDED, false },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct app_dirs_alive alive = bench_alive(b);
        AUTO_SWEEP *s = NULL;

        make_two(b);
        b->state = rows[i].state;
        s = app_dirs_sweep_begin(b->loop, b->fs, b->base, &alive);
        assert_non_null(s);
        assert_true(is_there(b, OTHER_APP)); /* it has not even begun */
        s = app_dirs_sweep_end(s);
        assert_int_equal(is_there(b, OTHER_APP), rows[i].stays);
        assert_int_equal(is_there(b, APP), rows[i].stays);
    }
}

static void only_what_is_known_to_have_ended_goes_unasked(void **state)
{
    with_bench(state, states);
}

static int never(void *user, const char *app, struct err *err)
{
    struct bench *b = user;
    int r = fiber_sleep(b->loop, 3600 * 1000);

    (void)app;
    return r < 0 ? err_set(err, r, "it took too long") : APP_DIRS_ENDED;
}

static void slow(struct bench *b)
{
    struct app_dirs_alive alive = { never, b };
    int64_t began = loop_now(b->loop);

    make_two(b);
    assert_null(app_dirs_sweep_end(NULL));
    assert_null(app_dirs_sweep_end(app_dirs_sweep_begin(b->loop, b->fs, b->base, &alive)));
    (void)fiber_yield(b->loop);
    assert_true(loop_now(b->loop) - began < SWEEP_WAIT_MS + 600000);
    assert_true(is_there(b, OTHER_APP));
}

static void a_server_that_is_silent_holds_nobody_up(void **state)
{
    with_bench(state, slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_is_known_to_have_ended_goes_unasked, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_server_that_is_silent_holds_nobody_up, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
