/* http_conn.c - a message ends where the parser says, and what was read beyond it stays in the
 * buffer for the next one (pipelining). See http_conn.h. */
#include "wire/http_conn.h"

#include <string.h>

void http_conn_init(struct http_conn *c, struct loop *l, struct stream *s, bool answers,
                    const struct http_limits *limits)
{
    *c = (struct http_conn){ .loop = l, .stream = s, .limits = *limits };
    buf_init(&c->raw, HTTP_READ);
    http_parse_init(&c->in, answers, &c->limits);
}

void http_conn_done(struct http_conn *c)
{
    c->stream = stream_close(c->stream);
    buf_done(&c->raw);
    http_parse_done(&c->in);
}

bool http_conn_pending(const struct http_conn *c)
{
    return c->raw_at < c->raw.len;
}

ssize_t http_conn_fill(struct http_conn *c, int64_t deadline, struct err *err)
{
    uint8_t *at = NULL;
    ssize_t n;

    buf_eat(&c->raw, c->raw_at);
    c->raw_at = 0;
    if (buf_room(&c->raw, HTTP_READ - c->raw.len, &at) < 0)
        return err_oom(err);
    n = stream_read(c->stream, at, HTTP_READ - c->raw.len, deadline);
    if (n < 0)
        return err_code(err, (int)n, "read from the other side");
    c->raw.len += (size_t)n;
    return n;
}

/* Gives the parser what was read; the next call reads more once all of it is used. */
static int parse_some(struct http_conn *c, struct err *err)
{
    const uint8_t *p = c->raw.data ? c->raw.data + c->raw_at : (const uint8_t *)"";
    ssize_t used = http_parse_feed(&c->in, p, c->raw.len - c->raw_at, err);

    if (used < 0)
        return (int)used;
    c->raw_at += (size_t)used;
    return 0;
}

/* The end before the first byte is the normal end of a connection; after it, a message was cut
 * off. */
int http_conn_head(struct http_conn *c, int64_t deadline, struct err *err)
{
    int r = 0;

    while (r == 0 && c->in.stage == HTTP_AT_HEAD) {
        ssize_t n = 1;

        if (!http_conn_pending(c))
            n = http_conn_fill(c, deadline, err);
        if (n == 0 && c->in.head_bytes == 0)
            return 0;
        if (n == 0)
            return err_set(err, -ENODATA, "the other side ended inside a header");
        r = n < 0 ? (int)n : parse_some(c, err);
    }
    return r < 0 ? r : 1;
}

static ssize_t take_body(struct http_conn *c, void *p, size_t n)
{
    struct buf *b = &c->in.body;

    n = n < b->len ? n : b->len;
    memcpy(p, b->data, n);
    buf_eat(b, n);
    return (ssize_t)n;
}

ssize_t http_conn_body(struct http_conn *c, void *p, size_t n, int64_t deadline, struct err *err)
{
    int r = 0;

    while (r == 0) {
        ssize_t got = 1;

        if (c->in.body.len > 0)
            return take_body(c, p, n);
        if (c->in.stage == HTTP_AT_END)
            return 0;
        if (!http_conn_pending(c))
            got = http_conn_fill(c, deadline, err);
        if (got > 0)
            r = parse_some(c, err);
        else
            r = got < 0 ? (int)got : http_parse_end(&c->in, err);
    }
    return r;
}

/* ---- writing ---- */

/* Each piece has a deadline of its own: a slow client that reads steadily may take as long as it
 * needs, one that has stopped reading is given up. */
static int write_piece(struct http_conn *c, struct iovec *iov, int count, int64_t deadline,
                       struct err *err)
{
    int64_t soon = loop_in(c->loop, c->limits.write_ms);
    int r;

    if (fiber_cancelled(c->loop)) /* a client that reads fast must not keep us from noticing */
        return err_set(err, -ECANCELED, "interrupted");
    r = stream_writev(c->stream, iov, count, soon < deadline ? soon : deadline);
    return r < 0 ? err_code(err, r, "write to the other side") : 0;
}

/* Head, body and tail go out in one system call where they fit. HTTP_PIECE bounds what one deadline
 * is for. */
int http_conn_write(struct http_conn *c, struct http_out out, int64_t deadline, struct err *err)
{
    const char *at = out.p;
    int r;

    do {
        size_t n = out.n < HTTP_PIECE ? out.n : HTTP_PIECE;
        size_t tail = out.n == n && out.tail ? strlen(out.tail) : 0;
        struct iovec iov[] = { { (void *)out.head, out.head_size },
                               { (void *)at, n },
                               { (void *)out.tail, tail } };

        r = write_piece(c, iov, COUNT_OF(iov), deadline, err);
        out.head_size = 0;
        out.n -= n;
        at = out.n > 0 ? at + n : NULL;
    } while (r == 0 && out.n > 0);
    return r;
}
