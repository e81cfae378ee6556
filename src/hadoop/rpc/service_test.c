/* service_test.c - claims about calls: failover, repetition, deadlines, and what is said. */
#include "hadoop/rpc/rpc.h"
#include "hadoop/rpc/server_testing.h"
#include "hadoop/yarn_client.pb-c.h"
#include "loop/fiber.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const struct rpc_protocol protocol = { "test.Protocol", "TestServer" };
static const struct rpc_method reading = { "read", &yarn__get_new_application_request__descriptor,
                                           &yarn__get_new_application_response__descriptor,
                                           RPC_IDEMPOTENT };
static const struct rpc_method writing = { "write", &yarn__get_new_application_request__descriptor,
                                           &yarn__get_new_application_response__descriptor,
                                           RPC_ONCE };

#define SERVERS 2

struct world {
    struct loop *loop;
    struct fake_server servers[SERVERS];
    size_t count; /* addresses of the service */
    int64_t patience, ping;
    int64_t at_first; /* patience before the first answer; 0: the same, -1: none */
    struct rpc_identity who;
    const struct rpc_method *method;
    int64_t timeout;
    size_t calls; /* how many, one after the other */
    struct err err;
    int result;
    int64_t took;
};

static int call_once(struct rpc_service *s, struct world *w, struct err *err)
{
    Yarn__GetNewApplicationRequest request = YARN__GET_NEW_APPLICATION_REQUEST__INIT;
    AUTO_RPC Yarn__GetNewApplicationResponse *answer = NULL;

    return rpc_call(s, w->method, &request, &answer, loop_in(w->loop, w->timeout), err);
}

static struct rpc_service *service_of(struct world *w)
{
    struct rpc_address addresses[SERVERS] = {
        { .id = w->count > 1 ? "s1" : NULL, .host = "127.0.0.1", .port = w->servers[0].port },
        { .id = "s2", .host = "127.0.0.1", .port = w->servers[1].port },
    };
    struct rpc_service_conf conf = { .protocol = &protocol,
                                     .addresses = addresses,
                                     .count = w->count,
                                     .identity = &w->who,
                                     .patience_ms = w->patience,
                                     .first_patience_ms = w->at_first ? 0 : w->patience,
                                     .ping_ms = w->ping };
    struct rpc_service *s = NULL;

    assert_int_equal(rpc_service_new(w->loop, &conf, &s, NULL), 0);
    return s;
}

static int call_in_turn(void *arg)
{
    struct world *w = arg;
    struct rpc_service *s = service_of(w);
    int64_t start = loop_now(w->loop);

    for (size_t i = 0; i < w->calls && w->result == 0; i++)
        w->result = call_once(s, w, &w->err);
    w->took = loop_now(w->loop) - start;
    rpc_service_free(s);
    return 0;
}

static void set_up(struct world *w)
{
    w->count = w->count ? w->count : 1;
    w->calls = w->calls ? w->calls : 1;
    w->timeout = w->timeout ? w->timeout : 60000;
    w->method = w->method ? w->method : &reading;
    w->who.user = w->who.user ? w->who.user : "alice";
    for (size_t i = 0; i < SERVERS; i++) {
        w->servers[i].in_thread = test_spare_thread;
        fake_server_start(&w->servers[i]);
    }
    assert_int_equal(loop_new(&w->loop, NULL), 0);
}

static void tear_down(struct world *w)
{
    loop_free(w->loop);
    for (size_t i = 0; i < SERVERS; i++)
        fake_server_stop(&w->servers[i]);
}

static void run(struct world *w)
{
    set_up(w);
    assert_int_equal(loop_run(w->loop, call_in_turn, w, false), 0);
    tear_down(w);
}

#define SCRIPT(...)                                                                                \
    (const struct fake_row[]){ __VA_ARGS__ },                                                      \
        sizeof((const struct fake_row[]){ __VA_ARGS__ }) / sizeof(struct fake_row)
