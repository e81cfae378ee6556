/* grpc_session_test.c - claims about calls and their answers, in time or too late. */
#include "wire/grpc/grpc_testing.h"

#include <string.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0 };
}

/* ---- answers ---- */

static void a_call_is_answered_with_its_message(void **state)
{
    struct grpc_world w = { 0 };
    struct grpc_reply *a;

    (void)state;
    grpc_world_open(&w);
    a = grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 10);
    assert_string_equal(a->http, "200");
    assert_string_equal(a->status, "0");
    assert_int_equal(a->n, 10);
    assert_memory_equal(a->body, GRPC_HELLO, 10);
    assert_true(a->closed);
    assert_int_equal(a->error, NGHTTP2_NO_ERROR);
    a = grpc_world_ask(&w, "/t.T/Big", GRPC_HELLO, 10);
    assert_int_equal(a->total, MIB + GRPC_PREFIX);
    assert_int_equal(w.s.n_calls, 0);
    grpc_world_close(&w);
}

static void what_cannot_be_answered_gets_the_status_that_says_why(void **state)
{
    static const struct {
        const char *path, *bytes;
        size_t n;
        const char *status;
    } rows[] = {
        { "/t.T/Nope", GRPC_HELLO, 10, "12" },
        { "/t.T/Echo", GRPC_HELLO, 9, "3" },
        { "/t.T/Echo", "", 0, "3" },
        { "/t.T/Echo", GRPC_HELLO GRPC_HELLO, 20, "13" },
        { "/t.T/Echo", "\1\0\0\0\1x", 6, "13" },
        { "/t.T/Echo", "\0\0\0\1\0", 5, "8" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct grpc_world w = { .o.limits.message_max = 100 };
        struct grpc_reply *a;

        grpc_world_open(&w);
        a = grpc_world_ask(&w, rows[i].path, rows[i].bytes, rows[i].n);
        assert_string_equal(a->status, rows[i].status);
        assert_true(strlen(a->text) > 0);
        assert_true(a->closed);
        grpc_world_close(&w);
    }
}

static void compression_is_refused_and_what_is_accepted_is_told(void **state)
{
    struct grpc_world w = { 0 };
    nghttp2_nv gzip = field("grpc-encoding", "gzip");
    struct grpc_reply *a;

    (void)state;
    grpc_world_open(&w);
    w.send = (const uint8_t *)GRPC_HELLO;
    w.n_send = 10;
    a = grpc_world_ask_with(&w, &gzip, 1, "/t.T/Echo");
    assert_int_equal(grpc_world_pump(&w), 0);
    assert_string_equal(a->status, "12");
    assert_string_equal(a->accepts, "identity");
    grpc_world_close(&w);
}

static void a_request_that_is_not_grpc_is_answered_415(void **state)
{
    nghttp2_nv nv[] = { field(":method", "GET"), field(":scheme", "http"), field(":path", "/"),
                        field(":authority", "here") };
    struct grpc_world w = { 0 };

    (void)state;
    grpc_world_open(&w);
    assert_true(nghttp2_submit_request(w.client, NULL, nv, COUNT_OF(nv), NULL, NULL) > 0);
    assert_int_equal(grpc_world_pump(&w), 0);
    assert_string_equal(w.answers[0].http, "415");
    grpc_world_close(&w);
}

static void a_refused_upload_is_told_to_stop(void **state)
{
    struct grpc_world w = { .open_end = true };
    struct grpc_reply *a;

    (void)state;
    grpc_world_open(&w);
    a = grpc_world_ask(&w, "/t.T/Nope", GRPC_HELLO, 10);
    assert_string_equal(a->status, "12");
    assert_true(a->closed); /* though the client has not said its last */
    assert_int_equal(a->error, NGHTTP2_NO_ERROR);
    grpc_world_close(&w);
}

static void headers_are_kept_when_they_were_asked_for(void **state)
{
    nghttp2_nv more[] = { field("x-request-id", "a1"), field("x-other", "b"),
                          field("grpc-timeout", "5S") };
    struct grpc_world w = { .keep = true };

    (void)state;
    grpc_world_open(&w);
    w.send = (const uint8_t *)GRPC_HELLO;
    w.n_send = 10;
    (void)grpc_world_ask_with(&w, more, COUNT_OF(more), "/t.T/Echo");
    assert_int_equal(grpc_world_pump(&w), 0);
    assert_int_equal(w.n_running, 1);
    assert_string_equal(grpc_metadata(w.running[0], "x-request-id"), "a1");
    assert_null(grpc_metadata(w.running[0], "x-other"));
    assert_int_equal(grpc_deadline(w.running[0]), w.now + 5000);
    grpc_session_ran(w.running[0], 0, NULL);
    grpc_world_close(&w);
}

static void headers_have_a_limit(void **state)
{
    struct grpc_world w = { .o.limits.header_max = 4 * KIB };
    char large[4 * KIB];
    nghttp2_nv more;

    (void)state;
    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    more = field("x-large", large);
    grpc_world_open(&w);
    (void)grpc_world_ask_with(&w, &more, 1, "/t.T/Echo");
    assert_int_equal(grpc_world_pump(&w), 0);
    assert_string_equal(w.answers[0].status, "8");
    grpc_world_close(&w);
}

/* ---- time ---- */

static void a_deadline_ends_the_call(void **state)
{
    nghttp2_nv timeout = field("grpc-timeout", "100m");
    struct grpc_world w = { .keep = true };
    struct err late = { .code = -ECANCELED, .text = "interrupted" };
    struct grpc_reply *a;

    (void)state;
    grpc_world_open(&w);
    w.send = (const uint8_t *)GRPC_HELLO;
    w.n_send = 10;
    a = grpc_world_ask_with(&w, &timeout, 1, "/t.T/Echo");
    assert_int_equal(grpc_world_pump(&w), 0);
    grpc_world_expire(&w, 99);
    assert_string_equal(a->status, "");
    grpc_world_expire(&w, 1);
    assert_string_equal(a->status, "4");
    assert_true(a->closed);
    assert_true(w.gone > 0);
    assert_int_equal(w.s.n_calls, 1); /* its handler has not ended yet */
    assert_int_equal(grpc_world_echo(w.running[0], NULL), -ECANCELED);
    grpc_session_ran(w.running[0], -ECANCELED, &late);
    assert_int_equal(w.s.n_calls, 0);
    grpc_world_close(&w);
}

static void a_message_that_comes_too_slowly_is_refused(void **state)
{
    struct grpc_world w = { .open_end = true, .o.limits.body_ms = 50 };
    struct grpc_reply *a;

    (void)state;
    grpc_world_open(&w);
    a = grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 7);
    grpc_world_expire(&w, 49);
    assert_false(a->closed);
    grpc_world_expire(&w, 1);
    assert_string_equal(a->status, "4");
    assert_true(a->closed);
    assert_int_equal(w.s.held.used, 0);
    grpc_world_close(&w);
}

