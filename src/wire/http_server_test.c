/* http_server_test.c - claims about the server, asked by bytes on a socket. */
#include "wire/http_testing.h"

#include <string.h>

#define CLOSE "Host: h\r\nConnection: close\r\n"

struct row {
    const char *request, *answer; /* the whole of it, or with '*' at the end its beginning */
};

static void expect(struct http_world *w, const struct row *row)
{
    AUTO_FREE char *answer = http_world_ask(w, row->request);
    size_t n = strlen(row->answer);

    if (row->answer[n - 1] == '*' && strncmp(answer, row->answer, n - 1) == 0)
        return;
    assert_string_equal(answer, row->answer);
}

static const struct row answers[] = {
    { "GET /hello HTTP/1.1\r\n" CLOSE "\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n"
      "\r\nhello\n" },
    { "HEAD /hello HTTP/1.1\r\n" CLOSE "\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n"
      "\r\n" },
    { "GET /hello HTTP/1.0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n"
      "\r\nhello\n" },
    { "GET /stream?n=2 HTTP/1.1\r\n" CLOSE "\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\n\r\n8\r\nchunk 0\n\r\n8\r\nchunk 1\n\r\n0\r\n\r\n" },
    { "HEAD /stream?n=2 HTTP/1.1\r\n" CLOSE "\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\n\r\n" },
    { "GET /stream?n=2 HTTP/1.0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
      "chunk 0\nchunk 1\n" },
    { "GET /say?name=a%20b HTTP/1.1\r\n" CLOSE "\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 30\r\n"
      "Connection: close\r\n\r\n{\"name\":\"a b\",\"method\":\"GET\"}\n" },
    { "PUT /echo HTTP/1.1\r\n" CLOSE "Content-Length: 2\r\n\r\nhi",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\nX-First: yes\r\n\r\n2\r\nhi\r\n0\r\n\r\n" },
    { "PUT /echo HTTP/1.1\r\n" CLOSE "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\nX-First: yes\r\n\r\n2\r\nhi\r\n0\r\n\r\n" },
    { "PUT /echo HTTP/1.1\r\n" CLOSE "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n*" },
    { "PUT /unread HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nConnection: close\r\n"
      "\r\nnot read\n" },
    { "GET /half HTTP/1.1\r\nHost: h\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4\r\nhalf\r\n" },
    { "\r\nGET /hello HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200 OK\r\n*" },
};

static int expect_answers(void *arg)
{
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        expect(arg, &answers[i]);
    return 0;
}

static void answers_are_what_they_should_be_to_the_byte(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, expect_answers);
}

static const struct row errors[] = {
    { "GET /nothing HTTP/1.1\r\n" CLOSE "\r\n",
      "HTTP/1.1 404 Not Found\r\nContent-Type: application/json; charset=utf-8\r\n"
      "Content-Length: 54\r\nConnection: close\r\n\r\n"
      "{\"error\":{\"text\":\"there is no '/nothing'\",\"hint\":\"\"}}\n" },
    { "GET /fail?code=13 HTTP/1.1\r\n" CLOSE "\r\n",
      "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json; charset=utf-8\r\n"
      "Content-Length: 71\r\nConnection: close\r\n\r\n"
      "{\"error\":{\"text\":\"it failed with '\xef\xbf\xbd' in it\",\"hint\":\"try "
      "\\\"again\\\"\"}}\n" },
    { "GET /fail?code=22 HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 400 Bad Request\r\n*" },
    { "GET /fail?code=7 HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 413 Content Too Large\r\n*" },
    { "GET /fail?code=5 HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 500 Internal Server Error\r\n*" },
    { "GET /silent HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 500 Internal Server Error\r\n*" },
    { "HEAD /fail?code=2 HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 404 Not Found\r\n*" },
    { "nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n*" },
    { "GET /a HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n*" },
    { "GET /../etc/passwd HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 400 Bad Request\r\n*" },
    { "GET /%2e%2e/x HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 400 Bad Request\r\n*" },
    { "GET /%00 HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 400 Bad Request\r\n*" },
    { "PUT /echo HTTP/1.1\r\n" CLOSE "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 400 Bad Request\r\n*" },
    { "PUT /echo HTTP/1.1\r\n" CLOSE "Content-Length: 100000000\r\n\r\n",
      "HTTP/1.1 413 Content Too Large\r\n*" },
    { "PUT /echo HTTP/1.1\r\n" CLOSE "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 400 Bad Request\r\n*" },
    { "PUT /echo HTTP/1.1\r\n" CLOSE "Expect: wonders\r\nContent-Length: 1\r\n\r\n",
      "HTTP/1.1 417 Expectation Failed\r\n*" },
    { "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 501 Not Implemented\r\n*" },
    { "GET / HTTP/3.0\r\n\r\n", "HTTP/1.1 505 HTTP Version Not Supported\r\n*" },
};

