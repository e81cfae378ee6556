/* amrm_test.c - claims about amrm.h: the exchange of a running master. */
#include "hadoop/yarn/amrm_testing.h"

/* ---- captured bytes, end to end ---- */

/* clang-format off */
static const char registered_hex[] =
    "0a2b08804010401a140a096d656d6f72792d6d621080401a024d6920001a0e0a0676636f72657310401a0020002a"
    "0c726f6f742e64656661756c74380038014a110a096d656d6f72792d6d6212024d6918004a0c0a0676636f726573"
    "12001800";
static const char empty_hex[] =
    "10012a2b08805f105f1a140a096d656d6f72792d6d6210805f1a024d6920001a0e0a0676636f726573105f1a0020"
    "0038036a0208009a0105080110c001";
static const char granted_hex[] =
    "10021aac020a11120d0a09084b10a99cc7ec9d341001180212100a0a3132372e302e302e313210d9db011a103132"
    "372e302e302e31323a32383132332229084010011a130a096d656d6f72792d6d6210401a024d6920001a0e0a0676"
    "636f72657310011a0020002a02080132bf010a84010a11120d0a09084b10a99cc7ec9d341001180212103132372e"
    "302e302e31323a32383132311a04726f6f742229084010011a130a096d656d6f72792d6d6210401a024d6920001a"
    "0e0a0676636f72657310011a00200028809dfbec9d3430b2c6d1bff9ffffffff0138a99cc7ec9d34420208014892"
    "cdd6ec9d345a0060026801700078001214457963b0ef971bd41c2b347cfc5e9e4ea281079a1a0e436f6e7461696e"
    "6572546f6b656e22103132372e302e302e31323a3238313231380140002a2b08c05e105e1a140a096d656d6f7279"
    "2d6d6210c05e1a024d6920001a0e0a0676636f726573105e1a00200038034a790a100a0a3132372e302e302e3132"
    "10d9db0112650a320a0d0a09084b10a99cc7ec9d34100112100a0a3132372e302e302e313210d9db011a04726f6f"
    "7420eef2cec1f8ffffffff011214380165870e40de6540aec5e196d739713b8035371a074e4d546f6b656e221031"
    "32372e302e302e31323a32383132316a0208009a010310c001";
/* clang-format on */

static void finish_as_captured(struct amrm *a, struct amrm_events *e)
{
    Yarn__FinishApplicationMasterResponse finished = YARN__FINISH_APPLICATION_MASTER_RESPONSE__INIT;
    AUTO_FREE char *hex = NULL;
    const void *any;

    assert_int_equal(amrm_finish(a, YARN__FINAL_STATUS__FINAL_SUCCEEDED, "ok", "", NULL), 0);
    hex = next_hex(a, AMRM_CALL_FINISH);
    assert_string_equal(hex, "0a026f6b12001801");
    answer(a, &finished, e);
    assert_int_equal(amrm_state(a), AMRM_FINISHING);
    finished.unregistered = true;
    assert_int_equal(next(a, &any), AMRM_CALL_FINISH);
    answer(a, &finished, e);
    assert_int_equal(event_at(e, 0)->type, AMRM_FINISHED);
    assert_int_equal(amrm_state(a), AMRM_DONE);
}

