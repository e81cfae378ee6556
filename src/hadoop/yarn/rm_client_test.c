/* rm_client_test.c - claims about rm_client.h, with the test as the ResourceManager. */
#include "base/buf.h"
#include "hadoop/yarn/rm_client.h"
#include "hadoop/yarn/rpc_testing.h"
#include "hadoop/yarn/submission.h"

struct world {
    struct session *session;
    struct yarn_client *client;
    const char *site, *tokens;
    char methods[512];
    size_t submits, reports, kills;
    /* what to do */
    const Yarn__ApplicationState *states; /* of one report after the other; 0: not known */
    const char *diagnostics;
    int32_t attempt; /* 0: it has none */
    size_t kill_done_at;
    Yarn__QueueInfo *queue;
    ProtobufCBinaryData child; /* of that queue */
    int depth, result;         /* of asking for it */
    void (*check)(const void *request);
};

static int on_report(struct world *w, void **ret, struct err *err)
{
    Yarn__GetApplicationReportResponse m = YARN__GET_APPLICATION_REPORT_RESPONSE__INIT;
    Yarn__ApplicationReport r = YARN__APPLICATION_REPORT__INIT;
    Yarn__ApplicationState state = w->states[w->reports++];
    struct yarn_id_message id, attempt;

    if (state == 0)
        return fake_throw("ApplicationNotFoundException", "Application doesn't exist in RM.", err);
    r.application_id = yarn_app_id_message(&id, (struct yarn_app_id){ 7, 1 });
    r.has_state = true;
    r.state = state;
    r.diagnostics = w->diagnostics;
    r.current_attempt_id = yarn_attempt_id_message(
        &attempt, (struct yarn_attempt_id){ { 7, 1 }, w->attempt > 0 ? w->attempt : -1 });
    m.report = &r;
    return fake_copy(&m, ret);
}

static int on_token(void **ret)
{
    Hadoop__GetDelegationTokenResponse m = HADOOP__GET_DELEGATION_TOKEN_RESPONSE__INIT;
    Hadoop__Token t = HADOOP__TOKEN__INIT;

    t.kind = "RM_DELEGATION_TOKEN";
    t.service = "";
    m.token = &t;
    return fake_copy(&m, ret);
}

static int on_kill(struct world *w, void **ret)
{
    Yarn__KillApplicationResponse m = YARN__KILL_APPLICATION_RESPONSE__INIT;

    m.has_completed = true;
    m.completed = ++w->kills >= w->kill_done_at;
    return fake_copy(&m, ret);
}

static int on_queue(struct world *w, void **ret)
{
    Yarn__GetQueueInfoResponse m = YARN__GET_QUEUE_INFO_RESPONSE__INIT;

    m.queue = w->queue;
    return fake_copy(&m, ret);
}

static int on_any(const char *method, void **ret)
{
    static const struct {
        const char *method;
        const ProtobufCMessageDescriptor *type;
    } rows[] = {
        { "getNewApplication", &yarn__get_new_application_response__descriptor },
        { "getClusterMetrics", &yarn__get_cluster_metrics_response__descriptor },
        { "getApplications", &yarn__get_applications_response__descriptor },
        { "cancelDelegationToken", &hadoop__cancel_delegation_token_response__descriptor },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(rows[i].method, method))
            *ret = message_new(rows[i].type);
    return *ret ? 0 : -ENOMEM;
}

static int resource_manager(void *arg, struct rpc_service *s, const char *method,
                            const void *request, void **ret, struct err *err)
{
    struct world *w = arg;
    size_t n = strlen(w->methods);

    (void)s;
    snprintf(w->methods + n, sizeof(w->methods) - n, "%s ", method);
    if (w->check)
        w->check(request);
    if (str_eq(method, "submitApplication")) {
        w->submits++;
        *ret = MESSAGE_NEW(yarn__submit_application_response);
        return *ret ? 0 : -ENOMEM;
    }
    if (str_eq(method, "getApplicationReport"))
        return on_report(w, ret, err);
    if (str_eq(method, "forceKillApplication"))
        return on_kill(w, ret);
    if (str_eq(method, "getQueueInfo"))
        return on_queue(w, ret);
    if (str_eq(method, "getDelegationToken"))
        return on_token(ret);
    return on_any(method, ret);
}

