/* conn_io.c - the fiber that reads answers and the one that sends what was queued. Everything
 * queued in one turn of the loop goes out with one system call, wrapped as a whole where the
 * connection is protected. See conn.h. */
#include "base/log.h"
#include "hadoop/rpc/conn_private.h"
#include "loop/sock.h"

/* ---- reading ---- */

static int broke_off(struct conn *c, ssize_t n, struct err *err)
{
    if (n == 0)
        return err_set(err, -ECONNRESET, "%s closed the connection", c->name);
    return err_code(err, (int)n, "read from %s", c->name);
}

static int unpack_answer(struct conn *c, struct waiting *w, const struct frame_answer *a,
                         struct err *err)
{
    const struct rpc_method *m = w->call->method;

    w->answer = protobuf_c_message_unpack(m->response, NULL, a->body_size, a->body);
    if (!w->answer)
        return err_set(err, -EPROTO, "%s answered '%s' with something other than %s", c->name,
                       m->name, m->response->short_name);
    return 0;
}

static int remote_error(const struct conn *c, const struct frame_answer *a, struct err *err)
{
    int r = rpc_exception_err(a->header->exception_class, a->header->error_message, err);

    trace(LOG_RPC, "%s: call %d: %s", c->name, a->call_id, err->text);
    return r;
}

/* One whole frame that is not wrapped. */
static int on_frame(struct conn *c, const uint8_t *p, size_t n, struct err *err)
{
    AUTO_FRAME_ANSWER a = { 0 };
    struct waiting *w;
    int r = frame_parse(p, n, &a, err);

    if (r < 0)
        return err_wrap(err, r, "%s", c->name);
    /* After FATAL the server closes the connection: the error is everybody's, not only that
     * call's. */
    if (a.header->status == IPC__RPC_STATUS__STATUS_FATAL)
        return err_wrap(err, remote_error(c, &a, err), "%s", c->name);
    w = conn_remove(c, a.call_id);
    if (!w)
        return 0; /* its caller gave up */
    r = a.header->status == IPC__RPC_STATUS__STATUS_SUCCESS ? unpack_answer(c, w, &a, &w->err)
                                                            : remote_error(c, &a, &w->err);
    conn_finish(w, r);
    return 0;
}

/* Hands every whole frame at the front of `b` to `each`, and drops them. Answers come in any order
 * and size: one read may bring several of them and the beginning of the next, which stays in the
 * buffer. */
static int each_frame(struct conn *c, struct buf *b,
                      int (*each)(struct conn *c, const uint8_t *p, size_t n, struct err *err),
                      struct err *err)
{
    size_t at = 0;
    int r = 0;

    while (r == 0) {
        int64_t size = frame_size(b->data + at, b->len - at, err);

        if (size < 0)
            return err_wrap(err, (int)size, "%s", c->name);
        if (size == 0 || (uint64_t)size > b->len - at)
            break;
        r = each(c, b->data + at, (size_t)size, err);
        at += (size_t)size;
        c->frames_read++;
    }
    buf_eat(b, at);
    return r;
}

/* A frame whose token holds frames.
 *
 *     int32 length | header, call id -33 | RpcSasl { WRAP, token }
 *                                             token, unwrapped: int32 length | header | answer
 *
 * Servers put one answer into one token and take no notice of the size that we announced in the
 * sign-in: a token of 200 KB after a maxbuf of 64 KB is normal. What is unwrapped goes through a
 * buffer of its own, so that a frame spread over several tokens would be found too. */
static int on_wrapped_frame(struct conn *c, const uint8_t *p, size_t n, struct err *err)
{
    AUTO_FRAME_ANSWER a = { 0 };
    Ipc__RpcSasl *sasl = NULL;
    int r = frame_parse(p, n, &a, err);

    if (r == 0 && a.header->status != IPC__RPC_STATUS__STATUS_SUCCESS)
        r = remote_error(c, &a, err);
    if (r == 0)
        r = frame_parse_sasl(&a, &sasl, err);
    if (r == 0 && sasl->state != IPC__SASL_STATE__SASL_WRAP)
        r = err_set(err, -EPROTO, "an unprotected answer on a protected connection");
    if (r == 0)
        r = sasl_unwrap(c->layer, sasl->token.data, sasl->token.len, &c->plain, err);
    if (sasl)
        ipc__rpc_sasl__free_unpacked(sasl, NULL);
    if (r < 0)
        return err_wrap(err, r, "%s", c->name);
    return each_frame(c, &c->plain, on_frame, err);
}