#define ANSWERS                                                                                    \
    {                                                                                              \
        SCRIPT({ FAKE_ANSWER })                                                                    \
    }

static void calls_share_one_connection(void **state)
{
    struct world w = { .servers = { ANSWERS, ANSWERS }, .calls = 3 };

    (void)state;
    run(&w);
    assert_int_equal(w.result, 0);
    assert_int_equal(w.servers[0].connections, 1);
    assert_int_equal(w.servers[0].calls, 3);
    assert_string_equal(w.servers[0].user, "alice");
}

static void a_proxy_user_is_named_with_who_really_asks(void **state)
{
    struct world w = { .servers = { ANSWERS, ANSWERS },
                       .who = { .user = "bob", .real_user = "alice" } };

    (void)state;
    run(&w);
    assert_string_equal(w.servers[0].user, "bob");
    assert_string_equal(w.servers[0].real_user, "alice");
}

static void a_standby_sends_us_to_the_other_address(void **state)
{
    struct world w = {
        .servers = { { SCRIPT({ FAKE_EXCEPTION, "org.apache.hadoop.ipc.StandbyException" }) },
                     ANSWERS },
        .count = 2,
        .calls = 2,
    };

    (void)state;
    run(&w);
    assert_int_equal(w.result, 0);
    assert_int_equal(w.servers[0].calls, 1); /* and it stays with the active one */
    assert_int_equal(w.servers[1].calls, 2);
}

static void standby_only_names_every_address(void **state)
{
    static const char standby[] = "org.apache.hadoop.ipc.StandbyException";
    struct world w = { .servers = { { SCRIPT({ FAKE_EXCEPTION, standby }) },
                                    { SCRIPT({ FAKE_EXCEPTION, standby }) } },
                       .count = 2 };

    (void)state;
    run(&w);
    assert_int_equal(w.result, -EHOSTDOWN);
    assert_string_equal(w.err.text, "no active TestServer: StandbyException: because; "
                                    "StandbyException: because");
}

static void a_lost_answer_repeats_the_same_call(void **state)
{
    struct world w = { .servers = { { SCRIPT({ FAKE_CLOSE }, { FAKE_ANSWER }) }, ANSWERS },
                       .patience = 30000 };

    (void)state;
    run(&w);
    assert_int_equal(w.result, 0);
    assert_int_equal(w.servers[0].calls, 2);
    assert_int_equal(w.servers[0].call_ids[0], w.servers[0].call_ids[1]);
    assert_int_equal(w.servers[0].retries[0], 0);
    assert_int_equal(w.servers[0].retries[1], 1);
}

/* The first answer is that: whoever can say so is there, however short the patience with others. */
static void safe_mode_is_waited_for(void **state)
{
    static const char safe[] = "org.apache.hadoop.hdfs.server.namenode.SafeModeException";
    struct world w = { .servers = { { SCRIPT({ FAKE_EXCEPTION, safe }, { FAKE_EXCEPTION, safe },
                                             { FAKE_ANSWER }) },
                                    ANSWERS },
                       .patience = 30000,
                       .at_first = -1 };
    struct world brief = { .servers = { { SCRIPT({ FAKE_EXCEPTION, safe }) }, ANSWERS },
                           .count = 2,
                           .patience = 200 };

    (void)state;
    run(&w);
    assert_int_equal(w.result, 0);
    assert_int_equal(w.servers[0].calls, 3);
    run(&brief);
    assert_int_equal(brief.result, -EAGAIN);
    assert_int_equal(brief.err.detail, RPC_EX_SAFE_MODE);
    assert_int_equal(brief.servers[1].calls, 0); /* the other one is no better */
    assert_true(brief.took >= 195);
}

static void what_must_not_run_twice_is_not_repeated(void **state)
{
    struct world w = { .servers = { { SCRIPT({ FAKE_CLOSE }, { FAKE_ANSWER }) }, ANSWERS },
                       .patience = 30000,
                       .method = &writing };

    (void)state;
    run(&w);
    assert_int_equal(w.result, -ECONNRESET);
    assert_int_equal(w.servers[0].calls, 1);
}

