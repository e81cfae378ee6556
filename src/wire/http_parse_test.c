/* http_parse_test.c - claims about requests and answers, each fed whole and byte by byte. */
#include "test.h"
#include "wire/http_parse.h"

#include <stdio.h>
#include <string.h>

#define HEAD "POST /x HTTP/1.1\r\nHost: h\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

static struct http_limits limits(void)
{
    struct http_limits l = { .line_max = 64, .header_max = 200, .headers_max = 5, .body_max = 20 };

    http_limits_fill(&l);
    return l;
}

struct outcome {
    int result;
    size_t used;
    struct err err;
    struct buf body;
};

/* Feeds pieces of `step` bytes until the message is complete, the bytes are, or it fails. */
static void parse(struct http_parse *h, const char *text, size_t n, size_t step, struct outcome *o)
{
    while (o->used < n && h->stage != HTTP_AT_END) {
        size_t left = n - o->used, piece = left < step ? left : step;
        ssize_t used = http_parse_feed(h, text + o->used, piece, &o->err);

        if (used < 0) {
            o->result = (int)used;
            return;
        }
        o->used += (size_t)used;
        assert_int_equal(buf_add(&o->body, h->body.data, h->body.len), 0);
        buf_reset(&h->body);
    }
}

static void good_requests_are_understood(void **state)
{
    static const struct {
        const char *text, *method, *target, *body;
        bool keep_alive;
    } rows[] = {
        { "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "/", "", true },
        { "GET /a?b#c HTTP/1.1\r\nhOST:h\r\nX-Empty:\r\n\r\n", "GET", "/a?b#c", "", true },
        { "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET", "/", "", false },
        { "GET / HTTP/1.0\r\n\r\n", "GET", "/", "", false },
        { "\r\n\r\nHEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "HEAD", "/", "", true },
        { "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS", "*", "", true },
        { HEAD "Content-Length: 0\r\n\r\n", "POST", "/x", "", true },
        { HEAD "Content-Length: 5\r\n\r\nhello", "POST", "/x", "hello", true },
        { HEAD "Content-Length: 20\r\n\r\n01234567890123456789", "POST", "/x",
          "01234567890123456789", true },
        { CHUNKED "0\r\n\r\n", "POST", "/x", "", true },
        { CHUNKED "5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nTrailer: t\r\n\r\n", "POST", "/x", "hello!",
          true },
        { "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "GET", "/",
          "", true },
        { HEAD "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nhi", "POST",
          "/x", "hi", true },
    };
    static const size_t steps[] = { 1, 7, 100000 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(steps); i++) {
        size_t row = i / COUNT_OF(steps);
        struct http_limits l = limits();
        struct outcome o = { .body = { .max = 1000 } };
        struct http_parse h;

        http_parse_init(&h, false, &l);
        parse(&h, rows[row].text, strlen(rows[row].text), steps[i % COUNT_OF(steps)], &o);
        assert_string_equal(o.err.text, "");
        assert_int_equal(o.result, 0);
        assert_int_equal(h.stage, HTTP_AT_END);
        assert_int_equal(o.used, strlen(rows[row].text));
        assert_string_equal(http_parse_method(&h), rows[row].method);
        assert_string_equal(http_parse_target(&h), rows[row].target);
        assert_int_equal(h.keep_alive, rows[row].keep_alive);
        assert_int_equal(o.body.len, strlen(rows[row].body));
        assert_memory_equal(o.body.data ? (char *)o.body.data : "", rows[row].body, o.body.len);
        buf_done(&o.body);
        http_parse_done(&h);
    }
}

#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789"

struct bad_row {
    const char *text;
    size_t n; /* 0: up to its NUL */
    int status;
    const char *why;
};

static const struct bad_row bad_requests[] = {
    { "hello\r\n\r\n", 0, 400, "not HTTP/1.1: Invalid method encountered" },
    { "GET / HTTP/2.0\r\n\r\n", 0, 505, "another version than HTTP/1.1" },
    { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, 400, NULL },
    { "GET / HTTP/9.9\r\n\r\n", 0, 505, NULL },
    { "GET /\r\n\r\n", 0, 505, NULL },
    { "GET /" LONG " HTTP/1.1\r\n", 0, 414, "the request's target is too long" },
    { "GET / HTTP/1.1\r\n\r\n", 0, 400, "not exactly one Host" },
    { "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 0, 400, "not exactly one Host" },
    { "GET / HTTP/1.1\r\nA:1\r\nB:1\r\nC:1\r\nD:1\r\nE:1\r\nF:1\r\n", 0, 431, "too many headers" },
    { "GET / HTTP/1.1\r\nA: " LONG LONG LONG LONG LONG "\r\n", 0, 431, "the header is too large" },
    { HEAD "Content-Length: 21\r\n\r\n", 0, 413, "the body is too large" },
    { HEAD "Content-Length: 99999999999999999999999\r\n\r\n", 0, 400, NULL },
    { HEAD "Content-Length: +5\r\n\r\n", 0, 400, NULL },
    { HEAD "Content-Length: 5 5\r\n\r\n", 0, 400, NULL },
    { HEAD "Content-Length: 0x5\r\n\r\n", 0, 400, NULL },
    { HEAD "Content-Length:\r\n\r\n", 0, 400, NULL },
    { HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 0, 400, NULL },
    { HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, 400, NULL },
    { HEAD "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 0, 400, NULL },
    { HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 0, 400,
      "a Transfer-Encoding other than 'chunked'" },
    { HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 400, NULL },
    { HEAD "Transfer-Encoding: identity\r\n\r\n", 0, 400, NULL },
    { HEAD "Transfer-Encoding: \x0b"
           "chunked\r\n\r\n",
      0, 400, NULL },
    { HEAD "Transfer-Encoding : chunked\r\n\r\n", 0, 400, NULL },
    { HEAD "Content-Length : 5\r\n\r\n", 0, 400, NULL },
    { "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 400,
      "a Transfer-Encoding in HTTP/1.0" },
    { "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 0, 501, "this is no proxy" },
    { "GET /\0x HTTP/1.1\r\n", 19, 400, NULL },
    { "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29, 400, NULL },
    { "GET / HTTP/1.1\r\nHo\0st: a\r\n\r\n", 28, 400, NULL },
    { "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 0, 400, NULL },
    { "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 0, 400,
      "a header line that begins with a blank" },
    { "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 0, 400, NULL },
    { "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", 0, 400, NULL },
    { CHUNKED "5\r\nhello\r\nx\r\n", 0, 400, NULL },
    { CHUNKED "5\r\nhelloworld", 0, 400, NULL },
    { CHUNKED "15\r\n012345678901234567890\r\n", 0, 413, "the body is too large" },
    { CHUNKED "fffffffffffffffff\r\n", 0, 400, NULL },
    { CHUNKED "-1\r\n", 0, 400, NULL },
    { CHUNKED "1;" LONG LONG LONG LONG "\r\n", 0, 400, "more chunk headers than content" },
    { CHUNKED "0\r\nA: " LONG LONG LONG LONG "\r\n", 0, 400, "more chunk headers than content" },
};

static void bad_requests_are_refused_with_the_status_that_fits(void **state)
{
    static const size_t steps[] = { 1, 100000 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad_requests) * COUNT_OF(steps); i++) {
        const struct bad_row *row = &bad_requests[i / COUNT_OF(steps)];
        struct http_limits l = limits();
        struct outcome o = { .body = { .max = 1000 } };
        struct http_parse h;

        http_parse_init(&h, false, &l);
        parse(&h, row->text, row->n ? row->n : strlen(row->text), steps[i % COUNT_OF(steps)], &o);
        if (h.status != row->status)
            print_message("'%s': %d %s\n", row->text, h.status, o.err.text);
        assert_int_equal(o.result, -EBADMSG);
        assert_int_equal(h.status, row->status);
        if (row->why)
            assert_string_equal(o.err.text, row->why);
        buf_done(&o.body);
        http_parse_done(&h);
    }
}

static void the_next_request_is_left_for_later(void **state)
{
    static const char two[] = HEAD "Content-Length: 2\r\n\r\nhiGET /2 HTTP/1.1\r\nHost: h\r\n\r\n";
    struct http_limits l = limits();
    struct outcome o = { .body = { .max = 1000 } };
    struct http_parse h;
    size_t first;

    (void)state;
    http_parse_init(&h, false, &l);
    parse(&h, two, strlen(two), 1000, &o);
    assert_int_equal(h.stage, HTTP_AT_END);
    first = o.used;
    assert_string_equal(two + first, "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    http_parse_next(&h);
    parse(&h, two, strlen(two), 1000, &o);
    assert_int_equal(h.stage, HTTP_AT_END);
    assert_string_equal(http_parse_target(&h), "/2");
    assert_int_equal(o.used, strlen(two));
    buf_done(&o.body);
    http_parse_done(&h);
}

static void answers_are_understood(void **state)
{
    static const struct {
        const char *text;
        bool head, to_the_end, keep_alive;
        unsigned status;
        uint64_t length;
        const char *body;
    } rows[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, false, true, 200, 2, "hi" },
        { "HTTP/1.1 204 No Content\r\n\r\n", false, false, true, 204, UINT64_MAX, "" },
        { "HTTP/1.1 304 \r\nContent-Length: 7\r\n\r\n", false, false, true, 304, 7, "" },
        { "HTTP/1.1 100 Continue\r\n\r\n", false, false, true, 100, UINT64_MAX, "" },
        { "HTTP/1.1 200 OK\r\n\r\nall of it", false, true, false, 200, UINT64_MAX, "all of it" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true, false, true, 200, 7, "" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", false, false,
          true, 200, UINT64_MAX, "hi" },
        { "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false, false,
          false, 404, 0, "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_limits l = limits();
        struct outcome o = { .body = { .max = 1000 } };
        struct http_parse h;

        http_parse_init(&h, true, &l);
        h.no_body = rows[i].head;
        parse(&h, rows[i].text, strlen(rows[i].text), 1000, &o);
        assert_string_equal(o.err.text, "");
        assert_int_equal(h.stage, rows[i].to_the_end ? HTTP_AT_BODY : HTTP_AT_END);
        assert_int_equal(http_parse_end(&h, &o.err), 0);
        assert_int_equal(h.llhttp.status_code, rows[i].status);
        assert_int_equal(h.keep_alive, rows[i].keep_alive);
        assert_true(h.length == rows[i].length);
        assert_int_equal(o.body.len, strlen(rows[i].body));
        assert_memory_equal(o.body.data ? (char *)o.body.data : "", rows[i].body, o.body.len);
        buf_done(&o.body);
        http_parse_done(&h);
    }
}

static void an_answer_that_breaks_off_is_not_taken_for_whole(void **state)
{
    static const char *const rows[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_limits l = limits();
        struct outcome o = { .body = { .max = 1000 } };
        struct http_parse h;

        http_parse_init(&h, true, &l);
        parse(&h, rows[i], strlen(rows[i]), 1000, &o);
        assert_int_equal(http_parse_end(&h, &o.err), -ENODATA);
        assert_string_equal(o.err.text, "the other side ended inside a message");
        buf_done(&o.body);
        http_parse_done(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_requests_are_understood),
        cmocka_unit_test(bad_requests_are_refused_with_the_status_that_fits),
        cmocka_unit_test(the_next_request_is_left_for_later),
        cmocka_unit_test(answers_are_understood),
        cmocka_unit_test(an_answer_that_breaks_off_is_not_taken_for_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
