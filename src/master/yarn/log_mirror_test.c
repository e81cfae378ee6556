/* log_mirror_test.c - the copy of a journal when HDFS is away; see log_mirror.c. The test is a
 * NameNode that does not answer. */
#include "base/path.h"
#include "hadoop/namenode.pb-c.h"
#include "hadoop/yarn/rpc_testing.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_yarn_private.h"

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

/* A journal with one record, and its copy. */
struct copied {
    struct master_container c;
    struct master_options opt;
    struct master_yarn side;
    struct master m;
    struct session *session;
    struct fs_set *set;
    char *logs;
};

static void copy_begin(struct copied *x, const char *dir)
{
    AUTO_FREE char *path = path_join(dir, "events.jsonl");

    *x = (struct copied){ .c = { .attempt = 1 } };
    x->side = (struct master_yarn)MASTER_YARN_INIT(&x->c);
    x->m = (struct master){
        .loop = fake_rpc.loop, .opt = &x->opt, .ops = &master_yarn_ops, .side = &x->side
    };
    x->session = fake_session(fake_rpc.loop, TESTDATA "one-rm", NULL);
    assert_non_null(path);
    assert_int_equal(fs_set_new(fake_rpc.loop, x->session, &x->set, NULL), 0);
    assert_int_equal(
        fs_find(x->set, "hdfs://127.0.0.1:9/logs", FS_ON_CLUSTER, &x->c.fs, &x->logs, NULL), 0);
    x->c.logs = x->logs;
    assert_int_equal(journal_open(&x->m.journal, path, NULL), 0);
    assert_int_equal(mirror_start(&x->m, NULL), 0);
    assert_int_equal(journal_append(&x->m.journal, "{}\n", 3), 0);
}

static void copy_free(struct copied *x)
{
    journal_done(&x->m.journal);
    fs_set_free(x->set);
    session_free(x->session);
    free(x->logs);
}

static void copy_end(struct copied *x)
{
    assert_true(mirror_stop(&x->m, loop_in(x->m.loop, GIVE_UP_MS)) < 0);
    assert_null(x->side.mirror);
    copy_free(x);
}

static int end_without_hdfs(void *arg)
{
    struct copied x;

    copy_begin(&x, arg);
    assert_int_equal(fiber_sleep(x.m.loop, 200), 0); /* it tries by now, or will */
    copy_end(&x);
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

static int end_unneeded(void *arg)
{
    struct copied x;

    copy_begin(&x, arg);
    x.side.kv.mirror = take(x.side.mirror);
    assert_int_equal(fiber_sleep(x.m.loop, 200), 0); /* it tries by now, or will */
    assert_int_equal(mirror_stop(&x.m, LOOP_NEVER), 0);
    assert_null(x.side.kv.mirror);
    copy_free(&x);
    return 0;
}

/* There is no deadline that would end it. */
static void the_end_does_not_wait_for_the_log_of_the_store(void **state)
{
    char dir[TEST_PATH];

    (void)state;
    assert_non_null(test_dir(dir, "mirror"));
    fake_run(end_unneeded, dir, never, NULL);
    assert_int_equal(path_remove(dir, NULL), 0);
}

/* ---- a NameNode that can take no file yet ---- */

struct asked {
    unsigned n;
    char first[64];
    bool others; /* names beside that one */
};

static int refuse_files(void *arg, struct rpc_service *s, const char *method, const void *request,
                        void **ret, struct err *err)
{
    struct asked *x = arg;

    (void)s;
    if (str_eq(method, "getServerDefaults")) {
        Hdfs__FsServerDefaults d = HDFS__FS_SERVER_DEFAULTS__INIT;
        Hdfs__GetServerDefaultsResponse answer = HDFS__GET_SERVER_DEFAULTS_RESPONSE__INIT;

        d.block_size = 128 * MIB;
        d.bytes_per_checksum = 512;
        d.write_packet_size = 64 * KIB;
        d.replication = 1;
        answer.defaults = &d;
        return fake_copy(&answer, ret);
    }
    if (str_eq(method, "create")) {
        const char *name = ((const Hdfs__CreateRequest *)request)->src;

        if (x->n++ == 0)
            (void)snprintf(x->first, sizeof(x->first), "%s", name);
        x->others |= !str_eq(name, x->first);
    }
    return err_set(err, -EIO, "there are no DataNodes");
}

static int try_twice(void *arg)
{
    const struct asked *a = fake_rpc.arg;
    struct copied x;

    copy_begin(&x, arg);
    for (int i = 0; a->n < 2 && i < 1000; i++)
        assert_int_equal(fiber_sleep(x.m.loop, 20), 0);
    assert_int_equal(a->n, 2);
    assert_false(a->others);
    assert_true(mirror_away(&x.m) > 0);
    copy_end(&x);
    return 0;
}

static void a_part_that_nothing_reached_is_tried_again(void **state)
{
    char dir[TEST_PATH];
    struct asked a = { 0 };

    (void)state;
    assert_non_null(test_dir(dir, "mirror"));
    fake_run(try_twice, dir, refuse_files, &a);
    assert_int_equal(path_remove(dir, NULL), 0);
}

/* ---- a NameNode that goes away while a file is open ---- */

static int open_files_only(void *arg, struct rpc_service *s, const char *method,
                           const void *request, void **ret, struct err *err)
{
    if (str_eq(method, "create")) {
        Hdfs__CreateResponse answer = HDFS__CREATE_RESPONSE__INIT;

        return fake_copy(&answer, ret);
    }
    if (str_eq(method, "recoverLease") || str_eq(method, "delete"))
        return fiber_sleep(fake_rpc.loop, 3600000);
    return refuse_files(arg, s, method, request, ret, err);
}

/* What is open cannot be closed, nor be given up in order. */
static void an_open_file_does_not_hold_up_the_end(void **state)
{
    char dir[TEST_PATH];
    struct asked a = { 0 };

    (void)state;
    assert_non_null(test_dir(dir, "mirror"));
    fake_run(end_without_hdfs, dir, open_files_only, &a);
    assert_int_equal(path_remove(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_does_not_wait_for_hdfs),
        cmocka_unit_test(the_end_does_not_wait_for_the_log_of_the_store),
        cmocka_unit_test(a_part_that_nothing_reached_is_tried_again),
        cmocka_unit_test(an_open_file_does_not_hold_up_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