static void the_captured_exchange_is_spoken_byte_for_byte(void **state)
{
    AUTO_AMRM *a = master();
    AUTO_AMRM_EVENTS e = { 0 };
    AUTO_FREE char *hex1 = next_hex(a, AMRM_CALL_REGISTER), *hex2 = NULL, *hex3 = NULL;
    AUTO_MESSAGE void *registered =
        UNHEX(yarn__register_application_master_response, registered_hex);
    AUTO_MESSAGE void *empty = UNHEX(yarn__allocate_response, empty_hex);
    AUTO_MESSAGE void *granted = UNHEX(yarn__allocate_response, granted_hex);

    (void)state;
    assert_string_equal(hex1, "0a02766d10001a00");
    answer(a, registered, &e);
    assert_int_equal(event_at(&e, 0)->type, AMRM_REGISTERED);
    assert_false(event_at(&e, 0)->again);

    ask_for(a, 1, 0);
    hex2 = next_hex(a, AMRM_CALL_ALLOCATE);
    assert_string_equal(hex2, "0a170a02080112012a1a040840100120013a0408011000400020002d00000000");
    answer(a, empty, &e);
    assert_int_equal(e.n, 0);
    assert_int_equal(amrm_cluster_nodes(a), 3);

    hex3 = next_hex(a, AMRM_CALL_ALLOCATE);
    assert_string_equal(hex3, "20012d00000000");
    answer(a, granted, &e);
    assert_int_equal(e.n, 2);
    assert_int_equal(event_at(&e, 0)->type, AMRM_NM_TOKEN); /* before the container that needs it */
    assert_string_equal(event_at(&e, 0)->nm_token->token->kind, "NMToken");
    assert_int_equal(event_at(&e, 1)->type, AMRM_GRANTED);
    assert_int_equal(event_at(&e, 1)->id.id, 2);
    assert_int_equal(amrm_pending(a), 0);
    finish_as_captured(a, &e);
}

/* ---- heartbeats ---- */

static void an_unanswered_request_is_repeated_byte_for_byte(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    AUTO_FREE char *first = NULL, *second = NULL, *third = NULL;
    struct answer r;

    (void)state;
    ask_for(a, 2, 0);
    first = next_hex(a, AMRM_CALL_ALLOCATE);
    ask_for(a, 3, 0);
    assert_int_equal(amrm_blacklist(a, "h9", true, NULL), 0);
    assert_int_equal(fault(a, NULL, "no route", &e), AMRM_LATER);
    second = next_hex(a, AMRM_CALL_ALLOCATE);
    assert_string_equal(first, second);
    answer(a, response(&r, 1), &e);
    third = next_hex(a, AMRM_CALL_ALLOCATE);
    assert_string_equal(
        third, "0a170a02080112012a1a040840100120053a040801100040001a040a02683920012d00000000");
}

static void response_ids_count_up_and_wrap(void **state)
{
    static const struct {
        int32_t last, answered;
        int result;
    } rows[] = {
        { 0, 1, 0 },       { 5, 6, 0 },       { 0x7fffffff, 0, 0 }, { 5, 5, -EPROTO },
        { 5, 7, -EPROTO }, { 5, 0, -EPROTO }, { 5, -1, -EPROTO },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_AMRM *a = running();
        AUTO_AMRM_EVENTS e = { 0 };
        struct answer r;
        char text[120];

        next_allocate(a);
        snprintf(text, sizeof(text),
                 "Invalid responseId in AllocateRequest from application "
                 "attempt: x, expect responseId to be %d but get 0",
                 rows[i].last);
        if (rows[i].last) /* the way to any id */
            assert_int_equal(fault(a, BAD_REQUEST, text, &e), AMRM_AGAIN);
        assert_int_equal(next_allocate(a)->response_id, rows[i].last);
        response(&r, rows[i].answered);
        assert_int_equal(amrm_on_response(a, &r.m, &e, NULL), rows[i].result);
        if (rows[i].result == 0)
            assert_int_equal(next_allocate(a)->response_id, rows[i].answered);
    }
}

static void a_wrong_response_id_is_adopted_but_not_for_ever(void **state)
{
    static const char text[] = "expect responseId to be 7 but get 0";
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r;

    (void)state;
    ask_for(a, 2, 0);
    next_allocate(a);
    answer(a, response(&r, 1), &e);
    for (int i = 0; i < 3; i++) {
        next_allocate(a);
        assert_int_equal(fault(a, BAD_REQUEST, text, &e), AMRM_AGAIN);
        assert_int_equal(next_allocate(a)->response_id, 7);
        assert_int_equal(next_allocate(a)->n_ask, 1); /* told again, to be sure */
    }
    assert_int_equal(fault(a, BAD_REQUEST, text, &e), AMRM_STOP);
    assert_int_equal(amrm_state(a), AMRM_OVER);
    assert_int_equal(event_at(&e, 0)->type, AMRM_ENDED);
}