static void a_header_that_never_ends_ends_the_connection(void **state)
{
    struct grpc_world w = { .o.limits.header_ms = 50 };
    int64_t next;

    (void)state;
    grpc_world_open(&w);
    assert_int_equal(grpc_session_feed(&w.s, (const uint8_t *)PREFACE SETTINGS, 33, w.now, NULL),
                     0);
    w.now += 100;
    assert_int_equal(grpc_session_expire(&w.s, w.now, &next, NULL), 0); /* nothing was begun */
    assert_int_equal(
        grpc_session_feed(&w.s, (const uint8_t *)"\0\0\1\1\0\0\0\0\1\x88", 10, w.now, NULL), 0);
    w.now += 50;
    assert_int_equal(grpc_session_expire(&w.s, w.now, &next, NULL), -ETIMEDOUT);
    grpc_world_close(&w);
}

/* Calls that run on the same connection are not cut off for it. */
static void a_header_that_is_wrong_ends_its_stream_only(void **state)
{
    struct grpc_world w = { .o.limits.header_ms = 50 };
    int64_t next;

    (void)state;
    grpc_world_open(&w);
    assert_int_equal(grpc_session_feed(&w.s, (const uint8_t *)PREFACE SETTINGS, 33, w.now, NULL),
                     0);
    assert_int_equal(/* a request with a status */
                     grpc_session_feed(&w.s, (const uint8_t *)"\0\0\1\1\4\0\0\0\1\x88", 10, w.now,
                                       NULL),
                     0);
    w.now += 100;
    assert_int_equal(grpc_session_expire(&w.s, w.now, &next, NULL), 0);
    assert_true(grpc_session_reads(&w.s));
    grpc_world_close(&w);
}

