/* grpc_conn.c - a connection's fibers. One reads and feeds the session, which starts a fiber for
 * each call that is there; one writes whatever the session has to say. So a client that does not
 * read stops the writer only, and the reader stops by itself when too many frames wait for the
 * writer.
 *
 *     reader   stream ──► grpc_session_feed() ──► on_call: a fiber for each
 *     writer   grpc_session_take() ──► stream         woken when there is something to say
 *
 * nghttp2 is not reentrant and needs no lock here: each of its calls runs to its end between two
 * waits. See grpc.h. */
#include "base/log.h"
#include "wire/grpc/grpc_server.h"

#include <sys/socket.h>

#define READ (16 * KIB)
#define WRITE (64 * KIB) /* what is written under one deadline */
#define QUEUE_MAX 1000   /* frames that may wait for the writer */
#define TICK_MS 5000     /* a reader looks at deadlines at least so often */
#define LINGER_MS 1000
#define LINGER_MAX (256 * KIB)

void grpc_conn_wake(struct grpc_conn *c)
{
    cond_wake(&c->to_write);
}

bool grpc_conn_said_all(const struct grpc_conn *c)
{
    return c->broken || (!grpc_session_reads(&c->session) && !grpc_session_has_output(&c->session));
}

/* ---- the writer ---- */

/* What the session has, up to one piece. */
static int conn_gather(struct grpc_conn *c, struct buf *out, struct err *err)
{
    const uint8_t *p = NULL;
    ssize_t n;

    buf_reset(out);
    while (out->len < WRITE && (n = grpc_session_take(&c->session, &p)) != 0)
        if (n < 0 || buf_add(out, p, (size_t)n) < 0)
            return err_oom(err);
    return 0;
}

static int conn_write_some(struct grpc_conn *c, struct buf *out, struct err *err)
{
    int64_t deadline = loop_in(c->loop, c->server->o.limits.write_ms);
    int r = conn_gather(c, out, err);

    if (r < 0 || out->len == 0)
        return r;
    r = stream_write(c->stream, out->data, out->len, deadline);
    return r < 0 ? err_code(err, r, "write to the other side") : 0;
}

/* When all is said the client has a moment to close the connection. One that does not would keep it
 * until the reader looks at the time. */
static int conn_wait_for_more(struct grpc_conn *c)
{
    bool last = grpc_conn_said_all(c) && !c->hushed;
    int r = cond_wait(c->loop, &c->to_write, last ? loop_in(c->loop, LINGER_MS) : LOOP_NEVER);

    if (r != -ETIMEDOUT)
        return r;
    c->hushed = true;
    (void)shutdown(sock_fd(stream_sock(c->stream)), SHUT_RD);
    return 0;
}

/* The reader finds the end of the stream then. */
static int conn_write(void *arg, struct err *unused)
{
    AUTO_BUF out = { .max = WRITE + 32 * KIB }; /* and one frame */
    struct grpc_conn *c = arg;
    struct err err = ERR_INIT;
    int r = 0;

    (void)unused;
    while (r == 0 && !c->finished) {
        if (!grpc_session_has_output(&c->session)) {
            buf_done(&out);
            r = conn_wait_for_more(c);
            continue;
        }
        r = conn_write_some(c, &out, &err);
        if (r == 0 && out.len == 0) /* all windows are shut */
            r = cond_wait(c->loop, &c->to_write, LOOP_NEVER);
        cond_wake_all(&c->written);
        if (grpc_conn_said_all(c)) {
            (void)shutdown(sock_fd(stream_sock(c->stream)), SHUT_WR);
            cond_wake_all(&c->server->changed);
        }
    }
    if (r < 0 && r != -ECANCELED)
        trace(LOG_WIRE, "grpc: %s", err.text);
    c->broken = true;
    (void)shutdown(sock_fd(stream_sock(c->stream)), SHUT_RDWR);
    cond_wake_all(&c->written);
    cond_wake_all(&c->server->changed);
    return 0;
}

/* ---- calls ---- */

static int conn_run_call(void *arg, struct err *unused)
{
    struct grpc_call *call = arg;
    struct grpc_conn *c = call->session->hooks.user;
    struct err err = ERR_INIT;
    int r = -ECANCELED;

    (void)unused;
    call->fiber = fiber_self(c->loop);
    if (call->id && call->state == GRPC_RUNNING)
        r = call->method->handler(c->server->o.user, call, &err);
    call->fiber = NULL;
    c->server->calls--;
    if (r < 0)
        trace(LOG_WIRE, "grpc: %s", err.text);
    grpc_session_ran(call, r, &err);
    grpc_conn_wake(c);
    return 0;
}

static int conn_on_call(void *user, struct grpc_call *call, struct err *err)
{
    struct grpc_conn *c = user;
    int r;

    if (c->server->calls >= c->server->o.limits.calls_max)
        return err_set(err, -EAGAIN, "the server is busy with %zu other calls; try again later",
                       c->server->calls);
    r = group_go(&c->fibers, conn_run_call, call, err);
    c->server->calls += r == 0;
    return r;
}

static void conn_on_output(void *user)
{
    grpc_conn_wake(user);
}

