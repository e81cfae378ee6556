/* nm_test.c - claims about nm.h, with the test as the NodeManagers. */
#include "hadoop/yarn/launch_context.h"
#include "hadoop/yarn/nm.h"
#include "hadoop/yarn/rpc_testing.h"

struct world {
    struct session *session;
    struct nm_pool *pool;
    size_t idle;
    char methods[256];                /* what was called, in order */
    int fail;                         /* calls fail with this */
    const char *class_name, *message; /* of the failure of container 3 */
    bool forget_2;                    /* the answer says nothing of container 2 */
    int last_port;
    size_t set_tokens; /* seen at the last call */
};

static struct yarn_container_id cid(int64_t n)
{
    return (struct yarn_container_id){ { { 9, 1 }, 1 }, n };
}

/* Every container is fine but number 3, which fails as the test says. */
struct sorted {
    Yarn__ContainerId *good[8];
    Yarn__ContainerException bad, *bads[1];
    Yarn__SerializedException exception;
    size_t n_good, n_bad;
};

static void sort(struct world *w, Yarn__ContainerId *id, struct sorted *s)
{
    if (id->id == 2 && w->forget_2)
        return;
    if (id->id != 3) {
        s->good[s->n_good++] = id;
        return;
    }
    s->exception = (Yarn__SerializedException)YARN__SERIALIZED_EXCEPTION__INIT;
    s->exception.class_name = w->class_name;
    s->exception.message = w->message;
    s->bad = (Yarn__ContainerException)YARN__CONTAINER_EXCEPTION__INIT;
    s->bad.container_id = id;
    s->bad.exception = &s->exception;
    s->bads[0] = &s->bad;
    s->n_bad = 1;
}

/* The container token's identifier is the container's number here. */
static int on_start(struct world *w, const Yarn__StartContainersRequest *q, void **ret)
{
    Yarn__StartContainersResponse m = YARN__START_CONTAINERS_RESPONSE__INIT;
    struct yarn_id_message ids[8];
    struct sorted s = { 0 };

    for (size_t i = 0; i < q->n_requests; i++) {
        assert_non_null(q->requests[i]->launch_context);
        sort(w,
             yarn_container_id_message(&ids[i],
                                       cid(q->requests[i]->container_token->identifier.data[0])),
             &s);
    }
    m.succeeded = s.good;
    m.n_succeeded = s.n_good;
    m.failed = s.bads;
    m.n_failed = s.n_bad;
    return fake_copy(&m, ret);
}

static int on_stop(struct world *w, const Yarn__StopContainersRequest *q, void **ret)
{
    Yarn__StopContainersResponse m = YARN__STOP_CONTAINERS_RESPONSE__INIT;
    struct sorted s = { 0 };

    for (size_t i = 0; i < q->n_container_ids; i++)
        sort(w, q->container_ids[i], &s);
    m.succeeded = s.good;
    m.n_succeeded = s.n_good;
    m.failed = s.bads;
    m.n_failed = s.n_bad;
    return fake_copy(&m, ret);
}

/* Container 1 has ended and 2 has not; of 3 it knows as much as the test says. */
static int on_look(struct world *w, const Yarn__GetContainerStatusesRequest *q, void **ret)
{
    Yarn__GetContainerStatusesResponse m = YARN__GET_CONTAINER_STATUSES_RESPONSE__INIT;
    Yarn__ContainerStatus rows[8], *list[8];
    struct sorted s = { 0 };

    for (size_t i = 0; i < q->n_container_ids; i++)
        sort(w, q->container_ids[i], &s);
    for (size_t i = 0; i < s.n_good; i++) {
        rows[i] = (Yarn__ContainerStatus)YARN__CONTAINER_STATUS__INIT;
        rows[i].container_id = s.good[i];
        rows[i].has_state = true;
        rows[i].state = s.good[i]->id == 1 ? YARN__CONTAINER_STATE__CONTAINER_COMPLETE
                                           : YARN__CONTAINER_STATE__CONTAINER_RUNNING;
        list[i] = &rows[i];
    }
    m.states = list;
    m.n_states = s.n_good;
    m.failed = s.bads;
    m.n_failed = s.n_bad;
    return fake_copy(&m, ret);
}