static void completions_are_told_once(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r;

    (void)state;
    hold(a, 1, 2);
    next_allocate(a);
    response(&r, 2);
    complete(&r, 2, 3);
    answer(a, &r.m, &e);
    assert_int_equal(e.n, 1);
    assert_int_equal(event_at(&e, 0)->type, AMRM_COMPLETED);
    assert_int_equal(event_at(&e, 0)->status->exit_status, 3);
    next_allocate(a);
    response(&r, 3);
    complete(&r, 2, 3);
    answer(a, &r.m, &e);
    assert_int_equal(e.n, 0);
    next_allocate(a);
    response(&r, 4);
    complete(&r, 77, -100); /* one we never heard of: told, once */
    answer(a, &r.m, &e);
    assert_int_equal(e.n, 1);
}

static void what_nobody_waits_for_is_given_back(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r;

    (void)state;
    ask_for(a, 1, 5);
    next_allocate(a);
    answer(a, response(&r, 1), &e);
    assert_int_equal(amrm_cancel(a, 1, 5, -1), 1);
    next_allocate(a);
    response(&r, 2);
    grant(&r, 3, 5); /* crossed our cancel */
    answer(a, &r.m, &e);
    assert_int_equal(event_at(&e, 0)->type, AMRM_SURPLUS);
    assert_true(amrm_has_news(a));
    assert_int_equal(next_allocate(a)->n_release, 1);
    assert_int_equal(next_allocate(a)->release[0]->id, 3);
    response(&r, 3);
    complete(&r, 3, -100);
    answer(a, &r.m, &e);
    assert_int_equal(next_allocate(a)->n_release, 0);
}

static void a_broken_grant_is_given_back(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r;

    (void)state;
    ask_for(a, 3, 5);
    next_allocate(a);
    answer(a, response(&r, 1), &e);
    next_allocate(a);
    response(&r, 2);
    grant(&r, 3, 5);
    r.container.container_token = NULL;
    answer(a, &r.m, &e);
    assert_int_equal(event_at(&e, 0)->type, AMRM_SURPLUS);
    next_allocate(a);
    response(&r, 3);
    grant(&r, 4, 5);
    r.node.port = 70000;
    answer(a, &r.m, &e);
    assert_int_equal(event_at(&e, 0)->type, AMRM_SURPLUS);
    next_allocate(a);
    response(&r, 4);
    grant(&r, 5, 5);
    r.container.id = NULL;
    answer(a, &r.m, &e);
    assert_int_equal(e.n, 0);
}

static void only_our_own_containers_can_be_released(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct err err = ERR_INIT;
    struct answer r;

    (void)state;
    hold(a, 1, 2);
    assert_int_equal(amrm_release(a, cid(3), &err), -ENOENT);
    assert_string_equal(err.text,
                        "'container_9_0001_01_000003' is not a container of this application");
    assert_int_equal(amrm_release(a, cid(2), NULL), 0);
    assert_int_equal(amrm_release(a, cid(2), NULL), 0);
    assert_int_equal(next_allocate(a)->n_release, 1);
    answer(a, response(&r, 2), &e);
    assert_int_equal(next_allocate(a)->n_release, 0);
}