static void not_now_is_asked_again_later(void **state)
{
    struct world w = {
        .servers = { { SCRIPT({ FAKE_EXCEPTION, "org.apache.hadoop.ipc.RetriableException" },
                              { FAKE_EXCEPTION, "org.apache.hadoop.ipc.RetriableException" },
                              { FAKE_ANSWER }) },
                     ANSWERS },
        .patience = 30000,
    };

    (void)state;
    run(&w);
    assert_int_equal(w.result, 0);
    assert_int_equal(w.servers[0].calls, 3);
}

static void other_exceptions_fail_at_once(void **state)
{
    struct world w = {
        .servers = { { SCRIPT(
                         { FAKE_EXCEPTION, "org.apache.hadoop.security.AccessControlException" }) },
                     ANSWERS },
        .count = 2,
        .patience = 30000,
    };

    (void)state;
    run(&w);
    assert_int_equal(w.result, -EACCES);
    assert_int_equal(w.err.detail, RPC_EX_ACCESS);
    assert_string_equal(w.err.text, "AccessControlException: because");
    assert_int_equal(w.servers[1].calls, 0);
}

static void a_silent_server_costs_the_deadline_and_no_more(void **state)
{
    struct world w = { .servers = { { SCRIPT({ FAKE_SILENT }) }, ANSWERS }, .timeout = 3000 };
    struct world mute = { .servers = { ANSWERS, ANSWERS }, .timeout = 3000 };

    (void)state;
    mute.servers[0].mute = true;
    run(&w);
    assert_int_equal(w.result, -ETIMEDOUT);
    assert_true(w.took >= 2995 && w.took < 60000);
    assert_non_null(strstr(w.err.text, "did not answer 'read' within "));
    run(&mute);
    assert_int_equal(mute.result, -ETIMEDOUT);
    assert_non_null(strstr(mute.err.text, "the server accepts connections but says nothing"));
}

static void who_waits_long_shows_that_it_lives(void **state)
{
    struct world w = { .servers = { { SCRIPT({ FAKE_SLOW }) }, ANSWERS }, .ping = 20 };

    (void)state;
    run(&w);
    assert_int_equal(w.result, 0);
    assert_true(w.servers[0].pings >= 2);
    assert_int_equal(w.servers[0].calls, 1);
}