static int node_manager(void *arg, struct rpc_service *s, const char *method, const void *request,
                        void **ret, struct err *err)
{
    struct world *w = arg;
    size_t n = strlen(w->methods);

    snprintf(w->methods + n, sizeof(w->methods) - n, "%s ", method);
    assert_string_equal(s->token, "NMToken");
    w->last_port = s->port;
    w->set_tokens = s->tokens;
    if (w->fail)
        return err_set(err, w->fail, "down");
    if (str_eq(method, "startContainers"))
        return on_start(w, request, ret);
    if (str_eq(method, "stopContainers"))
        return on_stop(w, request, ret);
    if (str_eq(method, "getContainerStatuses"))
        return on_look(w, request, ret);
    return -ENOSYS;
}

static void give_token(struct world *w, int port)
{
    Yarn__NodeId node = YARN__NODE_ID__INIT;
    Hadoop__Token token = HADOOP__TOKEN__INIT;

    node.host = "h";
    node.port = port;
    token.kind = "NMToken";
    token.service = "";
    assert_int_equal(nm_pool_set_token(w->pool, &node, &token, NULL), 0);
}

static void start(struct world *w)
{
    w->session = fake_session(fake_rpc.loop, TESTDATA "one-rm", NULL);
    assert_int_equal(nm_pool_new(w->session, w->idle, &w->pool, NULL), 0);
    give_token(w, 1);
}

static int stop(struct world *w)
{
    w->pool = nm_pool_free(w->pool);
    w->session = session_free(w->session);
    return 0;
}

static const struct nm_at here = { .host = "h", .port = 1 };

/* ---- claims ---- */

