/* frame.c - writes each frame with its length left open and fills it in at the end; parses one only
 * when it has arrived whole. Answers that are not Hadoop's (a web server, an old release) get a
 * sentence of their own. See frame.h. */
#include "hadoop/rpc/frame.h"

#include <string.h>

/*     "hrpc" | 09 version | 00 service class, which servers store and do not use | df SASL (-33) */
int frame_add_hello(struct buf *out)
{
    static const uint8_t hello[] = { 'h', 'r', 'p', 'c', 9, 0, 0xdf }; /* version, class, SASL */

    return buf_add(out, hello, sizeof(hello));
}

static int add_delimited(struct buf *out, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *room;
    int r = buf_add_varint(out, n);

    if (r < 0 || n == 0)
        return r;
    r = buf_room(out, n, &room);
    if (r < 0)
        return r;
    out->len += protobuf_c_message_pack(m, room);
    return 0;
}

/* Four bytes for the length, filled in by end_frame once it is known. */
static int begin_frame(struct buf *out, size_t *ret_at)
{
    *ret_at = out->len;
    return buf_add_be32(out, 0);
}

/* A frame that is over the server's limit (ipc.maximum.data.length: 64 MiB up to 3.2, then 128)
 * would make it close the connection without a word, so it is refused here. */
static int end_frame(struct buf *out, size_t at, int r)
{
    size_t n = out->len - at - 4;

    if (r == 0 && n > FRAME_REQUEST_MAX)
        r = -E2BIG;
    if (r < 0) {
        out->len = at; /* no half a frame */
        return r;
    }
    for (int i = 0; i < 4; i++)
        out->data[at + (size_t)i] = (uint8_t)(n >> (24 - 8 * i));
    return 0;
}

/* Control frames (SASL, context, ping) have negative call ids and retry count -1. Calls carry the
 * client's id: with it and the call id the server's retry cache recognizes a repeated call. In SASL
 * frames the client's id is there and empty. */
static Ipc__RpcRequestHeader header(const uint8_t *client_id, int32_t call_id, int32_t retry)
{
    Ipc__RpcRequestHeader h = IPC__RPC_REQUEST_HEADER__INIT;

    h.has_kind = h.has_op = h.has_retry_count = 1;
    h.kind = IPC__RPC_KIND__KIND_PROTOBUF;
    h.op = IPC__RPC_OP__OP_FINAL;
    h.call_id = call_id;
    h.retry_count = retry;
    if (client_id)
        h.client_id = (ProtobufCBinaryData){ FRAME_CLIENT_ID, (uint8_t *)client_id };
    return h;
}

/* A frame of a header and up to two more messages. */
static int add_frame(struct buf *out, const Ipc__RpcRequestHeader *h, const ProtobufCMessage *a,
                     const ProtobufCMessage *b)
{
    size_t at;
    int r = begin_frame(out, &at);

    if (r < 0)
        return r;
    r = add_delimited(out, &h->base);
    if (r == 0 && a)
        r = add_delimited(out, a);
    if (r == 0 && b)
        r = add_delimited(out, b);
    return end_frame(out, at, r);
}

int frame_add_call(struct buf *out, const struct frame_call *call, const ProtobufCMessage *request)
{
    Ipc__RpcRequestHeader h = header(call->client_id, call->call_id, call->retry);
    Ipc__RequestHeader rh = IPC__REQUEST_HEADER__INIT;
    Ipc__CallerContext caller = IPC__CALLER_CONTEXT__INIT;

    rh.method = call->method;
    rh.protocol = call->protocol;
    /* The protocol's version, 1 for all that are used here. It is not the connection's, which is
     * 9. */
    rh.version = 1;
    if (call->caller) {
        caller.context = call->caller;
        h.caller_context = &caller;
    }
    return add_frame(out, &h, &rh.base, request);
}

int frame_add_context(struct buf *out, const uint8_t *client_id,
                      const Ipc__ConnectionContext *context)
{
    Ipc__RpcRequestHeader h = header(client_id, FRAME_CALL_CONTEXT, -1);

    return add_frame(out, &h, &context->base, NULL);
}

int frame_add_sasl(struct buf *out, const Ipc__RpcSasl *sasl)
{
    Ipc__RpcRequestHeader h = header(NULL, FRAME_CALL_SASL, -1);

    return add_frame(out, &h, &sasl->base, NULL);
}

int frame_add_ping(struct buf *out, const uint8_t *client_id)
{
    Ipc__RpcRequestHeader h = header(client_id, FRAME_CALL_PING, -1);

    return add_frame(out, &h, NULL, NULL);
}

int64_t frame_size(const uint8_t *p, size_t n, struct err *err)
{
    struct view v = view_of(p, n);
    uint32_t size;

    if (n < 4)
        return 0;
    size = view_be32(&v);
    /* Servers before version 9 answer a strange header with -1, -1 and two strings. */
    if (size == 0xffffffff)
        return err_set(err, -EPROTO, "the server speaks an older version of Hadoop's protocol");
    if (memcmp(p, "HTTP", 4) == 0)
        return err_set(err, -EPROTO, "a web server answers there, not Hadoop's RPC");
    if (size == 0 || size > FRAME_MAX)
        return err_set(err, -EPROTO, "the server does not speak Hadoop's RPC protocol");
    return (int64_t)size + 4;
}

static int not_an_answer(struct err *err)
{
    return err_set(err, -EPROTO, "the server's answer is not valid");
}

/* Next message behind its varint length. */
static const uint8_t *delimited(struct view *v, size_t *ret_n)
{
    uint64_t n = view_varint(v);

    *ret_n = n > v->n ? 0 : (size_t)n;
    return n > v->n ? NULL : view_bytes(v, (size_t)n);
}

/* Only SUCCESS has a body. With an error the header itself says what it was, and the connection may
 * be used further unless the status is FATAL. The call id, zig-zag encoded in requests, is a plain
 * uint32 in answers: -33 arrives as 0xffffffdf in five bytes, and the cast makes it negative
 * again. */
int frame_parse(const uint8_t *p, size_t n, struct frame_answer *ret, struct err *err)
{
    struct view v = view_of(p, n);
    const uint8_t *h;
    size_t size;

    *ret = (struct frame_answer){ 0 };
    (void)view_be32(&v);
    h = delimited(&v, &size);
    if (!h || v.bad)
        return not_an_answer(err);
    ret->header = ipc__rpc_response_header__unpack(NULL, size, h);
    if (!ret->header)
        return not_an_answer(err);
    ret->call_id = (int32_t)ret->header->call_id;
    if (ret->header->status == IPC__RPC_STATUS__STATUS_SUCCESS) {
        ret->body = delimited(&v, &ret->body_size);
        if (!ret->body || v.bad || v.n != 0) {
            frame_answer_done(ret);
            return not_an_answer(err);
        }
    }
    return 0;
}

void frame_answer_done(struct frame_answer *a)
{
    if (a->header)
        ipc__rpc_response_header__free_unpacked(a->header, NULL);
    a->header = NULL;
}

int frame_parse_sasl(const struct frame_answer *a, Ipc__RpcSasl **ret, struct err *err)
{
    if (a->call_id != FRAME_CALL_SASL || !a->body)
        return not_an_answer(err);
    *ret = ipc__rpc_sasl__unpack(NULL, a->body_size, a->body);
    return *ret ? 0 : not_an_answer(err);
}