static int expect_errors(void *arg)
{
    struct http_world *w = arg;

    for (size_t i = 0; i < COUNT_OF(errors); i++)
        expect(w, &errors[i]);
    return 0;
}

static void what_cannot_be_done_is_answered_with_the_status_that_fits(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, expect_errors);
}

/* ---- several requests on one connection ---- */

static int pipeline(void *arg)
{
    struct http_world *w = arg;
    AUTO_FREE char *got = http_world_ask(w, "GET /say?name=1 HTTP/1.1\r\nHost: h\r\n\r\n"
                                            "PUT /unread HTTP/1.1\r\nHost: h\r\n"
                                            "Content-Length: 3\r\n\r\nabc"
                                            "GET /fail?code=2 HTTP/1.1\r\nHost: h\r\n\r\n"
                                            "GET /say?name=2 HTTP/1.1\r\n" CLOSE "\r\n"
                                            "GET /say?name=3 HTTP/1.1\r\nHost: h\r\n\r\n");
    const char *at = got;
    static const char *const parts[] = { "200 OK",  "\"1\"",  "200 OK", "not read",
                                         "404 Not", "200 OK", "\"2\"" };

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        at = strstr(at, parts[i]);
        assert_non_null(at);
    }
    assert_null(strstr(at, "\"3\"")); /* after "close" nothing is heard */
    assert_int_equal(w->requests, 4);
    return 0;
}

static void requests_sent_ahead_are_answered_in_their_order(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, pipeline);
}

static int refuse_large_body_late(void *arg)
{
    struct http_world *w = arg;
    AUTO_BUF b = { .max = MIB };
    AUTO_FREE char *got = NULL;

    /* Far more than is drained, and sent before the answer is read. */
    assert_int_equal(
        buf_add_str(&b, "PUT /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n"), 0);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(buf_add_str(&b, "0123456789"), 0);
    assert_non_null(buf_text(&b));
    got = http_world_ask(w, buf_text(&b));
    assert_non_null(strstr(got, "not read"));
    return 0;
}

static void an_answer_is_not_lost_when_the_body_was_not_wanted(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, refuse_large_body_late);
}

/* ---- coming and going ---- */

static bool nobody(void *user, int fd)
{
    (void)user;
    (void)fd;
    return false;
}

static int be_turned_away(void *arg)
{
    static const struct row row = { "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n",
                                    "HTTP/1.1 403 Forbidden\r\n*" };

    expect(arg, &row);
    return 0;
}

static void who_may_not_ask_is_turned_away(void **state)
{
    struct http_world w = { .check = nobody };

    (void)state;
    http_world_run(&w, be_turned_away);
    assert_int_equal(w.requests, 0);
}

