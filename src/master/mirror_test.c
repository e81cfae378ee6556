/* mirror_test.c - the copy of a journal when HDFS is away; see mirror.c. The test is a NameNode
 * that does not answer. */
#include "base/path.h"
#include "hadoop/yarn/rpc_testing.h"
#include "master/master_private.h"

#define GIVE_UP_MS 300

static int never(void *arg, struct rpc_service *s, const char *method, const void *request,
                 void **ret, struct err *err)
{
    (void)arg;
    (void)s;
    (void)method;
    (void)request;
    (void)ret;
    (void)err;
    return fiber_sleep(fake_rpc.loop, 3600000);
}

static int end_without_hdfs(void *arg)
{
    const char *dir = arg;
    AUTO_FREE char *path = path_join(dir, "events.jsonl");
    AUTO_FREE char *logs = NULL;
    struct container c = { .attempt = 1 };
    struct master_options opt = { .container = &c };
    struct master m = { .loop = fake_rpc.loop, .opt = &opt };
    struct session *session = fake_session(fake_rpc.loop, TESTDATA "one-rm", NULL);
    struct fs_set *set = NULL;

    assert_non_null(path);
    assert_int_equal(fs_set_new(fake_rpc.loop, session, &set, NULL), 0);
    assert_int_equal(fs_find(set, "hdfs://127.0.0.1:9/logs", FS_ON_CLUSTER, &c.fs, &logs, NULL), 0);
    c.logs = logs;
    assert_int_equal(journal_open(&m.journal, path, NULL), 0);
    assert_int_equal(mirror_start(&m, NULL), 0);
    assert_int_equal(journal_append(&m.journal, "{}\n", 3), 0);
    assert_int_equal(fiber_sleep(m.loop, 200), 0); /* it tries by now, or will */
    assert_true(mirror_stop(&m, loop_in(m.loop, GIVE_UP_MS)) < 0);
    assert_null(m.mirror);
    journal_done(&m.journal);
    fs_set_free(set);
    session_free(session);
    return 0;
}

/* That it returns at all is what is tested: nobody else ends the calls. */
static void the_end_does_not_wait_for_hdfs(void **state)
{
    char dir[TEST_PATH];

    (void)state;
    assert_non_null(test_dir(dir, "mirror"));
    fake_run(end_without_hdfs, dir, never, NULL);
    assert_int_equal(path_remove(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_does_not_wait_for_hdfs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
