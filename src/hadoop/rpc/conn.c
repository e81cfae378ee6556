/* conn.c - opening, calling and closing one connection. Calls in flight are in a hash table by
 * their number; the reader finds them there, and when the connection breaks each of them is given
 * the reason. See conn.h. */
#include "base/log.h"
#include "hadoop/rpc/auth.h"
#include "hadoop/rpc/conn_private.h"
#include "loop/sock.h"

#include <stdio.h>
#include <string.h>

/* One reference each: the owner, the reader, the writer, and every call in flight. The last one
 * that leaves frees it, which may be long after conn_close(). */
void conn_unref(struct conn *c)
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

static struct waiting **conn_bucket(struct conn *c, int32_t call_id)
{
    return &c->calls[(uint32_t)call_id % CONN_BUCKETS];
}

static void conn_add_waiting(struct conn *c, struct waiting *w)
{
    struct waiting **b = conn_bucket(c, w->call->call_id);

    w->next = *b;
    *b = w;
    c->in_flight++;
}

struct waiting *conn_remove(struct conn *c, int32_t call_id)
{
    for (struct waiting **p = conn_bucket(c, call_id); *p; p = &(*p)->next)
        if ((*p)->call->call_id == call_id) {
            struct waiting *w = *p;

            *p = w->next;
            c->in_flight--;
            return w;
        }
    return NULL;
}

void conn_finish(struct waiting *w, int result)
{
    w->finished = true;
    w->result = result;
    cond_wake_all(&w->done);
}

/* The socket is closed first, so that reader and writer return from their system calls. Each
 * waiting call gets a copy of the reason; service.c decides which of them may be repeated
 * elsewhere. */
void conn_break(struct conn *c, const struct err *why)
{
    if (c->broken)
        return;
    c->broken = why->code;
    c->why = *why;
    trace(LOG_RPC, "%s: connection ends: %s", c->name, why->text);
    c->sock = sock_close(c->sock);
    for (size_t i = 0; i < CONN_BUCKETS; i++)
        while (c->calls[i]) {
            struct waiting *w = conn_remove(c, c->calls[i]->call->call_id);

            w->err = *why;
            conn_finish(w, why->code);
        }
    cond_wake_all(&c->out_grew);
}

/* ---- opening and closing ---- */

static void name_conn(struct conn *c, const struct conn_conf *conf)
{
    const struct rpc_address *a = conf->address;

    snprintf(c->name, sizeof(c->name), "%s%s%s (%s:%d)", conf->protocol->title, a->id ? " " : "",
             a->id ? a->id : "", a->host, a->port);
}

/* The context is only queued: it goes out together with the first call, in one packet, and the
 * server does not answer it. */
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

/* Each fiber holds a reference, because it may still be inside a system call when the owner has
 * closed the connection. */
static int conn_start_fibers(struct conn *c, struct err *err)
{
    int r = fiber_start(c->loop, conn_reader, c, NULL, err);

    if (r < 0)
        return r;
    c->refs++;
    r = fiber_start(c->loop, conn_writer, c, NULL, err);
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
    return r < 0 ? r : conn_start_fibers(c, err);
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
    c->ping_ms = conf->ping_ms;
    memcpy(c->client_id, conf->client_id, FRAME_CLIENT_ID);
    buf_init(&c->in, FRAME_MAX + CONN_READ_SIZE);
    buf_init(&c->plain, FRAME_MAX + CONN_READ_SIZE);
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
    conn_break(c, &why);
    conn_unref(c);
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

static int conn_too_late(struct conn *c, struct waiting *w, uint64_t frames_before, int64_t waited,
                         struct err *err)
{
    struct err why = ERR_INIT;

    (void)conn_remove(c, w->call->call_id);
    err_set(&why, -ETIMEDOUT, "%s did not answer '%s' within %.1f s", c->name,
            w->call->method->name, (double)waited / 1000);
    err_hint(&why, "it may be overloaded, paused or behind a firewall; --timeout waits longer");
    if (err)
        *err = why;
    /* Not one answer since: this connection is dead, not slow. */
    if (c->frames_read == frames_before)
        conn_break(c, &why);
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
    /* `w` is on our stack: it must be out of the table before we return, on every path. The
     * reference keeps the connection when its owner closes it while we wait. */
    conn_add_waiting(c, &w);
    c->refs++;
    r = 0;
    while (!w.finished && r == 0)
        r = cond_wait(c->loop, &w.done, deadline);
    if (w.finished) {
        r = w.result;
        if (r < 0 && err)
            *err = w.err;
    } else if (r == -ETIMEDOUT) {
        r = conn_too_late(c, &w, frames_before, loop_now(c->loop) - start, err);
    } else {
        (void)conn_remove(c, call->call_id);
        err_set(err, r, "interrupted");
    }
    if (r == 0)
        *ret = w.answer;
    else if (w.answer)
        protobuf_c_message_free_unpacked(w.answer, NULL);
    conn_unref(c);
    return r;
}
