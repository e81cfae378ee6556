/* recover_version_test.c - a master reads the log of one of another version; see recover.c. */
#include "master/yarn/recover_testing.h"

/* ---- of another version ---- */

#define GOLDEN                                                                                     \
    YDL_SOURCE_DIR "/test/golden/0.1.0-5c3a05b/yarn/application_1794962330713_0001/events-1.jsonl"

/* What the first master of a job left, and by which version. */
static void first_master_left(struct desk *d, const struct buf *log)
{
    AUTO_FREE char *path = path_join(d->container.logs, "events-1.jsonl");

    assert_non_null(path);
    assert_int_equal(path_write_new(path, log->data, log->len, 0600, NULL), 0);
    d->container.attempt = 1;
}

static void master_of_version_0_1_0(struct desk *d)
{
    AUTO_BUF log = { .max = MIB };

    assert_int_equal(path_read(GOLDEN, &log, NULL), 0);
    first_master_left(d, &log);
    next_master(d);
    assert_int_equal(engine_last_agent(d->b.e), 2);
    agents_return(d);
    assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
    assert_int_equal(state_of(&d->b, "worker:1"), TASK_RUNNING);
    assert_int_equal(task(&d->b, "worker:1")->pid, 15290);
    ended(&d->b, "worker:0", 0);
    ended(&d->b, "worker:1", 0);
    pass(&d->b, 1000);
    assert_int_equal(engine_state(d->b.e), JOB_SUCCEEDED);
    kill_master(d);
}

static void a_log_of_an_earlier_version_is_taken_over(void **state)
{
    (void)state;
    with_desk_of("worker", 2, SPEC_RESTART_NEVER, 0, master_of_version_0_1_0);
}

static void master_of_the_future(struct desk *d)
{
    AUTO_BUF log = { .max = MIB };
    struct err err = ERR_INIT;

    assert_int_equal(buf_add_str(&log, "{\"seq\":0,\"t\":1,\"event\":\"master\",\"attempt\":1,"
                                       "\"format\":2}\n"),
                     0);
    first_master_left(d, &log);
    d->container.attempt = 2;
    d->side = (struct master_yarn)MASTER_YARN_INIT(&d->container);
    d->m = (struct master){
        .loop = d->loop, .opt = &d->opt, .ops = &master_yarn_ops, .side = &d->side
    };
    d->m.journal.fd = -1;
    assert_int_equal(recover_read(&d->m, &err), -EPROTONOSUPPORT);
    assert_string_equal(err.text,
                        "the events log: version 2 is newer than this ydl understands (1)");
    recover_done(&d->m);
}

static void a_log_of_a_later_version_is_one_sentence(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_NEVER, 0, master_of_the_future);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_of_an_earlier_version_is_taken_over),
        cmocka_unit_test(a_log_of_a_later_version_is_one_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
