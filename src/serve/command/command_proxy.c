/* command_proxy.c - one request through. See command_proxy.h.
 *
 *     client ──head──► ──body, piece by piece──► program
 *     client ◄──head── ◄──pieces as they come─── program
 *
 * While the answer is waited for, the client's socket is watched for its end by a descriptor of its
 * own: then the connection to the program is shut down, which ends the wait and tells the program.
 */
#include "serve/command/command_proxy.h"
#include "base/json.h"
#include "base/str.h"
#include "serve/command/upstream.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <uv.h>

#define PIECE (16 * KIB)
#define WHOLE_MAX (64 * KIB)   /* an answer of a length up to this is sent in one piece */
#define HEADERS_MAX (24 * KIB) /* that are passed on */
#define ANSWER_MAX (12 * KIB)  /* headers of an answer that are passed on: less than we may send */
#define CHUNKED_MAX (16 * MIB) /* a body that does not tell its length */

struct pass {
    struct command_proxy *proxy;
    struct http_call *call;
    struct upstream *up;
    const char *id;
    struct command_passed *told;
    struct buf headers, body;
    uint64_t charged;
    struct err client_err; /* reading the client's body failed */
    bool gone, begun;
    struct watch *watch;
};

/* ---- the client's end ---- */

/* Outlives the pass by the time that libuv takes to close. */
struct watch {
    uv_poll_t poll;
    int fd;
    struct pass *pass; /* NULL: it is over */
};

static void watch_end_upstream(struct pass *x)
{
    x->gone = true;
    if (x->up)
        (void)shutdown(x->up->fd, SHUT_RDWR);
}

static void watch_on_event(uv_poll_t *h, int status, int events)
{
    struct watch *w = h->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(h);
    if (w->pass)
        watch_end_upstream(w->pass);
}

/* A descriptor of its own, since libuv polls each one only once in a loop, and the connection's is
 * polled already. UV_DISCONNECT tells of the end alone: the next request of the client, which may
 * be there already, stays unread. */
static void watch_start(struct pass *x)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (!w)
        return;
    w->fd = dup(sock_fd(stream_sock(http_stream(x->call))));
    if (w->fd < 0 || uv_poll_init(loop_uv(x->proxy->loop), &w->poll, w->fd) < 0) {
        if (w->fd >= 0)
            close(w->fd);
        free(w);
        return; /* then writing to it says that it is gone */
    }
    w->poll.data = w;
    w->pass = x;
    x->watch = w;
    (void)uv_poll_start(&w->poll, UV_DISCONNECT, watch_on_event);
}

static void watch_on_closed(uv_handle_t *h)
{
    struct watch *w = h->data;

    close(w->fd);
    free(w);
}

static void watch_stop(struct pass *x)
{
    struct watch *w = take(x->watch);

    if (!w)
        return;
    w->pass = NULL;
    (void)uv_poll_stop(&w->poll);
    uv_close((uv_handle_t *)&w->poll, watch_on_closed);
}

/* ---- headers ---- */