/* Room for the rest of the frame that is being read, so that a large one is not read in crumbs. */
static size_t read_size(const struct conn *c)
{
    int64_t size = c->in.len >= 4 ? frame_size(c->in.data, c->in.len, NULL) : 0;
    size_t left = size > (int64_t)c->in.len ? (size_t)size - c->in.len : 0;

    return left > CONN_READ_SIZE ? left : CONN_READ_SIZE;
}

static int read_once(struct conn *c, struct err *err)
{
    size_t size = read_size(c);
    uint8_t *room;
    ssize_t n;
    int r = buf_room(&c->in, size, &room);

    if (r < 0)
        return err_code(err, r, "%s: answer too large", c->name);
    /* No deadline here: an idle connection is in order. Calls have deadlines of their own, and one
     * that passes without any answer breaks the connection (conn_too_late). */
    n = sock_read(c->sock, room, size, LOOP_NEVER);
    if (c->broken)
        return c->broken;
    if (n <= 0)
        return broke_off(c, n, err);
    c->in.len += (size_t)n;
    return each_frame(c, &c->in, c->layer ? on_wrapped_frame : on_frame, err);
}

void conn_reader(void *arg)
{
    struct conn *c = arg;
    struct err err = ERR_INIT;

    while (!c->broken)
        if (read_once(c, &err) < 0)
            conn_break(c, &err);
    conn_unref(c);
}

/* ---- writing ---- */

/* The frames to send now, wrapped if need be, in c->sending. Unprotected, the two buffers are
 * swapped: new calls are queued while the others are written, and nothing is copied. Protected, all
 * frames become one token, which costs one MAC instead of many. */
static int take_queued(struct conn *c, struct err *err)
{
    Ipc__RpcSasl wrapped = IPC__RPC_SASL__INIT;
    AUTO_BUF token = { .max = FRAME_MAX };
    struct buf plain;
    int r;

    buf_reset(&c->sending);
    if (!c->layer) {
        plain = c->sending;
        c->sending = c->out;
        c->out = plain;
        return 0;
    }
    r = sasl_wrap(c->layer, c->out.data, c->out.len, &token, err);
    if (r < 0)
        return r;
    buf_reset(&c->out);
    wrapped.state = IPC__SASL_STATE__SASL_WRAP;
    wrapped.has_token = 1;
    wrapped.token = (ProtobufCBinaryData){ token.len, token.data };
    r = frame_add_sasl(&c->sending, &wrapped);
    return r < 0 ? err_code(err, r, "wrap a request") : 0;
}

/* Before the write, because a write that fails may have delivered some of it: from here on a call
 * counts as perhaps carried out, and RPC_ONCE calls are not repeated. */
static void mark_sent(struct conn *c)
{
    for (size_t i = 0; i < CONN_BUCKETS; i++)
        for (struct waiting *w = c->calls[i]; w; w = w->next)
            w->call->sent = true;
}

/* 1 when there is something to send, 0 when the wait was in vain. A ping goes out only while calls
 * are in flight. It has no answer: it tells the server that somebody still waits. */
static int conn_wait_for_work(struct conn *c, struct err *err)
{
    int r;

    if (c->out.len > 0)
        return 1;
    r = cond_wait(c->loop, &c->out_grew, c->in_flight ? loop_in(c->loop, c->ping_ms) : LOOP_NEVER);
    if (r == -ETIMEDOUT && !c->broken) {
        /* A server that answers slowly must not think that we are gone. */
        r = frame_add_ping(&c->out, c->client_id);
        return r < 0 ? err_code(err, r, "ping %s", c->name) : 1;
    }
    if (r < 0)
        return err_code(err, r, "%s", c->name);
    return c->out.len > 0;
}

static int write_once(struct conn *c, struct err *err)
{
    int r = conn_wait_for_work(c, err);

    if (r <= 0 || c->broken)
        return r < 0 ? r : 0;
    mark_sent(c);
    r = take_queued(c, err);
    if (r < 0)
        return r;
    r = sock_write(c->sock, c->sending.data, c->sending.len, LOOP_NEVER);
    if (r < 0 && !c->broken) {
        /* The server may have said why before it closed: let the reader find it first. */
        (void)fiber_sleep(c->loop, 50);
        return err_code(err, r, "write to %s", c->name);
    }
    return 0;
}

void conn_writer(void *arg)
{
    struct conn *c = arg;
    struct err err = ERR_INIT;

    while (!c->broken)
        if (write_once(c, &err) < 0)
            conn_break(c, &err);
    conn_unref(c);
}
