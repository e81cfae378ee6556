/* http_server.c - serves each connection on a fiber, one request after the other. A failed request
 * gets an answer if none was begun; before closing, unread bytes are taken for a moment, because
 * the kernel would otherwise reset the connection and the client could lose the answer.
 *
 *     admission ──► TLS ──► first bytes ──► HTTP/1.1: request, answer, request, … ──► linger, close
 *                                       └─► the preface of HTTP/2: handed over (gRPC)
 *
 * See http.h. */
#include "base/log.h"
#include "loop/listen.h"
#include "wire/admission.h"
#include "wire/http_call.h"
#include "wire/http_status.h"

#include <string.h>

#define DRAIN_MAX (64 * KIB) /* of a body that the handler did not read */
#define LINGER_MAX                                                                                 \
    (256 * KIB) /* that a client may still send before it has read our last answer                 \
                 */
#define LINGER_MS 1000
#define STRANGER_MS 3000
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define PREFACE_BYTES (sizeof(PREFACE) - 1)

/* A connection that was let in. Lives on the stack of its fiber. */
struct http_guest {
    struct http_guest *prev, *next;
    struct http_conn *conn;
    struct fiber *fiber;
    bool busy; /* a request has begun */
};

struct http_server {
    struct loop *loop;
    struct http_server_options o;
    struct http_limits limits;
    struct stream_tls *tls; /* NULL: plain */
    struct admission *admission;
    char forbidden[384], late[384]; /* answers to those that get no further */
    size_t open;                    /* connections that were let in */
    struct http_guest *guests;      /* the same */
    struct cond left;               /* one of them has gone */
    bool draining;
    int64_t last_call; /* from then on nobody waits for a request: LOOP_NEVER, or draining */
};

/* ---- ends ---- */

/* Closing while bytes lie unread makes the kernel reset the connection, and the client may lose the
 * answer before it has seen it. So its bytes are taken and dropped for a moment. */
static void linger(struct http_server *s, struct sock *sock)
{
    int64_t deadline = loop_in(s->loop, LINGER_MS);
    char dropped[4 * KIB];
    size_t total = 0;
    ssize_t n;

    (void)shutdown(sock_fd(sock), SHUT_WR);
    do {
        n = sock_read(sock, dropped, sizeof(dropped), deadline);
        total += n > 0 ? (size_t)n : 0;
    } while (n > 0 && total < LINGER_MAX);
}

/* An answer before any request, where none could be read. */
static void answer_text(char *out, size_t n, int status, const char *why)
{
    char body[128];

    (void)snprintf(body, sizeof(body), "{\"error\":{\"text\":\"%s\",\"hint\":\"\"}}\n", why);
    (void)snprintf(out, n,
                   "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                   "Connection: close\r\n\r\n%s",
                   status, http_status_text(status), strlen(body), body);
}