/* Is `name` one of the words of a list such as "keep-alive, x-mine"? */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    while (list && *list) {
        list += strspn(list, ", \t");
        if (strncasecmp(list, name, n) == 0 && strcspn(list, ", \t") == n)
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

/* Of one connection, or written by whoever sends the message. */
static bool is_own(const char *name, const char *connection)
{
    static const char own[] = "connection,keep-alive,proxy-connection,te,trailer,transfer-encoding,"
                              "upgrade,content-length,content-type,x-request-id";

    return is_listed(own, name) || is_listed(connection, name);
}

static int collect_headers(struct pass *x, struct err *err)
{
    static const char ours[] = "host,user-agent,expect,http2-settings";
    const char *connection = http_header(x->call, "Connection");
    const char *from = sock_peer_ip(stream_sock(http_stream(x->call)));
    struct http_header h;
    int r = 0;

    for (size_t i = 0; r == 0 && http_header_at(x->call, i, &h); i++)
        if (!is_own(h.name, connection) && !is_listed(ours, h.name) &&
            !(x->proxy->keyed && strcasecmp(h.name, "Authorization") == 0))
            r = buf_printf(&x->headers, "%s: %s\r\n", h.name, h.value);
    if (r == 0)
        r = buf_printf(&x->headers, "x-request-id: %s\r\nX-Forwarded-For: %s\r\n", x->id, from);
    if (r == -E2BIG)
        return err_set(err, -EINVAL, "the request's headers have more than %zu bytes", HEADERS_MAX);
    return r < 0 ? err_oom(err) : 0;
}

/* Looked at as a whole first: an answer that fails has none of them. */
static int pass_headers(struct pass *x, struct err *err)
{
    const struct http_client *from = x->up->client;
    const char *connection = http_answer_header(from, "Connection");
    struct http_header h;
    size_t size = 0;
    int r = 0;

    for (size_t i = 0; http_answer_header_at(from, i, &h); i++)
        size += strlen(h.name) + strlen(h.value) + 4;
    if (size > ANSWER_MAX)
        return err_set(err, -EPROTO, "its headers have more than %zu bytes", ANSWER_MAX);
    for (size_t i = 0; r == 0 && http_answer_header_at(from, i, &h); i++)
        if (!is_own(h.name, connection))
            r = http_reply_header(x->call, h.name, h.value, err);
    return r;
}

/* ---- the request ---- */

static ssize_t next_piece(void *user, void *p, size_t n, struct err *err)
{
    struct pass *x = user;
    ssize_t got = http_body(x->call, p, n, &x->client_err);

    if (got > 0)
        x->told->in += (uint64_t)got;
    if (got < 0) {
        x->client_err.code = (int)got;
        return err_set(err, (int)got, "%s", x->client_err.text);
    }
    return got;
}

/* A body whose length is not known, which the program is told before its first byte. */
static int collect_body(struct pass *x, struct err *err)
{
    uint64_t max = x->proxy->body_max < CHUNKED_MAX ? x->proxy->body_max : CHUNKED_MAX;
    int r;

    if (budget_take(x->proxy->memory, max) < 0)
        return err_set(err, -EAGAIN, "the server has no memory left for more requests");
    x->charged = max;
    buf_init(&x->body, max);
    r = http_body_all(x->call, &x->body, err);
    x->told->in = x->body.len;
    if (r < 0 && r != -E2BIG && r != -ENOMEM)
        x->client_err.code = r;
    return r;
}

/* A connection that was idle may end as we ask. Whether the program has seen the request is not
 * known then, and only such a one may be sent again: what generates or counts has a new connection.
 */
static bool can_be_repeated(const char *method)
{
    return str_eq(method, "GET") || str_eq(method, "HEAD") || str_eq(method, "OPTIONS");
}

static int ask_program(struct pass *x, struct http_answer *ret, struct err *err)
{
    struct command_proxy *p = x->proxy;
    int64_t deadline = loop_in(p->loop, p->wait_ms);
    uint64_t size = http_body_size(x->call);
    bool streams = size != 0 && size != UINT64_MAX;
    bool fresh = streams || !can_be_repeated(http_method(x->call));
    struct http_request q = { .method = http_method(x->call),
                              .target = http_raw(x->call),
                              .type = http_header(x->call, "Content-Type"),
                              .headers = (const char *)x->headers.data,
                              .answer_ms = p->wait_ms,
                              .user = x };
    int r;

    if (!q.type)
        q.type = "application/octet-stream";
    if (streams) {
        q.next = next_piece;
        q.size = size;
    } else if (x->body.len > 0) {
        q.body = x->body.data;
        q.size = x->body.len;
    }
    r = upstream_get(p, deadline, fresh, &x->up, err);
    if (r < 0)
        return r;
    watch_start(x);
    /* As long as the client sends: what it may take is what its pieces may, and the program's time
     * begins when it has them all. */
    r = http_ask(x->up->client, &q, streams ? LOOP_NEVER : deadline, ret, err);
    /* One that was idle may have been closed meanwhile. */
    if (r < 0 && x->up->used && !x->gone && (r == -ECONNRESET || r == -EPIPE)) {
        watch_stop(x);
        x->up = upstream_free(x->up);
        err_clear(err);
        r = upstream_get(p, deadline, true, &x->up, err);
        if (r < 0)
            return r;
        watch_start(x);
        r = http_ask(x->up->client, &q, deadline, ret, err);
    }
    return r;
}

/* ---- the answer ---- */

/* Those of a known length that is small, and those without a body. */
static int pass_whole(struct pass *x, const struct http_answer *a, const char *type,
                      struct err *err)
{
    AUTO_FREE char *body = malloc(a->length + 1);
    int64_t deadline = loop_in(x->proxy->loop, x->proxy->wait_ms);
    bool head = strcmp(http_method(x->call), "HEAD") == 0;
    size_t at = 0;
    ssize_t n = 1;

    if (!body)
        return err_oom(err);
    while (!head && at < a->length && n > 0) {
        n = http_read(x->up->client, body + at, a->length - at, deadline, err);
        at += n > 0 ? (size_t)n : 0;
    }
    if (n > 0) /* to the end, so that the connection can be used again */
        n = http_read(x->up->client, body + at, 1, deadline, err);
    if (n < 0)
        return (int)n;
    n = pass_headers(x, err);
    if (n < 0)
        return (int)n;
    x->told->out = at;
    x->told->status = a->status;
    x->begun = true;
    return http_reply(x->call, a->status, type, body, a->length, err);
}

static int pass_pieces(struct pass *x, const struct http_answer *a, const char *type,
                       struct err *err)
{
    AUTO_FREE char *piece = malloc(PIECE);
    ssize_t n = 1;
    int r = pass_headers(x, err);

    if (r < 0)
        return r;
    if (!piece)
        return err_oom(err);
    x->told->status = a->status;
    x->begun = true;
    r = http_reply_begin(x->call, a->status, type, err);
    while (r == 0 && n > 0) {
        n = http_read(x->up->client, piece, PIECE, loop_in(x->proxy->loop, x->proxy->wait_ms), err);
        if (n > 0) {
            x->told->out += (uint64_t)n;
            r = http_reply_write(x->call, piece, (size_t)n, err);
        }
    }
    if (r < 0 || n < 0)
        return r < 0 ? r : (int)n;
    return http_reply_end(x->call, err);
}

static int pass_answer(struct pass *x, const struct http_answer *a, struct err *err)
{
    const char *type = http_answer_header(x->up->client, "Content-Type");

    return a->length <= WHOLE_MAX ? pass_whole(x, a, type, err) : pass_pieces(x, a, type, err);
}

/* ---- failures ---- */

static int fail(struct pass *x, int status, const char *text, struct err *err)
{
    AUTO_JSON *v = NULL;

    x->told->status = status;
    if (status == 503 || status == 429)
        (void)http_reply_header(x->call, "Retry-After", "1", NULL);
    if (json_make(&v, err, "{s:o}", "error", json_text(text)) < 0)
        return -ENOMEM;
    return http_reply_json(x->call, status, v, err);
}

/* What went wrong is whose fault, in this order: the client's (its body is too large, too slow, or
 * cut off), ours (no memory), the program's, which was not asked (503), answered too late (504), or
 * ended or wrote nonsense with the request in its hands (502). */
static int tell_failure(struct pass *x, int r, const struct err *why, struct err *err)
{
    char text[600];

    if (r == -E2BIG)
        return fail(x, 413, why->text, err);
    if (x->client_err.code)
        return fail(x, x->client_err.code == -ETIMEDOUT ? 408 : 400, why->text, err);
    if (r == -EAGAIN)
        return fail(x, 429, why->text, err);
    if (r == -EINVAL)
        return fail(x, 400, why->text, err);
    if (r == -ETIMEDOUT)
        return fail(x, 504, "the model's program did not answer in time", err);
    if (r == -EHOSTDOWN) /* it was not asked */
        return fail(x, 503, why->text, err);
    if (!command_process_ready(x->proxy->process)) /* it ended meanwhile */
        (void)snprintf(text, sizeof(text), "the model's program does not answer: %s",
                       command_process_trouble(x->proxy->process));
    else
        (void)snprintf(text, sizeof(text), "%s: %s",
                       r == -EBADMSG || r == -EPROTO || r == -ENODATA
                           ? "the model's program gave a broken answer"
                           : "the model's program does not answer",
                       why->text);
    return fail(x, 502, text, err);
}

static int pass_through(struct pass *x, struct err *err)
{
    uint64_t size = http_body_size(x->call);
    struct http_answer a = { 0 };
    int r = 0;

    if (size != UINT64_MAX && size > x->proxy->body_max)
        return err_set(err, -E2BIG, "The request has more than %llu bytes, the limit here",
                       (unsigned long long)x->proxy->body_max);
    if (!command_process_ready(x->proxy->process))
        return err_set(err, -EHOSTDOWN, "the model's program is not ready: %s",
                       command_process_trouble(x->proxy->process));
    r = collect_headers(x, err);
    if (r == 0 && size == UINT64_MAX)
        r = collect_body(x, err);
    if (r == 0 && !buf_text(&x->headers))
        r = err_oom(err);
    if (r == 0)
        r = ask_program(x, &a, err);
    return r < 0 ? r : pass_answer(x, &a, err);
}

/* Once a head was sent there is no way to say that something failed but to end the connection: a
 * client that sees a body that is cut off knows that it is not whole. */
int command_proxy_pass(struct command_proxy *p, struct http_call *c, const char *id,
                       struct command_passed *ret, struct err *err)
{
    struct pass x = { .proxy = p, .call = c, .id = id, .told = ret };
    struct err why = ERR_INIT;
    int r;

    buf_init(&x.headers, HEADERS_MAX);
    r = pass_through(&x, &why);
    watch_stop(&x);
    if (r == 0)
        upstream_keep(p, take(x.up));
    upstream_free(x.up);
    budget_give(p->memory, x.charged);
    buf_done(&x.headers);
    buf_done(&x.body);
    if (r == 0)
        return 0;
    if (x.gone)
        ret->status = 499;
    if (x.gone || x.begun)
        return err_set(err, -ECONNRESET, "%s", x.gone ? "the client hung up" : why.text);
    return r == -ECANCELED ? err_set(err, r, "%s", why.text) : tell_failure(&x, r, &why, err);
}
