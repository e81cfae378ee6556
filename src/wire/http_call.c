/* http_call.c - the request's side of a call: what was asked, and its body. */
#include "wire/http_call.h"

#include <poll.h>
#include <string.h>

#define HEADERS_MAX (16 * KIB)         /* of an answer */
#define BODY_PACE ((uint64_t)64 * KIB) /* for each of these body_ms is granted once more */

void http_call_init(struct http_call *c, struct http_conn *conn)
{
    *c = (struct http_call){ .conn = conn };
    buf_init(&c->headers, HEADERS_MAX);
}

void http_call_done(struct http_call *c)
{
    http_target_done(&c->target);
    buf_done(&c->headers);
}

static int expectation(struct http_call *c, struct err *err)
{
    const char *expect = http_header(c, "Expect");

    if (!expect || !http_parse_is_11(&c->conn->in))
        return 0;
    if (strcasecmp(expect, "100-continue") != 0) {
        c->status = 417;
        return err_set(err, -EINVAL, "an Expect other than '100-continue'");
    }
    c->expects = c->conn->in.stage == HTTP_AT_BODY;
    return 0;
}

int http_call_open(struct http_call *c, struct err *err)
{
    const struct http_parse *in = &c->conn->in;
    int r;

    c->head_only = strcmp(http_parse_method(in), "HEAD") == 0;
    c->chunks = http_parse_is_11(in);
    c->last = c->conn->once || !in->keep_alive || !http_parse_is_11(in);
    r = http_target_parse(http_parse_target(in), &c->target, err);
    return r < 0 ? r : expectation(c, err);
}

const char *http_method(const struct http_call *c)
{
    return http_parse_method(&c->conn->in);
}

const char *http_path(const struct http_call *c)
{
    return c->target.path;
}

const char *http_raw(const struct http_call *c)
{
    return http_parse_target(&c->conn->in);
}

const char *http_query(const struct http_call *c, const char *name)
{
    return http_target_get(&c->target, name);
}

const char *http_header(const struct http_call *c, const char *name)
{
    return http_parse_header(&c->conn->in, name);
}

bool http_header_at(const struct http_call *c, size_t i, struct http_header *ret)
{
    return http_parse_field(&c->conn->in, i, &ret->name, &ret->value);
}

struct stream *http_stream(struct http_call *c)
{
    return c->conn->stream;
}

/* POLLRDHUP: the client has closed its side. One that has only shut down its writing looks the
 * same, and might still read, but clients of HTTP rarely do that. */
bool http_gone(struct http_call *c)
{
    struct pollfd p = { .fd = sock_fd(stream_sock(c->conn->stream)), .events = POLLRDHUP };

    return poll(&p, 1, 0) > 0;
}

/* How long the next piece may be waited for: a client has body_ms for the start and for every 64
 * KiB more. Only waiting counts, not what the handler does meanwhile. So whoever sends steadily may
 * take its time, and one that sends a byte now and then is cut off. */
static int64_t http_patience(const struct http_call *c)
{
    const struct http_conn *conn = c->conn;
    int64_t granted = (int64_t)(conn->in.body_seen / BODY_PACE + 1) * conn->limits.body_ms;

    return granted - c->waited;
}

uint64_t http_body_size(const struct http_call *c)
{
    const struct http_parse *in = &c->conn->in;

    return in->stage == HTTP_AT_END && in->body_seen == 0 ? 0 : in->length;
}

ssize_t http_body(struct http_call *c, void *p, size_t n, struct err *err)
{
    struct http_conn *conn = c->conn;
    int64_t start = loop_now(conn->loop);
    ssize_t got = http_reply_continue(c, err);

    if (got < 0)
        return got;
    got = http_conn_body(conn, p, n, start + http_patience(c), err);
    c->waited += loop_now(conn->loop) - start;
    if (got >= 0)
        return got;
    c->last = true;
    c->status = got == -ETIMEDOUT ? 408 : conn->in.status;
    if (got == -ETIMEDOUT)
        (void)err_set(err, (int)got, "the request's body came too slowly");
    return got;
}

int http_body_all(struct http_call *c, struct buf *ret, struct err *err)
{
    for (;;) {
        uint8_t piece[4 * KIB];
        ssize_t n = http_body(c, piece, sizeof(piece), err);
        int r;

        if (n <= 0)
            return (int)n;
        r = buf_add(ret, piece, (size_t)n);
        if (r == -E2BIG)
            return err_set(err, r, "a body of more than %zu bytes", ret->max);
        if (r < 0)
            return err_oom(err);
    }
}