static void a_client_that_says_nothing_is_let_go(void **state)
{
    struct grpc_world w = { .o.limits.header_ms = 50 };
    int64_t next;

    (void)state;
    grpc_world_open(&w);
    assert_int_equal(grpc_session_expire(&w.s, w.now + 50, &next, NULL), -ETIMEDOUT);
    grpc_world_close(&w);
}

static void an_idle_connection_is_left(void **state)
{
    struct grpc_world w = { .o.limits.idle_ms = 1000 };

    (void)state;
    grpc_world_open(&w);
    assert_string_equal(grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 10)->status, "0");
    grpc_world_expire(&w, 999);
    assert_false(w.left);
    grpc_world_expire(&w, 1);
    assert_true(w.left);
    assert_int_equal(w.goaway, NGHTTP2_NO_ERROR);
    assert_false(grpc_session_reads(&w.s));
    grpc_world_close(&w);
}

static void a_client_that_does_not_read_loses_the_answer(void **state)
{
    nghttp2_settings_entry shut = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 };
    struct grpc_world w = { .o.limits.write_ms = 50 };
    struct grpc_reply *a;

    (void)state;
    grpc_world_open(&w);
    assert_int_equal(nghttp2_submit_settings(w.client, NGHTTP2_FLAG_NONE, &shut, 1), 0);
    a = grpc_world_ask(&w, "/t.T/Big", GRPC_HELLO, 10);
    assert_false(a->closed);
    assert_int_equal(w.s.held.used, MIB);
    grpc_world_expire(&w, 50);
    assert_true(a->closed);
    assert_int_equal(a->error, NGHTTP2_CANCEL);
    assert_int_equal(w.s.held.used, 0);
    grpc_world_close(&w);
}

/* ---- the end ---- */

static void a_drained_connection_ends_with_its_last_call(void **state)
{
    struct grpc_world w = { .keep = true };
    struct grpc_reply *a;

    (void)state;
    grpc_world_open(&w);
    a = grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 10);
    grpc_session_notice(&w.s);
    (void)grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 10); /* it was under way */
    assert_int_equal(w.n_running, 2);
    grpc_session_leave(&w.s);
    assert_int_equal(grpc_world_pump(&w), 0);
    assert_true(w.left);
    assert_true(grpc_session_reads(&w.s));
    for (size_t i = 0; i < 2; i++)
        grpc_session_ran(w.running[i], grpc_world_echo(w.running[i], NULL), NULL);
    assert_int_equal(grpc_world_pump(&w), 0);
    assert_string_equal(a->status, "0");
    assert_false(grpc_session_reads(&w.s));
    grpc_world_close(&w);
}

static void what_is_not_http2_is_refused(void **state)
{
    struct grpc_world w = { 0 };

    (void)state;
    grpc_world_open(&w);
    assert_int_equal(
        grpc_session_feed(&w.s, (const uint8_t *)"GET / HTTP/1.1\r\n\r\n....", 22, w.now, NULL),
        -EPROTO);
    grpc_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_answered_with_its_message),
        cmocka_unit_test(what_cannot_be_answered_gets_the_status_that_says_why),
        cmocka_unit_test(compression_is_refused_and_what_is_accepted_is_told),
        cmocka_unit_test(a_request_that_is_not_grpc_is_answered_415),
        cmocka_unit_test(a_refused_upload_is_told_to_stop),
        cmocka_unit_test(headers_are_kept_when_they_were_asked_for),
        cmocka_unit_test(headers_have_a_limit),
        cmocka_unit_test(a_deadline_ends_the_call),
        cmocka_unit_test(a_message_that_comes_too_slowly_is_refused),
        cmocka_unit_test(a_header_that_never_ends_ends_the_connection),
        cmocka_unit_test(a_header_that_is_wrong_ends_its_stream_only),
        cmocka_unit_test(a_client_that_says_nothing_is_let_go),
        cmocka_unit_test(an_idle_connection_is_left),
        cmocka_unit_test(a_client_that_does_not_read_loses_the_answer),
        cmocka_unit_test(a_drained_connection_ends_with_its_last_call),
        cmocka_unit_test(what_is_not_http2_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