static void conn_on_gone(void *user, struct grpc_call *call)
{
    (void)user;
    if (call->fiber)
        fiber_cancel(call->fiber);
}

/* ---- the reader ---- */

/* A client that makes us answer has to read what we say. */
static int conn_wait_for_writer(struct grpc_conn *c, size_t queued, struct err *err)
{
    int64_t deadline = loop_in(c->loop, c->server->o.limits.write_ms);
    int r = 0;

    while (r == 0 && !c->broken && grpc_session_queued(&c->session) > queued)
        r = cond_wait(c->loop, &c->written, deadline);
    if (c->broken)
        return err_set(err, -ECONNRESET, "the connection is broken");
    return r < 0 ? err_code(err, r, "the other side does not read") : 0;
}

/* 1 when the connection may go on, 0 at its end. */
static int conn_read(struct grpc_conn *c, uint8_t *p, int64_t deadline, struct err *err)
{
    int64_t tick = loop_in(c->loop, TICK_MS);
    ssize_t n = stream_read(c->stream, p, READ, deadline < tick ? deadline : tick);
    int r = 1;

    if (n == -ETIMEDOUT)
        return 1;
    if (n < 0)
        return err_code(err, (int)n, "read from the other side");
    if (n == 0)
        return 0;
    r = grpc_session_feed(&c->session, p, (size_t)n, loop_now(c->loop), err);
    grpc_conn_wake(c);
    return r < 0 ? r : 1;
}

static int conn_turn(struct grpc_conn *c, uint8_t *p, struct err *err)
{
    int64_t next = LOOP_NEVER;
    int r = grpc_session_expire(&c->session, loop_now(c->loop), &next, err);

    if (r < 0)
        return r;
    grpc_conn_wake(c);
    if (!grpc_session_reads(&c->session))
        return 0;
    r = conn_wait_for_writer(c, QUEUE_MAX, err);
    return r < 0 ? r : conn_read(c, p, next, err);
}

/* The last words go out. Closing while bytes of the client lie unread would make the kernel reset
 * the connection, and the client could lose them: so these are taken and dropped for a moment. */
static void conn_linger(struct grpc_conn *c, uint8_t *p)
{
    int64_t deadline = loop_in(c->loop, LINGER_MS);
    struct sock *sock = stream_sock(c->stream);
    size_t total = 0;
    ssize_t n = 1;

    while (!c->broken && grpc_session_has_output(&c->session) && n > 0)
        n = cond_wait(c->loop, &c->written, deadline) == 0;
    (void)shutdown(sock_fd(sock), SHUT_WR);
    while (n > 0 && !c->broken && total < LINGER_MAX) {
        n = sock_read(sock, p, READ, deadline);
        total += n > 0 ? (size_t)n : 0;
    }
}

static void conn_serve(struct grpc_conn *c, const void *first, size_t n)
{
    AUTO_FREE uint8_t *p = malloc(READ);
    struct err err = ERR_INIT;
    int r = p ? 1 : -ENOMEM;

    if (r > 0)
        r = grpc_session_feed(&c->session, first, n, loop_now(c->loop), &err) < 0 ? -EPROTO : 1;
    while (r > 0)
        r = conn_turn(c, p, &err);
    if (r < 0 && r != -ECANCELED)
        trace(LOG_WIRE, "grpc: %s", err.text);
    grpc_conn_wake(c);
    if (p && !fiber_cancelled(c->loop))
        conn_linger(c, p);
}

/* ---- life ---- */

static void conn_link(struct grpc_conn *c)
{
    c->next = c->server->conns;
    if (c->next)
        c->next->prev = c;
    c->server->conns = c;
}

static void conn_unlink(struct grpc_conn *c)
{
    *(c->prev ? &c->prev->next : &c->server->conns) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    cond_wake_all(&c->server->changed);
}

static int conn_start(struct grpc_conn *c, struct err *err)
{
    struct grpc_hooks hooks = { .on_call = conn_on_call,
                                .on_gone = conn_on_gone,
                                .on_output = conn_on_output,
                                .user = c,
                                .stream = c->stream };
    int r = grpc_session_init(&c->session, &c->server->o, &hooks, c->server->all, loop_now(c->loop),
                              err);

    if (r < 0)
        return r;
    group_init(&c->fibers, c->loop, 0);
    r = group_go(&c->fibers, conn_write, c, err);
    if (r < 0)
        grpc_session_done(&c->session);
    return r;
}

void grpc_serve(void *server, struct stream *stream, const void *p, size_t n)
{
    struct grpc_server *s = server;
    AUTO_FREE struct grpc_conn *c = calloc(1, sizeof(*c));
    AUTO_STREAM *owned = stream;
    struct err err = ERR_INIT;

    if (!c)
        return;
    *c = (struct grpc_conn){ .server = s, .loop = s->o.loop, .stream = owned };
    if (conn_start(c, &err) < 0) {
        trace(LOG_WIRE, "grpc: a connection is dropped: %s", err.text);
        return;
    }
    conn_link(c);
    if (s->draining)
        grpc_session_leave(&c->session);
    conn_serve(c, p, n);
    c->finished = true;
    group_cancel(&c->fibers);
    (void)group_wait(&c->fibers, NULL);
    conn_unlink(c);
    grpc_session_done(&c->session);
}
