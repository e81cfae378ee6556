/* conn.c - see conn.h */
#include "hadoop/rpc/conn.h"
#include "base/fiber.h"
#include "base/log.h"
#include "base/sock.h"
#include "hadoop/rpc/auth.h"

#include <stdio.h>
#include <string.h>

#define READ_SIZE (64 * KIB)
#define PING_MS 30000 /* a server that answers slowly must not think that we are gone */
#define BUCKETS 64

/* A call in flight; lives on its caller's stack. */
struct waiting {
    struct waiting *next; /* in its bucket */
    struct conn_call *call;
    ProtobufCMessage *answer;
    struct cond done;
    bool finished;
    int result;
    struct err err;
};

struct conn {
    struct loop *loop;
    struct sock *sock;
    const struct rpc_protocol *protocol;
    char name[160]; /* "NameNode nn1 (host:8020)" */
    char ip[64];
    const char *caller;
    uint8_t client_id[FRAME_CLIENT_ID];
    struct sasl *layer;   /* wraps and unwraps, or NULL */
    struct buf in;        /* read, not yet parsed */
    struct buf plain;     /* unwrapped, not yet parsed */
    struct buf out;       /* queued frames */
    struct buf sending;   /* what the writer is sending now */
    struct cond out_grew; /* the writer waits here */
    struct waiting *calls[BUCKETS];
    size_t in_flight;
    uint64_t frames_read;
    int refs;
    int broken; /* the reason's code, or 0 */
    struct err why;
};

static void unref(struct conn *c)
{
    if (--c->refs > 0)
        return;
    sasl_free(c->layer);
    buf_done(&c->in);
    buf_done(&c->plain);
    buf_done(&c->out);
    buf_done(&c->sending);
    free(c);
}

/* ---- calls in flight ---- */

static struct waiting **bucket(struct conn *c, int32_t call_id)
{
    return &c->calls[(uint32_t)call_id % BUCKETS];
}

static void add_waiting(struct conn *c, struct waiting *w)
{
    struct waiting **b = bucket(c, w->call->call_id);

    w->next = *b;
    *b = w;
    c->in_flight++;
}

static struct waiting *remove_waiting(struct conn *c, int32_t call_id)
{
    for (struct waiting **p = bucket(c, call_id); *p; p = &(*p)->next)
        if ((*p)->call->call_id == call_id) {
            struct waiting *w = *p;

            *p = w->next;
            c->in_flight--;
            return w;
        }
    return NULL;
}

static void finish(struct waiting *w, int result)
{
    w->finished = true;
    w->result = result;
    cond_wake_all(&w->done);
}

/* The end of the connection: everybody who waits learns the reason, which is taken from `why`. */
static void break_conn(struct conn *c, const struct err *why)
{
    if (c->broken)
        return;
    c->broken = why->code;
    c->why = *why;
    trace(LOG_RPC, "%s: connection ends: %s", c->name, why->text);
    c->sock = sock_close(c->sock);
    for (size_t i = 0; i < BUCKETS; i++)
        while (c->calls[i]) {
            struct waiting *w = remove_waiting(c, c->calls[i]->call->call_id);

            w->err = *why;
            finish(w, why->code);
        }
    cond_wake_all(&c->out_grew);
}

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
        return err_set(err, -EPROTO, "%s answers '%s' with something else than %s", c->name,
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
    if (a.header->status == IPC__RPC_STATUS__STATUS_FATAL)
        return err_wrap(err, remote_error(c, &a, err), "%s", c->name);
    w = remove_waiting(c, a.call_id);
    if (!w)
        return 0; /* its caller gave up */
    r = a.header->status == IPC__RPC_STATUS__STATUS_SUCCESS ? unpack_answer(c, w, &a, &w->err)
                                                            : remote_error(c, &a, &w->err);
    finish(w, r);
    return 0;
}

/* Hands every whole frame at the front of `b` to `each`, and drops them. */
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

/* A frame whose token holds frames. */
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

    return left > READ_SIZE ? left : READ_SIZE;
}