static void asks_over_the_maximum_never_leave(void **state)
{
    Yarn__RegisterApplicationMasterResponse reg = YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;
    Yarn__Resource max = YARN__RESOURCE__INIT;
    struct ask ask = { .priority = 1, .count = 1, .resource = { 4096, 1, NULL, 0 } };
    AUTO_AMRM *a = master();
    AUTO_AMRM_EVENTS e = { 0 };
    const void *m;

    (void)state;
    max.memory = 2048;
    max.virtual_cores = 2;
    max.has_memory = max.has_virtual_cores = true;
    reg.maximum_capability = &max;
    next(a, &m);
    answer(a, &reg, &e);
    assert_int_equal(amrm_ask(a, &ask, NULL), -EINVAL);
    ask.resource.memory_mb = 0;
    assert_int_equal(amrm_ask(a, &ask, NULL), -EINVAL);
    ask.resource.memory_mb = 2048;
    assert_int_equal(amrm_ask(a, &ask, NULL), 0);
}

static void a_refused_ask_is_dropped_and_the_rest_goes_on(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r;

    (void)state;
    ask_for(a, 1, 1);
    next_allocate(a);
    answer(a, response(&r, 1), &e);
    ask_for(a, 1, 2);
    assert_int_equal(amrm_blacklist(a, "h2", true, NULL), 0);
    next_allocate(a);
    assert_int_equal(fault(a, EX "InvalidResourceRequestException", "too big", &e), AMRM_AGAIN);
    assert_int_equal(e.n, 1);
    assert_int_equal(event_at(&e, 0)->type, AMRM_REFUSED);
    assert_int_equal(event_at(&e, 0)->ask.id, 2);
    assert_string_equal(event_at(&e, 0)->why->text, "InvalidResourceRequestException: too big");
    assert_int_equal(next_allocate(a)->n_ask, 0);
    assert_int_equal(next_allocate(a)->blacklist_request->n_additions, 1);
    assert_int_equal(next_allocate(a)->response_id, 1);
    assert_int_equal(amrm_pending(a), 1);
}

/* How often the fault of a heartbeat is told. */
static size_t told(struct amrm *a, const char *class_name, const char *text)
{
    AUTO_AMRM_EVENTS e = { 0 };

    next_allocate(a);
    assert_int_equal(fault(a, class_name, text, &e), AMRM_LATER);
    for (size_t i = 0; i < e.n; i++)
        assert_int_equal(event_at(&e, i)->type, AMRM_TROUBLE);
    if (e.n > 0)
        assert_non_null(strstr(event_at(&e, 0)->why->text, text));
    return e.n;
}

static void a_heartbeat_that_the_rm_fails_at_is_told_once(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r;

    (void)state;
    assert_int_equal(told(a, NULL, "connection refused"), 0); /* that is not the RM's word */
    assert_int_equal(told(a, "java.lang.NullPointerException", "at 1"), 1);
    assert_int_equal(told(a, "java.lang.NullPointerException", "at 1"), 0);
    assert_int_equal(told(a, "java.lang.NullPointerException", "at 2"), 0); /* numbers may change */
    next_allocate(a);
    answer(a, response(&r, 1), &e);
    assert_int_equal(told(a, "java.lang.NullPointerException", "at 1"), 0);
    assert_int_equal(told(a, "java.lang.IllegalStateException", "not ready"), 1);
}

