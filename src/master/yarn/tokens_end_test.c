/* tokens_end_test.c - which tokens a master cancels at the end, and how long it tries; see
 * tokens_end.c. The test is the NameNode. */
#include "hadoop/namenode.pb-c.h"
#include "hadoop/token.pb-c.h"
#include "hadoop/token/ident.h"
#include "hadoop/token/writable.h"
#include "hadoop/yarn/rpc_testing.h"
#include "master/yarn/master_leave.h"
#include "master/yarn/master_tokens.h"
#include "master/yarn/master_yarn_private.h"
#include "platform/yarn/yarn_platform_private.h"

#define RM "rm" /* renews the tokens of the submit */
#define HOUR_MS 3600000
#define MOST_MS 20000 /* much more than the end may take, much less than a call that hangs */

struct namenode {
    int64_t cancelled[8]; /* sequence numbers */
    size_t n;
    bool deleted;      /* the job's directory */
    bool not_deleting; /* it cannot be */
    bool hanging;      /* cancelling takes for ever */
};

static int answer(void *arg, struct rpc_service *s, const char *method, const void *request,
                  void **ret, struct err *err)
{
    struct namenode *nn = arg;

    (void)s;
    if (str_eq(method, "delete")) {
        Hdfs__DeleteResponse done = HDFS__DELETE_RESPONSE__INIT;

        assert_int_equal(nn->n, 0);
        nn->deleted = true;
        done.deleted = true;
        return nn->not_deleting ? err_set(err, -EIO, "safe mode") : fake_copy(&done, ret);
    }
    if (str_eq(method, "cancelDelegationToken")) {
        const Hadoop__CancelDelegationTokenRequest *ask = request;
        Hadoop__CancelDelegationTokenResponse done = HADOOP__CANCEL_DELEGATION_TOKEN_RESPONSE__INIT;
        AUTO_IDENT id = { 0 };

        assert_true(nn->deleted && nn->n < COUNT_OF(nn->cancelled));
        assert_int_equal(ident_parse(KIND_HDFS, ask->token->identifier.data,
                                     ask->token->identifier.len, &id, NULL),
                         0);
        nn->cancelled[nn->n++] = id.sequence;
        if (id.sequence == 2)
            return err_set(err, -EIO, "it has expired"); /* no reason to stop */
        return nn->hanging ? fiber_sleep(fake_rpc.loop, HOUR_MS) : fake_copy(&done, ret);
    }
    return err_set(err, -ENOSYS, "%s", method);
}

/* ---- a master ---- */

struct ending {
    struct master_container c;
    struct master_options opt;
    struct master_yarn side;
    struct master m;
};

static void add_token(struct credentials *to, const char *renewer, int sequence, int64_t issued)
{
    AUTO_BUF id = { .max = KIB };
    uint8_t secret[] = { 1 };
    struct token t = { .password = secret,
                       .password_len = 1,
                       .kind = (char *)KIND_HDFS,
                       .service = (char *)"127.0.0.1:9" };

    assert_int_equal(buf_add(&id, "", 1), 0); /* version 0 */
    assert_int_equal(writable_add_text(&id, "alice@REALM"), 0);
    assert_int_equal(writable_add_text(&id, renewer), 0);
    assert_int_equal(writable_add_text(&id, ""), 0);
    assert_int_equal(writable_add_vlong(&id, issued), 0);
    assert_int_equal(writable_add_vlong(&id, issued + HOUR_MS), 0);
    assert_int_equal(writable_add_vlong(&id, sequence), 0);
    assert_int_equal(writable_add_vlong(&id, 1), 0);
    t.id = id.data;
    t.id_len = id.len;
    assert_int_equal(credentials_add(to, NULL, &t, NULL), 0);
}

static void begin(struct ending *x, int attempt)
{
    *x = (struct ending){ .c = { .attempt = attempt, .began = loop_wall() } };
    x->side = (struct master_yarn)MASTER_YARN_INIT(&x->c);
    x->m = (struct master){
        .loop = fake_rpc.loop, .opt = &x->opt, .ops = &master_yarn_ops, .side = &x->side
    };
    x->c.session = fake_session(fake_rpc.loop, TESTDATA "one-rm", NULL);
    add_token(session_credentials(x->c.session), RM, 1, x->c.began);
    assert_int_equal(fs_set_new(fake_rpc.loop, x->c.session, &x->c.set, NULL), 0);
    assert_int_equal(
        fs_find(x->c.set, "hdfs://127.0.0.1:9/jobs/1", FS_ON_CLUSTER, &x->c.fs, &x->c.jobs, NULL),
        0);
}