static void start(struct world *w)
{
    w->session = fake_session(fake_rpc.loop, w->site ? w->site : TESTDATA "one-rm", w->tokens);
    assert_int_equal(yarn_client_new(w->session, &w->client, NULL), 0);
}

static int stop(struct world *w)
{
    w->client = yarn_client_free(w->client);
    w->session = session_free(w->session);
    return 0;
}

#define STATE(name) YARN__APPLICATION_STATE__APP_##name

/* ---- submitting ---- */

struct submission_case {
    Yarn__ApplicationState states[8];
    const char *diagnostics;
    int result;
    size_t submits;
    const char *text;
    int32_t attempt;
};

static int submit_one(void *arg)
{
    struct world *w = arg;
    const struct submission_case *c = (const void *)w->queue; /* lent */
    Yarn__ApplicationSubmissionContext context = YARN__APPLICATION_SUBMISSION_CONTEXT__INIT;
    AUTO_RPC Yarn__GetApplicationReportResponse *report = NULL;
    struct yarn_id_message id;
    struct err err = ERR_INIT;

    start(w);
    w->states = c->states;
    w->diagnostics = c->diagnostics;
    w->attempt = c->attempt;
    context.application_id = yarn_app_id_message(&id, (struct yarn_app_id){ 7, 1 });
    assert_int_equal(yarn_submit(w->client, &context, loop_in(fake_rpc.loop, 30000), &report, &err),
                     c->result);
    assert_string_equal(err.text, c->text);
    assert_int_equal(w->submits, c->submits);
    assert_int_equal(report != NULL, c->result == 0);
    return stop(w);
}

