/* http_drain_test.c - claims about the end of a server that answers what has begun. */
#include "wire/http_testing.h"

#include <string.h>

static int drain_now(void *arg, struct err *err)
{
    struct http_world *w = arg;

    (void)err;
    return http_server_drain(w->server, 1, loop_in(w->loop, TEST_MS));
}

/* What there is up to the end. */
static void expect_last(struct http_world *w, struct sock *s, const char *text)
{
    char answer[512] = "";
    size_t n = 0;
    ssize_t r;

    while ((r = sock_read(s, answer + n, sizeof(answer) - 1 - n, loop_in(w->loop, TEST_MS))) > 0)
        n += (size_t)r;
    assert_int_equal(r, 0);
    assert_non_null(strstr(answer, text));
}

static int drain_while_busy(void *arg)
{
    static const char ask[] = "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n";
    struct http_world *w = arg;
    struct sock *idle = http_world_guest(w), *busy = http_world_connect(w), *late = NULL;
    struct group g;

    group_init(&g, w->loop, 0);
    assert_int_equal(sock_write(busy, ask, strlen(ask), loop_in(w->loop, TEST_MS)), 0);
    while (w->requests < 2)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_equal(group_go(&g, drain_now, w, NULL), 0);
    expect_last(w, idle, "hello");
    assert_int_equal(
        sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, TEST_MS), &late, NULL),
        -ECONNREFUSED);
    assert_int_equal(http_server_open(w->server), 1);
    assert_int_equal(sock_write(busy, "hi", 2, loop_in(w->loop, TEST_MS)), 0);
    expect_last(w, busy, "Connection: close\r\n");
    assert_int_equal(group_wait(&g, NULL), 0);
    sock_close(idle);
    sock_close(busy);
    return 0;
}

static void draining_answers_what_has_begun_and_lets_nobody_in(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, drain_while_busy);
}

/* The head of the answer did not say that the connection ends, and its client keeps it open. */
static int drain_behind_a_head(void *arg)
{
    static const char ask[] =
        "PUT /echo HTTP/1.1\r\nHost: h\r\nX-Begin: yes\r\nContent-Length: 2\r\n\r\n";
    struct http_world *w = arg;
    struct sock *idle = http_world_guest(w), *busy = http_world_connect(w);
    char head[512] = "";
    struct group g;

    group_init(&g, w->loop, 0);
    assert_int_equal(sock_write(busy, ask, strlen(ask), loop_in(w->loop, TEST_MS)), 0);
    assert_true(sock_read(busy, head, sizeof(head) - 1, loop_in(w->loop, TEST_MS)) > 0);
    assert_null(strstr(head, "close"));
    assert_int_equal(group_go(&g, drain_now, w, NULL), 0);
    expect_last(w, idle, "hello"); /* the time for last requests is over */
    assert_int_equal(sock_write(busy, "hi", 2, loop_in(w->loop, TEST_MS)), 0);
    expect_last(w, busy, "0\r\n\r\n");
    assert_int_equal(group_wait(&g, NULL), 0);
    sock_close(idle);
    sock_close(busy);
    return 0;
}

static void draining_does_not_wait_for_another_request(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, drain_behind_a_head);
}

static int drain_as_one_comes(void *arg)
{
    static const char ask[] = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";
    struct http_world *w = arg;
    struct sock *s = http_world_connect(w);

    assert_int_equal(sock_write(s, ask, strlen(ask), loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(fiber_yield(w->loop), 0); /* it is let in behind us */
    assert_int_equal(w->requests, 0);
    assert_int_equal(http_server_drain(w->server, 1, loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(w->requests, 1);
    expect_last(w, s, "Connection: close\r\n");
    sock_close(s);
    return 0;
}

static void draining_answers_who_is_just_coming_in(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, drain_as_one_comes);
}

static int drain_with_little_time(void *arg)
{
    struct http_world *w = arg;
    struct sock *idle = http_world_guest(w);

    assert_int_equal(http_server_drain(w->server, TEST_MS, loop_in(w->loop, 20)), 0);
    sock_close(idle);
    return 0;
}

static void a_connection_without_a_request_is_not_cut_off(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, drain_with_little_time);
}

static int drain_too_short(void *arg)
{
    struct http_world *w = arg;
    struct sock *busy = http_world_connect(w);
    static const char ask[] = "GET /never HTTP/1.1\r\nHost: h\r\n\r\n";

    assert_int_equal(sock_write(busy, ask, strlen(ask), loop_in(w->loop, TEST_MS)), 0);
    http_world_await(w, &w->requests);
    assert_int_equal(http_server_drain(w->server, 1, loop_in(w->loop, 20)), -ETIMEDOUT);
    assert_int_equal(http_server_open(w->server), 1);
    sock_close(busy);
    return 0;
}

static void draining_ends_at_its_deadline(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, drain_too_short);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draining_answers_what_has_begun_and_lets_nobody_in),
        cmocka_unit_test(draining_does_not_wait_for_another_request),
        cmocka_unit_test(draining_answers_who_is_just_coming_in),
        cmocka_unit_test(a_connection_without_a_request_is_not_cut_off),
        cmocka_unit_test(draining_ends_at_its_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