static void bring(struct ending *x, const char *renewer, int sequence, int64_t issued)
{
    AUTO_CREDENTIALS *newer = NULL;
    size_t n = 0;

    assert_int_equal(credentials_new(&newer, NULL), 0);
    add_token(newer, renewer ? renewer : session_user(x->c.session), sequence, issued);
    assert_int_equal(tokens_use(&x->m, newer, &n, NULL), 0);
    assert_int_equal(n, 1);
}

static void end(struct ending *x)
{
    int64_t began = loop_now(x->m.loop);

    leave_yarn(&x->m);
    assert_true(loop_now(x->m.loop) - began < MOST_MS);
    tokens_done(&x->c);
    fs_set_free(x->c.set);
    session_free(x->c.session);
    free(x->c.jobs);
}

/* ---- what is cancelled ---- */

static int replace_some(void *arg)
{
    struct ending x;
    int64_t now = loop_wall();

    (void)arg;
    begin(&x, 1);
    bring(&x, RM, 1, x.c.began); /* the submit's once more */
    bring(&x, NULL, 2, now);
    bring(&x, NULL, 3, now);
    tokens_were_sent(&x.c); /* a NodeManager has this one */
    bring(&x, NULL, 3, now);
    bring(&x, RM, 4, now); /* not got for us */
    bring(&x, NULL, 5, now);
    bring(&x, NULL, 5, now); /* an answer was lost */
    end(&x);
    return 0;
}

static void what_others_need_is_not_cancelled(void **state)
{
    struct namenode nn = { 0 };

    (void)state;
    fake_run(replace_some, NULL, answer, &nn);
    assert_int_equal(nn.n, 2);
    assert_int_equal(nn.cancelled[0], 2);
    assert_int_equal(nn.cancelled[1], 5);
}

static int start_containers(void *arg)
{
    Yarn__ContainerLaunchContext *none = NULL;
    struct yarn_platform p = { .launch = &none };
    struct ending x;

    (void)arg;
    begin(&x, 1);
    bring(&x, NULL, 2, x.c.began);
    x.m.platform = &p.base;
    tokens_cancel(&x.m);
    assert_int_equal(x.c.got.n, 0);
    x.m.platform = NULL;
    end(&x);
    return 0;
}

/* Any of its containers may have got the last one with its launch. */
static void what_a_node_may_have_is_not_cancelled(void **state)
{
    struct namenode nn = { 0 };

    (void)state;
    fake_run(start_containers, NULL, answer, &nn);
    assert_int_equal(nn.n, 0);
}

static int take_over(void *arg)
{
    struct ending x;

    (void)arg;
    begin(&x, 2);
    bring(&x, NULL, 3, x.c.began - HOUR_MS);
    bring(&x, NULL, 4, x.c.began + HOUR_MS);
    end(&x);
    return 0;
}

/* The client brings once more what it brought to the master before, who may have sent it on. */
static void what_an_earlier_master_had_is_not_cancelled(void **state)
{
    struct namenode nn = { 0 };

    (void)state;
    fake_run(take_over, NULL, answer, &nn);
    assert_int_equal(nn.n, 1);
    assert_int_equal(nn.cancelled[0], 4);
}

static int replace_many(void *arg)
{
    struct ending x;

    (void)arg;
    begin(&x, 1);
    for (int i = 3; i < 2 * TOKENS_GOT; i++) {
        bring(&x, NULL, i, x.c.began);
        if (i < 2 * TOKENS_GOT - 3)
            tokens_were_sent(&x.c);
    }
    assert_int_equal(x.c.got.n, TOKENS_GOT);
    end(&x);
    return 0;
}

static void the_oldest_of_many_are_forgotten(void **state)
{
    struct namenode nn = { 0 };

    (void)state;
    fake_run(replace_many, NULL, answer, &nn);
    assert_int_equal(nn.n, 3);
    assert_int_equal(nn.cancelled[2], 2 * TOKENS_GOT - 1);
}

/* ---- a NameNode in trouble ---- */

static void cancelling_does_not_hold_up_the_end(void **state)
{
    struct namenode nn = { .hanging = true };

    (void)state;
    fake_run(replace_some, NULL, answer, &nn);
    assert_int_equal(nn.n, 2);
}

static void nothing_is_cancelled_where_the_directory_stays(void **state)
{
    struct namenode nn = { .not_deleting = true };

    (void)state;
    fake_run(replace_some, NULL, answer, &nn);
    assert_int_equal(nn.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_need_is_not_cancelled),
        cmocka_unit_test(what_a_node_may_have_is_not_cancelled),
        cmocka_unit_test(what_an_earlier_master_had_is_not_cancelled),
        cmocka_unit_test(the_oldest_of_many_are_forgotten),
        cmocka_unit_test(cancelling_does_not_hold_up_the_end),
        cmocka_unit_test(nothing_is_cancelled_where_the_directory_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