static void submitting_goes_on_until_it_is_decided(void **state)
{
    static const struct submission_case cases[] = {
        { { STATE(ACCEPTED) }, "", 0, 1, "" },
        { { STATE(NEW), STATE(NEW_SAVING), STATE(SUBMITTED), STATE(ACCEPTED) }, "", 0, 1, "" },
        { { STATE(RUNNING) }, "", 0, 1, "" },
        { { STATE(FINISHED) }, "", 0, 1, "" },
        { { STATE(NEW), 0, STATE(NEW), 0, STATE(ACCEPTED) }, "", 0, 3, "" },
        { { STATE(FAILED) },
          "Application application_7_0001 submitted by user bob to unknown queue: x",
          -EREMOTEIO,
          1,
          "the ResourceManager refused 'application_7_0001': Application application_7_0001 "
          "submitted by user bob to unknown queue: x" },
        { { STATE(SUBMITTED), STATE(FAILED) },
          "why\n",
          -EREMOTEIO,
          1,
          "the ResourceManager refused 'application_7_0001': why\\n" },
        /* It was accepted, and what came of it is not ours to say. */
        { { STATE(SUBMITTED), STATE(KILLED) }, "killed by bob", 0, 1, "" },
        { { STATE(SUBMITTED), STATE(FAILED) }, "its master failed twice", 0, 1, "", 2 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w = { .queue = (void *)&cases[i] };

        fake_run(submit_one, &w, resource_manager, &w);
    }
}

static int kill_one(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;

    start(w);
    w->kill_done_at = 4;
    assert_int_equal(yarn_kill(w->client, (struct yarn_app_id){ 7, 1 }, "why", 0, NULL), 0);
    assert_int_equal(w->kills, 4);
    w->kill_done_at = 1000000;
    assert_int_equal(
        yarn_kill(w->client, (struct yarn_app_id){ 7, 1 }, NULL, loop_in(fake_rpc.loop, 100), &err),
        -ETIMEDOUT);
    assert_string_equal(err.text, "killing the application took too long");
    return stop(w);
}

static void killing_is_repeated_until_it_is_done(void **state)
{
    struct world w = { 0 };

    (void)state;
    fake_run(kill_one, &w, resource_manager, &w);
}

/* ---- answers with parts missing ---- */

static int empty_answers(void *arg)
{
    struct world *w = arg;
    Yarn__GetNewApplicationResponse *fresh = NULL;
    Yarn__GetClusterMetricsResponse *metrics = NULL;
    struct yarn_queue *queue = NULL;
    struct err err = ERR_INIT;

    start(w);
    assert_int_equal(yarn_new_application(w->client, &fresh, NULL), -EPROTO);
    assert_int_equal(yarn_metrics(w->client, &metrics, NULL), -EPROTO);
    assert_int_equal(yarn_queue(w->client, "nope", true, &queue, &err), -ENOENT);
    assert_string_equal(err.text, "there is no queue 'nope'");
    return stop(w);
}

static void an_answer_without_its_part_is_an_error(void **state)
{
    struct world w = { 0 };

    (void)state;
    fake_run(empty_answers, &w, resource_manager, &w);
}

/* ---- an old one ---- */

/* As 2.7 answers. */
static int old_manager(void *arg, struct rpc_service *s, const char *method, const void *request,
                       void **ret, struct err *err)
{
    Yarn__GetClusterMetricsResponse m = YARN__GET_CLUSTER_METRICS_RESPONSE__INIT;
    Yarn__ClusterMetrics metrics = YARN__CLUSTER_METRICS__INIT;

    (void)arg;
    (void)s;
    (void)request;
    if (!str_eq(method, "getClusterMetrics"))
        return rpc_exception_err("org.apache.hadoop.ipc.RpcNoSuchMethodException",
                                 "Unknown method getResourceTypeInfo called", err);
    metrics.has_num_node_managers = true;
    metrics.num_node_managers = 3;
    m.metrics = &metrics;
    return fake_copy(&m, ret);
}

static int ask_an_old_one(void *arg)
{
    struct world *w = arg;
    AUTO_RPC Yarn__GetAllResourceTypeInfoResponse *types = NULL;
    AUTO_RPC Yarn__GetClusterMetricsResponse *metrics = NULL;
    struct err err = ERR_INIT;

    start(w);
    assert_int_equal(yarn_resource_types(w->client, &types, &err), 0);
    assert_int_equal(types->n_types, 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(yarn_metrics(w->client, &metrics, NULL), 0);
    assert_int_equal(metrics->metrics->num_active_nms, 3);
    return stop(w);
}

static void an_old_resourcemanager_is_understood(void **state)
{
    struct world w = { 0 };

    (void)state;
    fake_run(ask_an_old_one, &w, old_manager, &w);
}

/* ---- queues ---- */

/* A chain of `depth` queues, each inside the one before, as bytes. */
static void nest(struct buf *out, int depth)
{
    AUTO_BUF inner = { .max = MIB };

    if (depth > 1)
        nest(&inner, depth - 1);
    assert_int_equal(buf_add_str(out, "\x0a\x01q"), 0); /* name */
    if (depth > 1) {
        assert_int_equal(buf_add_u8(out, 0x32), 0); /* child */
        assert_int_equal(buf_add_varint(out, inner.len), 0);
        assert_int_equal(buf_add(out, inner.data, inner.len), 0);
    }
}

/* Asks for a queue; the ResourceManager answers with these bytes as the child of its root. */
static int unpack(void *arg)
{
    struct world *w = arg;
    Yarn__QueueInfo root = YARN__QUEUE_INFO__INIT;
    AUTO_YARN_QUEUE *q = NULL;
    int depth = 0;

    start(w);
    root.queue_name = "q";
    root.child_queues = &w->child;
    root.n_child_queues = w->child.len > 0;
    w->queue = &root;
    assert_int_equal(yarn_queue(w->client, NULL, true, &q, NULL), w->result);
    for (const struct yarn_queue *p = q; p; p = p->n ? p->children : NULL, depth++)
        assert_string_equal(p->info->queue_name, "q");
    assert_int_equal(depth, w->result == 0 ? w->depth : 0);
    return stop(w);
}

static void queues_are_unpacked_as_deep_as_is_sane(void **state)
{
    static const struct {
        int depth, result;
    } rows[] = { { 1, 0 },
                 { 2, 0 },
                 { YARN_QUEUE_DEPTH, 0 },
                 { YARN_QUEUE_DEPTH + 1, -EPROTO },
                 { 500, -EPROTO } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w = { .depth = rows[i].depth, .result = rows[i].result };
        AUTO_BUF bytes = { .max = MIB };

        if (w.depth > 1)
            nest(&bytes, w.depth - 1);
        w.child = (ProtobufCBinaryData){ bytes.len, (uint8_t *)bytes.data };
        fake_run(unpack, &w, resource_manager, &w);
    }
}

static void a_broken_queue_is_an_error(void **state)
{
    static const char *const broken[] = { "\x0a\x05q", "\x32\x02\x0a\x05",
                                          "\x32\x04\x32\x02\x0a\x05" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        struct world w = { .child = { strlen(broken[i]), (uint8_t *)broken[i] },
                           .result = -EPROTO };

        fake_run(unpack, &w, resource_manager, &w);
    }
}

/* ---- the rest ---- */

static void check_filter(const void *request)
{
    const Yarn__GetApplicationsRequest *m = request;

    assert_string_equal(m->tags[0], "mixed:case");
    assert_int_equal(m->n_users, 1);
    assert_int_equal(m->states[0], STATE(RUNNING));
    assert_int_equal(m->scope, YARN__APPLICATIONS_SCOPE__SCOPE_OWN);
}

static int filter_apps(void *arg)
{
    struct world *w = arg;
    static const char *const tags[] = { "Mixed:CASE" }, *const users[] = { "bob" };
    static const Yarn__ApplicationState running = STATE(RUNNING);
    struct yarn_filter f = { .tags = tags,
                             .n_tags = 1,
                             .users = users,
                             .n_users = 1,
                             .states = &running,
                             .n_states = 1,
                             .own = true };
    AUTO_RPC Yarn__GetApplicationsResponse *apps = NULL;

    start(w);
    w->check = check_filter;
    assert_int_equal(yarn_list(w->client, &f, &apps, NULL), 0);
    return stop(w);
}

static void a_filter_says_what_was_meant(void **state)
{
    struct world w = { 0 };

    (void)state;
    fake_run(filter_apps, &w, resource_manager, &w);
}

static int get_a_token(void *arg)
{
    struct world *w = arg;
    AUTO_TOKEN token = { 0 };

    start(w);
    assert_int_equal(yarn_get_token(w->client, "yarn", &token, NULL), 0);
    assert_string_equal(token.service,
                        w->site ? "127.0.0.7:8032,127.0.0.8:8033" : "127.0.0.7:8032");
    assert_string_equal(token.kind, "RM_DELEGATION_TOKEN");
    assert_int_equal(yarn_cancel_token(w->client, &token, NULL), 0);
    return stop(w);
}

static void a_token_names_every_rm(void **state)
{
    struct world one = { 0 }, two = { .site = TESTDATA "two-rms" };

    (void)state;
    fake_run(get_a_token, &one, resource_manager, &one);
    fake_run(get_a_token, &two, resource_manager, &two);
}

static int look_at_service(void *arg)
{
    struct world *w = arg;

    start(w);
    assert_string_equal(yarn_client_service(w->client)->token, "RM_DELEGATION_TOKEN");
    assert_int_equal(yarn_client_service(w->client)->count, 2);
    return stop(w);
}

static void a_token_at_hand_is_used(void **state)
{
    struct world w = { .site = TESTDATA "two-rms", .tokens = TESTDATA "rm.tokens" };

    (void)state;
    fake_run(look_at_service, &w, resource_manager, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submitting_goes_on_until_it_is_decided),
        cmocka_unit_test(killing_is_repeated_until_it_is_done),
        cmocka_unit_test(an_answer_without_its_part_is_an_error),
        cmocka_unit_test(an_old_resourcemanager_is_understood),
        cmocka_unit_test(queues_are_unpacked_as_deep_as_is_sane),
        cmocka_unit_test(a_broken_queue_is_an_error),
        cmocka_unit_test(a_filter_says_what_was_meant),
        cmocka_unit_test(a_token_names_every_rm),
        cmocka_unit_test(a_token_at_hand_is_used),
    };

    return cmocka_run_group_tests_name("yarn client", tests, NULL, NULL);
}
