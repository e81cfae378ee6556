/* http_limits_test.c - claims about clients that are slow, endless or do not listen. */
#include "wire/http_testing.h"

#include <string.h>

#define SOON 200     /* ms: the limit that is to be met */
#define ENOUGH 60000 /* ms: by then it must have been */

static void put(struct http_world *w, struct sock *s, const char *text)
{
    assert_int_equal(sock_write(s, text, strlen(text), loop_in(w->loop, TEST_MS)), 0);
}

/* The answer begins like `want`, and then the connection ends. */
static void expect_end(struct http_world *w, struct sock *s, const char *want)
{
    char got[512] = "";
    size_t len = 0;
    ssize_t n;

    while ((n = sock_read(s, got + len, sizeof(got) - 1 - len, loop_in(w->loop, ENOUGH))) > 0)
        len += (size_t)n;
    got[len] = '\0';
    sock_close(s);
    got[strnlen(got, strlen(want))] = '\0';
    assert_string_equal(got, want);
    assert_int_equal(n, 0);
}

/* ---- heads ---- */

static int drip_a_head(void *arg)
{
    struct http_world *w = arg;
    struct sock *s = http_world_connect(w);

    put(w, s, "GET /hello HTTP/1.1\r\nHost: h\r\nX-Slow: ");
    expect_end(w, s, "HTTP/1.1 408 Request Timeout\r\n");
    assert_int_equal(w->requests, 0);
    return 0;
}

static void a_header_that_never_ends_is_answered_408(void **state)
{
    struct http_world w = { .limits = { .header_ms = SOON } };

    (void)state;
    http_world_run(&w, drip_a_head);
}

static int flood(void *arg)
{
    static const struct {
        const char *start, *rest, *answer;
    } rows[] = {
        { "GET / HTTP/1.1\r\nX: ", "0123456789", "HTTP/1.1 431 " },
        { "GET / HTTP/1.1\r\n", "X: y\r\n", "HTTP/1.1 431 " },
        { "GET /", "0123456789", "HTTP/1.1 414 " },
        { "", "\r\n\r\n\r\n\r\n\r\n", "HTTP/1.1 431 " },
    };
    struct http_world *w = arg;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sock *s = http_world_connect(w);

        put(w, s, rows[i].start);
        for (int n = 0; n < 5000; n++) /* more than all limits together */
            put(w, s, rows[i].rest);
        expect_end(w, s, rows[i].answer);
    }
    return 0;
}

static void a_head_without_end_is_answered_414_or_431(void **state)
{
    struct http_world w = { .limits = { .header_max = 8 * KIB } };

    (void)state;
    http_world_run(&w, flood);
}

static int say_nothing(void *arg)
{
    struct http_world *w = arg;
    struct sock *s = http_world_connect(w);

    expect_end(w, s, "");
    s = http_world_connect(w);
    put(w, s, "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_end(w, s, "HTTP/1.1 200 OK\r\n");
    return 0;
}

static void an_idle_connection_is_closed_without_a_word(void **state)
{
    struct http_world w = { .limits = { .header_ms = SOON, .idle_ms = SOON } };

    (void)state;
    http_world_run(&w, say_nothing);
}

/* ---- bodies ---- */

static int drip_a_body(void *arg)
{
    struct http_world *w = arg;
    struct sock *s = http_world_connect(w);
    int64_t start = loop_now(w->loop);

    put(w, s, "PUT /echo HTTP/1.1\r\nHost: h\r\nX-Begin: no\r\nContent-Length: 100\r\n\r\n");
    /* A byte now and then does not help. */
    while (!w->failed && loop_now(w->loop) < start + ENOUGH) {
        (void)sock_write(s, "x", 1, loop_in(w->loop, TEST_MS));
        assert_int_equal(fiber_sleep(w->loop, SOON / 6), 0);
    }
    assert_int_equal(w->failed, 1);
    sock_close(s);
    s = http_world_connect(w);
    put(w, s, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n");
    expect_end(w, s, "HTTP/1.1 408 Request Timeout\r\n");
    return 0;
}

static void a_body_that_drips_is_not_waited_for(void **state)
{
    struct http_world w = { .limits = { .body_ms = SOON } };

    (void)state;
    http_world_run(&w, drip_a_body);
}

static int send_too_much(void *arg)
{
    struct http_world *w = arg;
    struct sock *s = http_world_connect(w);

    put(w, s, "PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    put(w, s, "B\r\n01234567890\r\n0\r\n\r\n");
    expect_end(w, s, "HTTP/1.1 413 Content Too Large\r\n");
    return 0;
}

static void a_body_above_the_limit_is_answered_413(void **state)
{
    struct http_world w = { .limits = { .body_max = 10 } };

    (void)state;
    http_world_run(&w, send_too_much);
}

static int break_off(void *arg)
{
    struct http_world *w = arg;
    struct sock *s = http_world_connect(w);

    put(w, s, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc");
    sock_close(s);
    http_world_await(w, &w->failed);
    s = http_world_connect(w);
    put(w, s, "GET /hel");
    sock_close(s);
    return 0;
}

static void a_client_that_breaks_off_is_forgotten(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, break_off);
    assert_int_equal(w.requests, 1);
}

/* ---- answers ---- */

static void ask_others(struct http_world *w)
{
    for (int i = 0; i < 10; i++) {
        AUTO_FREE char *got = http_world_ask(w, "GET /hello HTTP/1.0\r\n\r\n");

        assert_non_null(strstr(got, "hello\n"));
    }
}

static int stop_reading(void *arg)
{
    struct http_world *w = arg;
    struct sock *s = http_world_connect(w);
    int64_t start;

    put(w, s, "GET /big?n=30000000 HTTP/1.1\r\nHost: h\r\n\r\n");
    http_world_await(w, &w->requests);
    start = loop_now(w->loop);
    ask_others(w);
    while (w->failed == 0 && loop_now(w->loop) < start + ENOUGH)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_equal(w->failed, 1);
    assert_int_equal(w->requests, 11);
    sock_close(s);
    return 0;
}

static void a_client_that_stops_reading_is_cut_off_and_slows_nobody(void **state)
{
    struct http_world w = { .limits = { .write_ms = 2 * SOON } };

    (void)state;
    http_world_run(&w, stop_reading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_that_never_ends_is_answered_408),
        cmocka_unit_test(a_head_without_end_is_answered_414_or_431),
        cmocka_unit_test(an_idle_connection_is_closed_without_a_word),
        cmocka_unit_test(a_body_that_drips_is_not_waited_for),
        cmocka_unit_test(a_body_above_the_limit_is_answered_413),
        cmocka_unit_test(a_client_that_breaks_off_is_forgotten),
        cmocka_unit_test(a_client_that_stops_reading_is_cut_off_and_slows_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
