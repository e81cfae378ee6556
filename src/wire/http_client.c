/* http_client.c - one connection, one request at a time. What is left of an answer is read before
 * the next request, and a connection of which that is not certain is not used again. See http.h. */
#include "wire/http_conn.h"

#include <string.h>

#define HEAD_MAX (16 * KIB)
#define PIECE (4 * KIB)

/* `over` is set before a request goes out and taken back only when its answer's head says that the
 * connection lives: whatever fails in between leaves it set. */
struct http_client {
    struct http_conn conn;
    char *host;
    bool reading; /* an answer was begun and its end not seen */
    bool over;    /* nothing more can be asked on this connection */
};

int http_client_new(struct loop *l, struct stream *s, const char *host,
                    const struct http_limits *limits, struct http_client **ret, struct err *err)
{
    AUTO_FREE struct http_client *c = calloc(1, sizeof(*c));
    struct http_limits all = limits ? *limits : (struct http_limits){ 0 };

    if (c)
        c->host = strdup(host);
    if (!c || !c->host) {
        stream_close(s);
        return err_oom(err);
    }
    all.body_max = all.body_max ? all.body_max : UINT64_MAX;
    http_limits_fill(&all);
    http_conn_init(&c->conn, l, s, true, &all);
    *ret = take(c);
    return 0;
}

struct http_client *http_client_free(struct http_client *c)
{
    if (!c)
        return NULL;
    http_conn_done(&c->conn);
    free(c->host);
    free(c);
    return NULL;
}

/* ---- asking ---- */

/* Text in a request line or a header must not contain its end. */
static bool http_is_plain(const char *s, bool spaces)
{
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f || (*s == ' ' && !spaces))
            return false;
    }
    return true;
}

static int http_write_head(const struct http_client *c, const struct http_request *q,
                           struct buf *out)
{
    bool has = q->body || q->next;
    bool body = has || strcmp(q->method, "PUT") == 0 || strcmp(q->method, "POST") == 0;
    int r = buf_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: ydl/" YDL_VERSION "\r\n",
                       q->method, q->target, c->host);

    if (r == 0 && has)
        r = buf_printf(out, "Content-Type: %s\r\n", q->type ? q->type : "application/json");
    if (r == 0 && q->headers)
        r = buf_add_str(out, q->headers);
    if (r == 0 && body)
        r = buf_printf(out, "Content-Length: %zu\r\n", has ? q->size : 0);
    return r == 0 ? buf_add_str(out, "\r\n") : r;
}

/* The body of a request that gives it in pieces. */
static int http_send_pieces(struct http_client *c, const struct http_request *q, int64_t deadline,
                            struct err *err)
{
    char piece[PIECE];
    size_t left = q->next ? q->size : 0;

    while (left > 0) {
        ssize_t n = q->next(q->user, piece, left < sizeof(piece) ? left : sizeof(piece), err);
        struct http_out out = { .p = piece, .n = (size_t)n };
        int r;

        if (n == 0)
            return err_set(err, -ENODATA, "the request's body ended too early");
        r = n < 0 ? (int)n : http_conn_write(&c->conn, out, deadline, err);
        if (r < 0)
            return r;
        left -= (size_t)n;
    }
    return 0;
}

/* Sends the request. A server that answers before it has read everything may have closed already:
 * then its answer says more than our failure to write. */
static int send_request(struct http_client *c, const struct http_request *q, int64_t deadline,
                        struct err *err)
{
    AUTO_BUF head = { .max = HEAD_MAX };
    struct http_out out = { .p = q->body, .n = q->body ? q->size : 0 };
    struct err why = ERR_INIT;
    int r;

    if (!*q->method || !http_is_plain(q->method, false) || *q->target == '\0' ||
        !http_is_plain(q->target, false) || !http_is_plain(c->host, false) ||
        (q->type && !http_is_plain(q->type, true)))
        return err_set(err, -EINVAL, "'%s %s' is no request", q->method, q->target);
    r = http_write_head(c, q, &head);
    if (r < 0)
        return r == -E2BIG ? err_set(err, r, "a request of more than %zu bytes", head.max)
                           : err_oom(err);
    out.head = (const char *)head.data;
    out.head_size = head.len;
    r = http_conn_write(&c->conn, out, deadline, &why);
    if (r == 0)
        r = http_send_pieces(c, q, deadline, &why);
    if (r == 0 || r == -EPIPE || r == -ECONNRESET)
        return 0;
    if (err)
        *err = why;
    return r;
}

/* The head of the answer; those that only say "go on" are passed over. */
static int http_read_head(struct http_client *c, bool head_only, int64_t deadline, struct err *err)
{
    struct http_conn *conn = &c->conn;
    unsigned status;
    int r;

    do {
        http_parse_next(&conn->in);
        conn->in.no_body = head_only;
        r = http_conn_head(conn, deadline, err);
        if (r == 0)
            return err_set(err, -ECONNRESET, "the server closed the connection");
        if (r < 0)
            return r;
        status = conn->in.llhttp.status_code;
    } while (status / 100 == 1 && status != 101);
    return status < 200 ? err_set(err, -EPROTO, "the server answered with status %u", status) : 0;
}

static int skip_rest(struct http_client *c, int64_t deadline, struct err *err)
{
    char dropped[4 * KIB];
    ssize_t n = 1;

    while (c->reading && n > 0)
        n = http_read(c, dropped, sizeof(dropped), deadline, err);
    return n < 0 ? (int)n : 0;
}

int http_ask(struct http_client *c, const struct http_request *q, int64_t deadline,
             struct http_answer *ret, struct err *err)
{
    int r = skip_rest(c, deadline, err);

    if (r < 0)
        return r;
    if (c->over || http_conn_pending(&c->conn)) /* an answer to nothing would be the next one's */
        return err_set(err, -EPIPE, "this connection can be asked nothing more");
    c->over = true; /* until the answer says otherwise */
    r = send_request(c, q, deadline, err);
    if (q->answer_ms > 0 && loop_in(c->conn.loop, q->answer_ms) < deadline)
        deadline = loop_in(c->conn.loop, q->answer_ms);
    if (r == 0)
        r = http_read_head(c, strcmp(q->method, "HEAD") == 0, deadline, err);
    if (r < 0)
        return r;
    c->over = !c->conn.in.keep_alive;
    c->reading = true;
    ret->status = c->conn.in.llhttp.status_code;
    ret->length = c->conn.in.length;
    return 0;
}

/* A timeout or a cancellation leaves the answer where it is, to be read further. Any other failure
 * loses the place in it. */
ssize_t http_read(struct http_client *c, void *p, size_t n, int64_t deadline, struct err *err)
{
    ssize_t got;

    if (!c->reading)
        return 0;
    got = http_conn_body(&c->conn, p, n, deadline, err);
    if (got == 0)
        c->reading = false;
    if (got < 0 && got != -ETIMEDOUT && got != -ECANCELED && got != -ENOMEM) {
        c->reading = false;
        c->over = true;
    }
    return got;
}

const char *http_answer_header(const struct http_client *c, const char *name)
{
    return http_parse_header(&c->conn.in, name);
}

bool http_answer_header_at(const struct http_client *c, size_t i, struct http_header *ret)
{
    return http_parse_field(&c->conn.in, i, &ret->name, &ret->value);
}