static int read_once(struct conn *c, struct err *err)
{
    size_t size = read_size(c);
    uint8_t *room;
    ssize_t n;
    int r = buf_room(&c->in, size, &room);

    if (r < 0)
        return err_code(err, r, "%s: answer too large", c->name);
    n = sock_read(c->sock, room, size, LOOP_NEVER);
    if (c->broken)
        return c->broken;
    if (n <= 0)
        return broke_off(c, n, err);
    c->in.len += (size_t)n;
    return each_frame(c, &c->in, c->layer ? on_wrapped_frame : on_frame, err);
}

static void reader(void *arg)
{
    struct conn *c = arg;
    struct err err = ERR_INIT;

    while (!c->broken)
        if (read_once(c, &err) < 0)
            break_conn(c, &err);
    unref(c);
}

/* ---- writing ---- */

/* The frames to send now, wrapped if need be, in c->sending. */
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

static void mark_sent(struct conn *c)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct waiting *w = c->calls[i]; w; w = w->next)
            w->call->sent = true;
}

/* 1 when there is something to send, 0 when the wait was in vain. */
static int wait_for_work(struct conn *c, struct err *err)
{
    int r;

    if (c->out.len > 0)
        return 1;
    r = cond_wait(c->loop, &c->out_grew, c->in_flight ? loop_in(c->loop, PING_MS) : LOOP_NEVER);
    if (r == -ETIMEDOUT && !c->broken) {
        r = frame_add_ping(&c->out, c->client_id);
        return r < 0 ? err_code(err, r, "ping %s", c->name) : 1;
    }
    if (r < 0)
        return err_code(err, r, "%s", c->name);
    return c->out.len > 0;
}