static void what_answers_garbage_is_called_so(void **state)
{
    static const struct {
        const char *greeting, *text;
    } rows[] = {
        { "HTTP/1.1 400 Bad Request\r\n\r\n", "a web server answers there, not Hadoop's RPC" },
        { "SSH-2.0-OpenSSH_9.2\r\n", "the server does not speak Hadoop's RPC protocol" },
        { "\1\1\1", "the server closed the connection before it answered" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w = { .servers = { ANSWERS, ANSWERS } };

        w.servers[0].greeting = rows[i].greeting;
        run(&w);
        assert_true(w.result < 0);
        assert_non_null(strstr(w.err.text, rows[i].text));
    }
}

/* As a ResourceManager does that is about to die: it accepts, and closes. */
static void a_server_that_closes_at_once_is_down(void **state)
{
    struct world alone = { .servers = { ANSWERS, ANSWERS } };
    struct world pair = { .servers = { ANSWERS, ANSWERS }, .count = 2 };

    (void)state;
    alone.servers[0].greeting = pair.servers[0].greeting = "";
    run(&alone);
    assert_int_equal(alone.result, -ECONNRESET);
    assert_non_null(strstr(alone.err.hint, "is the TestServer running"));
    run(&pair);
    assert_int_equal(pair.result, 0);
    assert_int_equal(pair.servers[1].calls, 1);
}

static void a_frame_of_nonsense_breaks_the_connection(void **state)
{
    struct world w = { .servers = { { SCRIPT({ FAKE_NONSENSE }) }, ANSWERS } };

    (void)state;
    run(&w);
    assert_int_equal(w.result, -EPROTO);
}

static void a_fatal_answer_has_the_servers_words(void **state)
{
    struct world w = {
        .servers = { { SCRIPT({ FAKE_FATAL, "o.a.h.security.authorize.AuthorizationException" }) },
                     ANSWERS },
    };

    (void)state;
    run(&w);
    assert_int_equal(w.result, -EACCES);
    assert_int_equal(w.err.detail, RPC_EX_AUTHORIZATION);
}

static void a_closed_port_fails_at_once_with_a_hint(void **state)
{
    struct world w = { .servers = { ANSWERS, ANSWERS } };
    int port;

    (void)state;
    set_up(&w);
    fake_server_stop(&w.servers[0]);
    port = w.servers[0].port;
    assert_int_equal(loop_run(w.loop, call_in_turn, &w, false), 0);
    w.servers[0].port = port;
    assert_int_equal(w.result, -ECONNREFUSED);
    assert_true(w.took < 30000);
    assert_non_null(strstr(w.err.text, "Connection refused"));
    assert_non_null(strstr(w.err.hint, "is the TestServer running"));
    loop_free(w.loop);
    fake_server_stop(&w.servers[1]);
}

static void a_secure_client_refuses_a_server_without_authentication(void **state)
{
    struct world w = { .servers = { ANSWERS, ANSWERS }, .who = { .secure = true } };
    struct world lax = { .servers = { ANSWERS, ANSWERS },
                         .who = { .secure = true, .fallback = true } };

    (void)state;
    run(&w);
    assert_int_equal(w.result, -EACCES);
    run(&lax);
    assert_int_equal(lax.result, 0);
}

#define MANY 200

struct one_of_many {
    struct world *w;
    struct rpc_service *s;
};

static int call_one_of_many(void *arg, struct err *err)
{
    struct one_of_many *o = arg;

    return call_once(o->s, o->w, err);
}

static int call_many(void *arg)
{
    struct world *w = arg;
    struct one_of_many o = { w, service_of(w) };
    struct group g;

    group_init(&g, w->loop, 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(group_go(&g, call_one_of_many, &o, NULL), 0);
    w->result = group_wait(&g, &w->err);
    rpc_service_free(o.s);
    return 0;
}

static void many_calls_in_flight_are_answered_in_any_order(void **state)
{
    struct world w = { .servers = { { SCRIPT({ FAKE_HOLD, NULL, MANY }) }, ANSWERS } };

    (void)state;
    set_up(&w);
    assert_int_equal(loop_run(w.loop, call_many, &w, false), 0);
    tear_down(&w);
    assert_int_equal(w.result, 0);
    assert_int_equal(w.servers[0].connections, 1);
    assert_int_equal(w.servers[0].calls, MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_share_one_connection),
        cmocka_unit_test(a_proxy_user_is_named_with_who_really_asks),
        cmocka_unit_test(a_standby_sends_us_to_the_other_address),
        cmocka_unit_test(standby_only_names_every_address),
        cmocka_unit_test(a_lost_answer_repeats_the_same_call),
        cmocka_unit_test(safe_mode_is_waited_for),
        cmocka_unit_test(what_must_not_run_twice_is_not_repeated),
        cmocka_unit_test(not_now_is_asked_again_later),
        cmocka_unit_test(other_exceptions_fail_at_once),
        cmocka_unit_test(a_silent_server_costs_the_deadline_and_no_more),
        cmocka_unit_test(who_waits_long_shows_that_it_lives),
        cmocka_unit_test(what_answers_garbage_is_called_so),
        cmocka_unit_test(a_server_that_closes_at_once_is_down),
        cmocka_unit_test(a_frame_of_nonsense_breaks_the_connection),
        cmocka_unit_test(a_fatal_answer_has_the_servers_words),
        cmocka_unit_test(a_closed_port_fails_at_once_with_a_hint),
        cmocka_unit_test(a_secure_client_refuses_a_server_without_authentication),
        cmocka_unit_test(many_calls_in_flight_are_answered_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