static void preemption_nodes_and_tokens_become_events(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct yarn_id_message id;
    Yarn__PreemptionContainer one = YARN__PREEMPTION_CONTAINER__INIT, *ones[] = { &one };
    Yarn__StrictPreemptionContract strict = YARN__STRICT_PREEMPTION_CONTRACT__INIT;
    Yarn__PreemptionContract loose = YARN__PREEMPTION_CONTRACT__INIT;
    Yarn__PreemptionMessage preempt = YARN__PREEMPTION_MESSAGE__INIT;
    Yarn__NodeReport node = YARN__NODE_REPORT__INIT, *nodes[] = { &node };
    Hadoop__Token token = HADOOP__TOKEN__INIT;
    struct answer r;

    (void)state;
    one.id = yarn_container_id_message(&id, cid(4));
    strict.containers = loose.containers = ones;
    strict.n_containers = loose.n_containers = 1;
    preempt.strict_contract = &strict;
    preempt.contract = &loose;
    next_allocate(a);
    response(&r, 1);
    r.m.preempt = &preempt;
    r.m.updated_nodes = nodes;
    r.m.n_updated_nodes = 1;
    r.m.am_rm_token = &token;
    answer(a, &r.m, &e);
    assert_int_equal(e.n, 4);
    assert_int_equal(event_at(&e, 0)->type, AMRM_TOKEN);
    assert_int_equal(event_at(&e, 1)->type, AMRM_PREEMPT);
    assert_true(event_at(&e, 1)->strict);
    assert_int_equal(event_at(&e, 1)->id.id, 4);
    assert_false(event_at(&e, 2)->strict);
    assert_int_equal(event_at(&e, 3)->type, AMRM_NODE);
    next_allocate(a); /* the same token again says nothing new */
    response(&r, 2);
    r.m.am_rm_token = &token;
    answer(a, &r.m, &e);
    assert_int_equal(e.n, 0);
    next_allocate(a);
    response(&r, 3);
    token.identifier = (ProtobufCBinaryData){ 1, (uint8_t[]){ 7 } };
    r.m.am_rm_token = &token;
    answer(a, &r.m, &e);
    assert_int_equal(event_at(&e, 0)->type, AMRM_TOKEN);
}

static void a_new_tracking_url_is_told(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r;

    (void)state;
    assert_int_equal(amrm_set_tracking_url(a, "http://h:1/", NULL), 0);
    assert_true(amrm_has_news(a));
    assert_string_equal(next_allocate(a)->tracking_url, "http://h:1/");
    answer(a, response(&r, 1), &e);
    assert_null(next_allocate(a)->tracking_url);
    assert_false(amrm_has_news(a));
}

/* Before 2.10 none has said what resources it knows; before 2.8 none knew request ids. */
static void an_rm_that_sends_no_types_gets_no_ids(void **state)
{
    Yarn__RegisterApplicationMasterResponse r = YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;
    const struct ask ask = { .priority = 1, .id = 5, .count = 1, .resource = { 64, 1, NULL, 0 } };
    Yarn__Resource most = YARN__RESOURCE__INIT;
    AUTO_AMRM_EVENTS e = { 0 };
    AUTO_AMRM *a = master();
    const void *m = NULL;

    (void)state;
    most.memory = 2048;
    most.virtual_cores = 2;
    most.has_memory = most.has_virtual_cores = true;
    r.maximum_capability = &most;
    assert_int_equal(next(a, &m), AMRM_CALL_REGISTER);
    answer(a, &r, &e);
    assert_int_equal(amrm_ask(a, &ask, NULL), 0);
    assert_int_equal(next_allocate(a)->ask[0]->priority->priority, 1 << 20 | 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_captured_exchange_is_spoken_byte_for_byte),
        cmocka_unit_test(an_unanswered_request_is_repeated_byte_for_byte),
        cmocka_unit_test(response_ids_count_up_and_wrap),
        cmocka_unit_test(an_rm_that_sends_no_types_gets_no_ids),
        cmocka_unit_test(a_wrong_response_id_is_adopted_but_not_for_ever),
        cmocka_unit_test(completions_are_told_once),
        cmocka_unit_test(what_nobody_waits_for_is_given_back),
        cmocka_unit_test(a_broken_grant_is_given_back),
        cmocka_unit_test(only_our_own_containers_can_be_released),
        cmocka_unit_test(asks_over_the_maximum_never_leave),
        cmocka_unit_test(a_refused_ask_is_dropped_and_the_rest_goes_on),
        cmocka_unit_test(a_heartbeat_that_the_rm_fails_at_is_told_once),
        cmocka_unit_test(preemption_nodes_and_tokens_become_events),
        cmocka_unit_test(a_new_tracking_url_is_told),
    };

    return cmocka_run_group_tests_name("yarn amrm", tests, NULL, NULL);
}