static bool is_free(struct http_world *w)
{
    AUTO_FREE char *got = http_world_ask(w, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n");

    return strncmp(got, "HTTP/1.1 200 OK\r\n", 17) == 0;
}

static int one_too_many(void *arg)
{
    static const struct row busy = { "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n",
                                     "HTTP/1.1 503 Service Unavailable\r\n*" };
    struct http_world *w = arg;
    struct sock *a = http_world_guest(w), *b = http_world_guest(w);

    expect(w, &busy);
    sock_close(a);
    while (!is_free(w)) /* the server has to hear of it first */
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    sock_close(b);
    return 0;
}

static int be_silent(void *arg)
{
    static const struct row fine = { "GET /hello HTTP/1.1\r\n" CLOSE "\r\n",
                                     "HTTP/1.1 200 OK\r\n*" };
    struct http_world *w = arg;
    struct sock *s[20];

    for (size_t i = 0; i < COUNT_OF(s); i++)
        s[i] = http_world_connect(w);
    expect(w, &fine);
    for (size_t i = 0; i < COUNT_OF(s); i++)
        sock_close(s[i]);
    return 0;
}

static void connections_that_ask_nothing_do_not_count(void **state)
{
    struct http_world w = { .limits = { .connections_max = 2 } };

    (void)state;
    http_world_run(&w, be_silent);
}

static void a_connection_too_many_is_answered_503(void **state)
{
    struct http_world w = { .limits = { .connections_max = 2 } };

    (void)state;
    http_world_run(&w, one_too_many);
}

/* Asks as one who wants to go on, and leaves the connection open after the answer. */
static int ask_and_stay(void *arg)
{
    static const char ask[] = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";
    struct http_world *w = arg;
    struct sock *s[20];

    for (size_t i = 0; i < COUNT_OF(s); i++) {
        char answer[256] = "";
        size_t n = 0;
        ssize_t r;

        s[i] = http_world_connect(w);
        assert_int_equal(sock_write(s[i], ask, strlen(ask), loop_in(w->loop, TEST_MS)), 0);
        while ((r = sock_read(s[i], answer + n, sizeof(answer) - 1 - n,
                              loop_in(w->loop, TEST_MS))) > 0)
            n += (size_t)r;
        assert_int_equal(r, 0); /* the server hung up */
        assert_int_equal(strncmp(answer, "HTTP/1.1 200 ", 13), 0);
        assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    }
    for (size_t i = 0; i < COUNT_OF(s); i++)
        sock_close(s[i]);
    return 0;
}

static void clients_that_never_hang_up_take_no_room_where_one_answer_is_all(void **state)
{
    struct http_world w = { .limits = { .connections_max = 2 }, .once = true };

    (void)state;
    http_world_run(&w, ask_and_stay);
}

static int stop_while_busy(void *arg)
{
    struct http_world *w = arg;
    struct sock *idle = http_world_connect(w), *busy = http_world_connect(w);
    static const char ask[] = "GET /never HTTP/1.1\r\nHost: h\r\n\r\n";
    char c;

    assert_int_equal(sock_write(busy, ask, strlen(ask), loop_in(w->loop, TEST_MS)), 0);
    http_world_await(w, &w->requests);
    w->server = http_server_stop(w->server);
    assert_int_equal(w->cancelled, 1);
    assert_int_equal(sock_read(idle, &c, 1, loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(sock_read(busy, &c, 1, loop_in(w->loop, TEST_MS)), 0);
    sock_close(idle);
    sock_close(busy);
    return 0;
}

static void stopping_cancels_handlers_and_waits_for_them(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, stop_while_busy);
}

static int leave(void *arg)
{
    struct http_world *w = arg;
    struct sock *s = http_world_connect(w);
    static const char ask[] = "GET /gone HTTP/1.1\r\nHost: h\r\n\r\nGET /more";

    assert_int_equal(sock_write(s, ask, strlen(ask), loop_in(w->loop, TEST_MS)), 0);
    http_world_await(w, &w->requests);
    assert_int_equal(fiber_sleep(w->loop, 2), 0);
    assert_int_equal(w->gone, 0);
    sock_close(s);
    http_world_await(w, &w->gone);
    return 0;
}

static void a_handler_sees_that_its_client_has_gone(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, leave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_what_they_should_be_to_the_byte),
        cmocka_unit_test(what_cannot_be_done_is_answered_with_the_status_that_fits),
        cmocka_unit_test(requests_sent_ahead_are_answered_in_their_order),
        cmocka_unit_test(an_answer_is_not_lost_when_the_body_was_not_wanted),
        cmocka_unit_test(who_may_not_ask_is_turned_away),
        cmocka_unit_test(connections_that_ask_nothing_do_not_count),
        cmocka_unit_test(a_connection_too_many_is_answered_503),
        cmocka_unit_test(clients_that_never_hang_up_take_no_room_where_one_answer_is_all),
        cmocka_unit_test(stopping_cancels_handlers_and_waits_for_them),
        cmocka_unit_test(a_handler_sees_that_its_client_has_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