static int write_once(struct conn *c, struct err *err)
{
    int r = wait_for_work(c, err);

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

static void writer(void *arg)
{
    struct conn *c = arg;
    struct err err = ERR_INIT;

    while (!c->broken)
        if (write_once(c, &err) < 0)
            break_conn(c, &err);
    unref(c);
}

/* ---- opening and closing ---- */

static void name_conn(struct conn *c, const struct conn_conf *conf)
{
    const struct rpc_address *a = conf->address;

    snprintf(c->name, sizeof(c->name), "%s%s%s (%s:%d)", conf->protocol->title, a->id ? " " : "",
             a->id ? a->id : "", a->host, a->port);
}

static int queue_context(struct conn *c, const struct auth_result *who, struct err *err)
{
    Ipc__ConnectionContext context = IPC__CONNECTION_CONTEXT__INIT;
    Ipc__UserInformation user = IPC__USER_INFORMATION__INIT;
    int r;

    user.effective_user = who->effective_user;
    user.real_user = who->real_user;
    context.user = &user;
    context.protocol = c->protocol->name;
    r = frame_add_context(&c->out, c->client_id, &context);
    return r < 0 ? err_code(err, r, "%s", c->name) : 0;
}

static int start_fibers(struct conn *c, struct err *err)
{
    int r = fiber_start(c->loop, reader, c, NULL, err);

    if (r < 0)
        return r;
    c->refs++;
    r = fiber_start(c->loop, writer, c, NULL, err);
    if (r < 0)
        return r;
    c->refs++;
    return 0;
}

static int connect_and_sign_in(struct conn *c, const struct conn_conf *conf, int64_t deadline,
                               struct err *err)
{
    struct auth_result who = { 0 };
    int r;

    r = sock_connect(c->loop, conf->address->host, conf->address->port, deadline, &c->sock, err);
    if (r < 0)
        return err_wrap(err, r, "%s", conf->protocol->title);
    snprintf(c->ip, sizeof(c->ip), "%s", sock_peer_ip(c->sock));
    r = auth_sign_in(c->loop, c->sock, conf, deadline, &who, err);
    if (r < 0)
        return err_wrap(err, r, "%s", c->name);
    c->layer = take(who.layer);
    r = queue_context(c, &who, err);
    auth_result_done(&who);
    return r < 0 ? r : start_fibers(c, err);
}

int conn_open(struct loop *l, const struct conn_conf *conf, int64_t deadline, struct conn **ret,
              struct err *err)
{
    struct conn *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return err_oom(err);
    c->loop = l;
    c->refs = 1;
    c->protocol = conf->protocol;
    c->caller = conf->identity->caller;
    memcpy(c->client_id, conf->client_id, FRAME_CLIENT_ID);
    buf_init(&c->in, FRAME_MAX + READ_SIZE);
    buf_init(&c->plain, FRAME_MAX + READ_SIZE);
    buf_init(&c->out, FRAME_MAX);
    buf_init(&c->sending, FRAME_MAX);
    name_conn(c, conf);
    r = connect_and_sign_in(c, conf, deadline, err);
    if (r < 0) {
        conn_close(c);
        return r;
    }
    trace(LOG_RPC, "%s: connected%s%s", c->name, c->layer ? ", " : "",
          c->layer ? sasl_qop_name(sasl_qop(c->layer)) : "");
    *ret = c;
    return 0;
}

struct conn *conn_close(struct conn *c)
{
    struct err why = ERR_INIT;

    if (!c)
        return NULL;
    err_set(&why, -ECONNABORTED, "%s: connection closed by us", c->name);
    break_conn(c, &why);
    unref(c);
    return NULL;
}

bool conn_broken(const struct conn *c)
{
    return c->broken != 0;
}

const char *conn_ip(const struct conn *c)
{
    return c->ip;
}

/* ---- calling ---- */

static int queue_call(struct conn *c, const struct conn_call *call, struct err *err)
{
    struct frame_call f = {
        .client_id = c->client_id,
        .call_id = call->call_id,
        .retry = call->retry,
        .protocol = c->protocol->name,
        .method = call->method->name,
        .caller = c->caller,
    };
    int r = frame_add_call(&c->out, &f, call->request);

    if (r < 0)
        return err_code(err, r, "%s: request '%s' of %zu bytes", c->name, call->method->name,
                        protobuf_c_message_get_packed_size(call->request));
    cond_wake(&c->out_grew);
    return 0;
}

static int too_late(struct conn *c, struct waiting *w, uint64_t frames_before, int64_t waited,
                    struct err *err)
{
    struct err why = ERR_INIT;

    (void)remove_waiting(c, w->call->call_id);
    err_set(&why, -ETIMEDOUT, "%s did not answer '%s' within %.1f s", c->name,
            w->call->method->name, (double)waited / 1000);
    err_hint(&why, "it may be overloaded, paused or behind a firewall; --timeout waits longer");
    if (err)
        *err = why;
    /* Not one answer since: this connection is dead, not slow. */
    if (c->frames_read == frames_before)
        break_conn(c, &why);
    return -ETIMEDOUT;
}

int conn_call(struct conn *c, struct conn_call *call, int64_t deadline, ProtobufCMessage **ret,
              struct err *err)
{
    struct waiting w = { .call = call };
    uint64_t frames_before = c->frames_read;
    int64_t start = loop_now(c->loop);
    int r;

    if (c->broken) {
        if (err)
            *err = c->why;
        return c->broken;
    }
    r = queue_call(c, call, err);
    if (r < 0)
        return r;
    add_waiting(c, &w);
    c->refs++;
    r = 0;
    while (!w.finished && r == 0)
        r = cond_wait(c->loop, &w.done, deadline);
    if (w.finished) {
        r = w.result;
        if (r < 0 && err)
            *err = w.err;
    } else if (r == -ETIMEDOUT) {
        r = too_late(c, &w, frames_before, loop_now(c->loop) - start, err);
    } else {
        (void)remove_waiting(c, call->call_id);
        err_set(err, r, "interrupted");
    }
    if (r == 0)
        *ret = w.answer;
    else if (w.answer)
        protobuf_c_message_free_unpacked(w.answer, NULL);
    unref(c);
    return r;
}