static int start_four(void *arg)
{
    struct world *w = arg;
    AUTO_MESSAGE Yarn__ContainerLaunchContext *launch = MESSAGE_NEW(yarn__container_launch_context);
    struct nm_item items[4] = { 0 };
    Hadoop__Token tokens[4];
    uint8_t numbers[4] = { 1, 2, 3, 4 };

    start(w);
    for (size_t i = 0; i < 4; i++) {
        tokens[i] = (Hadoop__Token)HADOOP__TOKEN__INIT;
        tokens[i].identifier = (ProtobufCBinaryData){ 1, &numbers[i] };
        tokens[i].kind = "ContainerToken";
        tokens[i].service = "";
        items[i] = (struct nm_item){ .id = cid(numbers[i]), .token = &tokens[i], .launch = launch };
    }
    w->class_name = "org.apache.hadoop.yarn.exceptions.InvalidContainerException";
    w->message = "\nContainer x rejected as it is allocated by a previous RM";
    w->forget_2 = true;
    assert_int_equal(nm_start(w->pool, &here, items, 4, NULL), 0);
    assert_int_equal(items[0].err.code, 0);
    assert_int_equal(items[1].err.code, -EPROTO);
    assert_int_equal(items[2].err.detail, RPC_EX_INVALID_CONTAINER);
    assert_int_equal(items[3].err.code, 0);
    w->class_name = "org.apache.hadoop.yarn.exceptions.YarnException";
    w->message = "\n Attempt to relaunch the same container with id x";
    w->forget_2 = false;
    assert_int_equal(nm_start(w->pool, &here, items, 4, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(items[i].err.code, 0); /* it was our own repetition */
    assert_string_equal(w->methods, "startContainers startContainers ");
    return stop(w);
}

static void each_container_has_its_own_result(void **state)
{
    struct world w = { 0 };

    (void)state;
    fake_run(start_four, &w, node_manager, &w);
}

static int stop_two(void *arg)
{
    struct world *w = arg;
    struct nm_item items[2] = { { .id = cid(1) }, { .id = cid(3) } };
    struct err err = ERR_INIT;

    start(w);
    w->class_name = "org.apache.hadoop.yarn.exceptions.YarnException";
    w->message = "Container x is not handled by this NodeManager";
    assert_int_equal(nm_stop(w->pool, &here, items, 2, NULL), 0);
    assert_int_equal(items[0].err.code, 0);
    assert_int_equal(items[1].err.code, -EREMOTEIO);
    assert_string_equal(items[1].err.text,
                        "YarnException: Container x is not handled by this NodeManager");
    w->fail = -ECONNREFUSED;
    assert_int_equal(nm_stop(w->pool, &here, items, 2, &err), -ECONNREFUSED);
    assert_string_equal(err.text, "node 'h:1': down");
    return stop(w);
}

static void a_call_that_fails_fails_for_all(void **state)
{
    struct world w = { 0 };

    (void)state;
    fake_run(stop_two, &w, node_manager, &w);
}

static int look_at_three(void *arg)
{
    static const struct {
        const char *message; /* of container 3 */
        bool ended;
    } rows[] = {
        { "Container x is not handled by this NodeManager", true },
        { "Container x was recently stopped on node manager.", true },
        { "java.lang.NullPointerException", false },
    };
    struct world *w = arg;

    start(w);
    w->class_name = "org.apache.hadoop.yarn.exceptions.YarnException";
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct nm_item items[3] = { { .id = cid(1) }, { .id = cid(2) }, { .id = cid(3) } };

        w->message = rows[i].message;
        w->forget_2 = i == 2;
        assert_int_equal(nm_look(w->pool, &here, items, 3, NULL), 0);
        assert_true(items[0].ended);
        assert_false(items[1].ended);
        assert_int_equal(items[1].err.code, w->forget_2 ? -EPROTO : 0);
        assert_int_equal(items[2].ended, rows[i].ended);
        assert_int_equal(items[2].err.code != 0, !rows[i].ended);
    }
    return stop(w);
}

static void a_container_has_ended_when_its_node_says_so_or_has_forgotten_it(void **state)
{
    struct world w = { 0 };

    (void)state;
    fake_run(look_at_three, &w, node_manager, &w);
}

static int many_nodes(void *arg)
{
    struct world *w = arg;
    struct nm_at at = { .host = "h" };
    struct nm_item item = { .id = cid(1) };
    struct err err = ERR_INIT;

    start(w);
    for (int port = 1; port <= 6; port++) {
        give_token(w, port);
        at.port = port;
        assert_int_equal(nm_stop(w->pool, &at, &item, 1, NULL), 0);
        assert_int_equal(w->last_port, port);
        assert_int_equal(fake_rpc.services, port < 3 ? port : 3);
    }
    give_token(w, 6); /* a connection that is there gets it as well */
    assert_int_equal(nm_stop(w->pool, &at, &item, 1, NULL), 0);
    assert_int_equal(w->set_tokens, 1);
    at.port = 7;
    assert_int_equal(nm_stop(w->pool, &at, &item, 1, &err), -ENOKEY);
    assert_string_equal(err.text, "no token for the node 'h:7'");
    assert_int_equal(fake_rpc.services, 3);
    return stop(w);
}

static void connections_are_kept_within_a_limit(void **state)
{
    struct world w = { .idle = 3 };

    (void)state;
    fake_run(many_nodes, &w, node_manager, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_container_has_its_own_result),
        cmocka_unit_test(a_call_that_fails_fails_for_all),
        cmocka_unit_test(a_container_has_ended_when_its_node_says_so_or_has_forgotten_it),
        cmocka_unit_test(connections_are_kept_within_a_limit),
    };

    return cmocka_run_group_tests_name("yarn nm", tests, NULL, NULL);
}
