/* drive_alone_test.c - who tells the end of a job, when the ResourceManager does not answer: this
 * master, attempt 2, or one that has taken its place. HDFS is a directory here. */
#include "master/drive_testing.h"
#include "master/yarn/rival.h"

static int64_t silence; /* of the ResourceManager, ms */

static int64_t silence_of(struct platform *p)
{
    (void)p;
    return silence;
}

static const struct platform_ops mute = {
    .name = "test", .apart = true, .ask = no_ask, .release = no_release, .silence = silence_of
};

static void write_newest(struct desk *d, int attempt)
{
    AUTO_FREE char *path = path_join(d->dir, "master.json");
    AUTO_FREE char *text = str_printf("{\"attempt\": %d}", attempt);

    assert_non_null(path);
    assert_non_null(text);
    assert_int_equal(path_write(path, text, strlen(text), 0600, NULL), 0);
}

static bool log_has(struct desk *d, const char *what)
{
    AUTO_FREE char *path = path_join(d->dir, "events.jsonl");
    AUTO_BUF text = { .max = MIB };

    assert_non_null(path);
    assert_int_equal(path_read(path, &text, NULL), 0);
    return memmem(text.data, text.len, what, strlen(what)) != NULL;
}

/* Until the driver has nothing left to do for the job but to tell its end. */
static void await_last_but_end(struct desk *d)
{
    int64_t until = loop_in(d->loop, TEST_MS);

    while (!log_has(d, "\"state\":\"KILLED\"")) {
        assert_true(loop_now(d->loop) < until);
        assert_int_equal(fiber_sleep(d->loop, 5), 0);
    }
    assert_int_equal(fiber_sleep(d->loop, 50), 0);
    assert_false(log_has(d, "\"event\":\"end\""));
}

static void run_rival_watch(void *arg)
{
    struct desk *d = arg;

    rival_watch(&d->m);
    d->hdfs_away = true; /* nobody looks there any more */
}

static void end_alone(struct desk *d, int expected)
{
    struct master_container container = { .attempt = 2, .jobs = d->dir };
    struct platform platform = { .ops = &mute };
    struct err err = ERR_INIT;
    AUTO_FREE char *path = NULL;

    silence = 60000;
    assert_int_equal(fs_set_new(d->loop, NULL, &container.set, NULL), 0);
    assert_int_equal(fs_find(container.set, d->dir, FS_ON_LOCAL, &container.fs, &path, NULL), 0);
    be_on_yarn(d, &container);
    d->m.platform = &platform;
    assert_int_equal(engine_start(d->m.engine, master_now(&d->m), NULL), 0);
    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    assert_int_equal(fiber_start(d->loop, run_rival_watch, d, NULL, NULL), 0);
    if (d->later)
        assert_int_equal(fiber_start(d->loop, run_later, d, NULL, NULL), 0);
    assert_int_equal(drive_job(&d->m, true, &err), expected);
    assert_int_equal(d->m.left, expected < 0);
    assert_int_equal(log_has(d, "\"event\":\"end\""), expected == 0);
    d->m.ended = true;
    while (!d->hdfs_away || (d->later && !d->done))
        (void)fiber_sleep(d->loop, 5);
    d->m.platform = NULL;
    be_on_yarn(d, NULL);
    container.set = fs_set_free(container.set);
}

static void tells_end(struct desk *d)
{
    end_alone(d, 0);
}

static void leaves(struct desk *d)
{
    end_alone(d, -ECANCELED);
}

static void tells_end_as_newest(struct desk *d)
{
    write_newest(d, 2);
    tells_end(d);
}

static void leaves_to_newer(struct desk *d)
{
    write_newest(d, 3);
    leaves(d);
}

static void answer(struct desk *d)
{
    await_last_but_end(d);
    silence = 0;
    master_wake(&d->m);
}

static void give_up(struct desk *d)
{
    await_last_but_end(d);
    drive_platform_events.on_over(&d->m, "the ResourceManager has given this attempt up");
}

static void the_newest_master_tells_the_end(void **state)
{
    (void)state;
    with_desk(tells_end_as_newest, NULL);
}

static void a_master_that_was_replaced_tells_no_end(void **state)
{
    (void)state;
    with_desk(leaves_to_newer, NULL);
}

/* Another one may have ended the job, and removed the file that would name it. */
static void where_hdfs_says_nothing_the_end_waits_for_the_resource_manager(void **state)
{
    (void)state;
    with_desk(tells_end, answer);
    with_desk(leaves, give_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_master_tells_the_end),
        cmocka_unit_test(a_master_that_was_replaced_tells_no_end),
        cmocka_unit_test(where_hdfs_says_nothing_the_end_waits_for_the_resource_manager),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