static void turn_away(struct http_server *s, struct sock *sock)
{
    char text[384];

    answer_text(text, sizeof(text), 503, "too many connections");
    (void)send(sock_fd(sock), text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    linger(s, sock);
}

/* ---- one request ---- */

static int http_server_answer(struct http_server *s, struct http_call *c, struct err *err)
{
    int r = http_call_open(c, err);

    if (r == 0)
        r = s->o.handler(s->o.user, c, err);
    if (r == 0 && c->answer == HTTP_UNANSWERED)
        r = err_set(err, -EIO, "the handler gave no answer");
    if (r == 0 && c->answer == HTTP_STREAMING)
        r = http_reply_end(c, err);
    return r;
}

/* Makes the best of a failure: an answer if none was begun, else the end of the connection. */
static void answer_failure(struct http_call *c, int code, const struct err *why)
{
    if (c->answer != HTTP_UNANSWERED) {
        c->last |= c->answer == HTTP_STREAMING;
        return;
    }
    trace(LOG_WIRE, "http: %s", why->text);
    if (http_reply_error(c, code, why, NULL) < 0)
        c->last = true;
}

/* The rest of a body that the handler did not want; more than a little is not worth it. */
static bool drained(struct http_server *s, struct http_conn *conn)
{
    int64_t deadline = loop_in(s->loop, LINGER_MS);
    char dropped[4 * KIB];
    size_t total = 0;
    ssize_t n;

    do {
        n = http_conn_body(conn, dropped, sizeof(dropped), deadline, NULL);
        total += n > 0 ? (size_t)n : 0;
    } while (n > 0 && total < DRAIN_MAX);
    return n == 0;
}

/* A head that did not come, or was none. What the status is for nobody is 0: a broken connection.
 */
static void answer_bad_head(struct http_call *c, int code, struct err *why)
{
    c->last = true;
    c->status = code == -ETIMEDOUT ? 408 : c->conn->in.status;
    if (code == -ETIMEDOUT)
        (void)err_set(why, code, "the request's header came too slowly");
    if (c->status)
        answer_failure(c, code, why);
}

/* The first bytes of a request: 1, or 0 when none came in time. */
static bool request_comes(struct http_server *s, struct http_conn *conn, int64_t ms)
{
    int64_t deadline = loop_in(s->loop, ms);

    deadline = deadline < s->last_call ? deadline : s->last_call;
    return http_conn_pending(conn) || http_conn_fill(conn, deadline, NULL) > 0;
}

/* The first bytes of the next request: a client reads its answer before it asks again, so that the
 * first attempt to read would find nothing. */
static bool next_comes(struct http_server *s, struct http_conn *conn)
{
    int64_t deadline = loop_in(s->loop, s->limits.idle_ms);

    deadline = deadline < s->last_call ? deadline : s->last_call;
    if (!http_conn_pending(conn) && stream_wait(conn->stream, deadline) < 0)
        return false;
    return request_comes(s, conn, s->limits.idle_ms);
}

/* Returns whether another request may follow. */
static bool serve_request(struct http_server *s, struct http_conn *conn)
{
    struct err err = ERR_INIT;
    struct http_call c;
    bool more;
    int r;

    http_call_init(&c, conn);
    r = http_conn_head(conn, loop_in(s->loop, s->limits.header_ms), &err);
    if (r < 0) {
        answer_bad_head(&c, r, &err);
    } else if (r > 0) {
        r = http_server_answer(s, &c, &err);
        if (r < 0)
            answer_failure(&c, r, &err);
    }
    more = c.answer == HTTP_ANSWERED && !c.last && drained(s, conn) && !fiber_cancelled(s->loop);
    if (!more && (http_conn_pending(conn) || conn->in.stage != HTTP_AT_END))
        linger(s, stream_sock(conn->stream));
    http_call_done(&c);
    http_parse_next(&conn->in);
    return more;
}

/* ---- connections ---- */

/* A stranger's time, for the first word and for the key. */
static int64_t first_ms(const struct http_server *s)
{
    return s->limits.header_ms < STRANGER_MS ? s->limits.header_ms : STRANGER_MS;
}

static int http_server_open_stream(struct http_server *s, struct sock *sock, struct stream **ret)
{
    char host[64];
    struct err err = ERR_INIT;
    int r;

    if (!s->tls)
        return stream_plain(sock, ret, NULL);
    (void)snprintf(host, sizeof(host), "%s", sock_peer_ip(sock));
    r = stream_tls_start(s->tls, sock, loop_in(s->loop, first_ms(s)), ret, &err);
    if (r < 0 && r != -ECANCELED)
        admission_refused(s->admission, host, err.text);
    return r;
}

/* The client's first bytes tell, of which at least one is there: 1 or 0; negative when too few of
 * them come. The preface is no valid request of HTTP/1.1, made so that the two cannot be confused
 * (RFC 9113, 3.4). One byte that differs decides. */
static int speaks_http2(struct http_server *s, struct http_conn *conn)
{
    int64_t deadline = loop_in(s->loop, s->limits.header_ms);

    while (s->o.http2 &&
           memcmp(conn->raw.data, PREFACE,
                  conn->raw.len < PREFACE_BYTES ? conn->raw.len : PREFACE_BYTES) == 0) {
        if (conn->raw.len >= PREFACE_BYTES)
            return 1;
        if (http_conn_fill(conn, deadline, NULL) <= 0)
            return -ENODATA;
    }
    return 0;
}

static void guest_add(struct http_server *s, struct http_guest *g)
{
    g->next = s->guests;
    if (s->guests)
        s->guests->prev = g;
    s->guests = g;
    s->open++;
}

static void guest_remove(struct http_server *s, struct http_guest *g)
{
    *(g->prev ? &g->prev->next : &s->guests) = g->next;
    if (g->next)
        g->next->prev = g->prev;
    s->open--;
    cond_wake_all(&s->left);
}

/* `busy` is what a drain goes by: between two requests it is false, and the fiber may be cancelled
 * without a client losing an answer. */
static void http_server_serve(struct http_server *s, struct stream *stream)
{
    struct http_conn conn;
    struct http_guest guest = { .conn = &conn, .fiber = fiber_self(s->loop) };
    int r;

    http_conn_init(&conn, s->loop, stream, false, &s->limits);
    conn.headers = s->o.headers;
    conn.bare_errors = s->o.bare_errors;
    conn.once = s->o.once || s->draining;
    guest_add(s, &guest);
    r = request_comes(s, &conn, s->limits.header_ms) ? speaks_http2(s, &conn) : -ENODATA;
    guest.busy = r >= 0;
    if (r > 0) /* which ends when it has drained by itself */
        s->o.http2(s->o.http2_user, take(conn.stream), conn.raw.data, conn.raw.len);
    while (r == 0 && guest.busy && serve_request(s, &conn)) {
        guest.busy = false;
        guest.busy = next_comes(s, &conn);
    }
    http_conn_done(&conn);
    guest_remove(s, &guest);
}

/* Only those that have the key, or may connect without one, count towards the server's limit. */
static void on_connection(void *user, struct visitor *v, struct sock *sock)
{
    struct http_server *s = user;
    struct stream *stream = NULL;

    if (!s->tls && s->open >= s->limits.connections_max) {
        turn_away(s, sock);
        sock_close(sock);
        return;
    }
    if (http_server_open_stream(s, sock, &stream) < 0)
        return;
    if (s->open >= s->limits.connections_max) {
        stream_close(stream);
        return;
    }
    if (!s->o.strangers)
        admission_pass(v);
    http_server_serve(s, stream);
}

/* ---- the interface ---- */

static bool http_server_check_peer(void *user, int fd)
{
    const struct http_server *s = user;

    return s->o.check(s->o.user, fd);
}

static bool http_server_vouch_for_peer(void *user, int fd)
{
    const struct http_server *s = user;

    return s->o.vouch(s->o.user, fd);
}

static struct http_server *server_free(struct http_server *s)
{
    stream_tls_free(s->tls);
    free(s);
    return NULL;
}

static int start_admission(struct http_server *s, struct err *err)
{
    struct admission_options o = { .loop = s->loop,
                                   .fd = s->o.fd,
                                   .name = s->o.name ? s->o.name : "http",
                                   .first = s->tls ? admission_first_tls : admission_first_http,
                                   .check = s->o.check ? http_server_check_peer : NULL,
                                   .vouch = s->o.vouch ? http_server_vouch_for_peer : NULL,
                                   .serve = on_connection,
                                   .user = s,
                                   .forbidden = s->tls ? NULL : s->forbidden,
                                   .late = s->tls ? NULL : s->late,
                                   .wait_ms = first_ms(s) };

    if (s->o.vouch) /* the handler may be slow, which is not the peer's fault */
        o.entering_max = s->limits.connections_max;

    answer_text(s->forbidden, sizeof(s->forbidden), 403, "this address or user may not ask here");
    answer_text(s->late, sizeof(s->late), 408, "the request's header came too slowly");
    return admission_start(&o, &s->admission, err);
}

/* Browsers and curl know both, and are to have what the handler speaks. Clients of gRPC know HTTP/2
 * only. */
static const char *const protocols[] = { "http/1.1", "h2", NULL };

int http_server_start(const struct http_server_options *o, struct http_server **ret,
                      struct err *err)
{
    struct http_server *s = calloc(1, sizeof(*s));
    int r = 0;

    if (!s) {
        listen_close(o->fd);
        stream_tls_free(o->tls);
        return err_oom(err);
    }
    s->loop = o->loop;
    s->tls = o->tls;
    s->o = *o;
    s->limits = o->limits;
    s->last_call = LOOP_NEVER;
    http_limits_fill(&s->limits);
    if (o->key && !o->tls)
        r = stream_tls_new(o->key, true, &s->tls, err);
    if (s->tls && o->http2)
        stream_tls_offer(s->tls, protocols);
    s->o.key = NULL;
    if (r < 0)
        listen_close(o->fd);
    else
        r = start_admission(s, err);
    if (r < 0) {
        server_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

static void drain_idle(struct http_server *s)
{
    for (struct http_guest *g = s->guests; g; g = g->next)
        if (!g->busy)
            fiber_cancel(g->fiber);
}

static bool any_busy(const struct http_server *s)
{
    for (const struct http_guest *g = s->guests; g; g = g->next)
        if (g->busy)
            return true;
    return false;
}

/* Two deadlines. Connections without a request may bring one until `idle_ms` is over, because a
 * load balancer that has not noticed yet may just be sending it; their answers say "Connection:
 * close". Requests that have begun are waited for until `deadline`. */
int http_server_drain(struct http_server *s, int64_t idle_ms, int64_t deadline)
{
    int64_t idle_until = loop_in(s->loop, idle_ms);
    bool called = false; /* those without a request were sent away */
    int r = 0;

    s->draining = true;
    s->last_call = idle_until < deadline ? idle_until : deadline;
    admission_stop(s->admission);
    (void)fiber_yield(s->loop); /* who was let in this very turn has not come in yet */
    for (struct http_guest *g = s->guests; g; g = g->next)
        g->conn->once = true;
    while (s->open > 0 && r == 0) {
        r = cond_wait(s->loop, &s->left, called ? deadline : s->last_call);
        if (r == -ETIMEDOUT && !called) {
            called = true;
            drain_idle(s);
            r = 0;
        }
    }
    return r == -ETIMEDOUT && !any_busy(s) ? 0 : s->open > 0 ? r : 0;
}

size_t http_server_open(const struct http_server *s)
{
    return s->open;
}

struct http_server *http_server_stop(struct http_server *s)
{
    if (!s)
        return NULL;
    admission_close(s->admission);
    return server_free(s);
}
