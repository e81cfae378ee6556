/* frame.h - the bytes of IPC version 9, without any I/O. Pure.
 *
 *   client: "hrpc" 9 0 AUTH, then frames;   server: frames
 *   frame = int32 length (big endian), then messages, each behind its varint length:
 *     call      RpcRequestHeader, RequestHeader, the request
 *     context   RpcRequestHeader (call id -3), ConnectionContext
 *     SASL      RpcRequestHeader (call id -33), RpcSasl
 *     ping      RpcRequestHeader (call id -4)
 *     answer    RpcResponseHeader, and when it says SUCCESS the response */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "hadoop/ipc.pb-c.h"
#include <stdint.h>

#define FRAME_CALL_FATAL (-1)
#define FRAME_CALL_CONTEXT (-3)
#define FRAME_CALL_PING (-4)
#define FRAME_CALL_SASL (-33)

#define FRAME_MAX (128 * MIB)        /* ipc.maximum.response.length */
#define FRAME_REQUEST_MAX (64 * MIB) /* what a 2.x server still takes */
#define FRAME_CLIENT_ID 16

/* The caller, and the number of the call. */
struct frame_call {
    const uint8_t *client_id; /* FRAME_CLIENT_ID bytes */
    int32_t call_id;
    int32_t retry;
    const char *protocol;
    const char *method;
    const char *caller; /* for the audit log, or NULL */
};

/* Each appends to `out`; -E2BIG past its ceiling. */
int frame_add_hello(struct buf *out); /* the 7 bytes that open a connection, with SASL */
int frame_add_call(struct buf *out, const struct frame_call *call, const ProtobufCMessage *request);
int frame_add_context(struct buf *out, const uint8_t *client_id,
                      const Ipc__ConnectionContext *context);
int frame_add_sasl(struct buf *out, const Ipc__RpcSasl *sasl);
int frame_add_ping(struct buf *out, const uint8_t *client_id);

/* How many bytes the frame at the start of (p, n) has, with its length field: 0 when more bytes
 * are needed to know, -EPROTO when the peer is no Hadoop server of this version. */
int64_t frame_size(const uint8_t *p, size_t n, struct err *err);

/* An answer. `header` is the caller's: frame_answer_done(). `body` points into the frame. */
struct frame_answer {
    Ipc__RpcResponseHeader *header;
    int32_t call_id;
    const uint8_t *body; /* the response message when the status is SUCCESS */
    size_t body_size;
};

/* Takes one whole frame, its length field included. */
int frame_parse(const uint8_t *p, size_t n, struct frame_answer *ret, struct err *err);
void frame_answer_done(struct frame_answer *a);
#define AUTO_FRAME_ANSWER __attribute__((cleanup(frame_answer_done))) struct frame_answer

/* The SASL message inside an answer; NULL with -EPROTO when it is not one. *ret is the caller's. */
int frame_parse_sasl(const struct frame_answer *a, Ipc__RpcSasl **ret, struct err *err);
