/* channel_frame.h - the bytes of a channel: a message behind its length. Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <protobuf-c/protobuf-c.h>

#define CHANNEL_HEAD ((size_t)4) /* the length, most significant byte first */

/* Appends a message. -E2BIG past `max` bytes of it, -ENOBUFS past the buffer's ceiling: `out` is
 * unchanged then. */
int channel_pack(const ProtobufCMessage *m, size_t max, struct buf *out, struct err *err);

/* How long the message at the front of (p, n) is, without its length field: -EAGAIN when there are
 * too few bytes to know, -E2BIG past `max`. */
ssize_t channel_length(const void *p, size_t n, size_t max, struct err *err);

/* A message from exactly its bytes: -EBADMSG when it is not one, -ENOMEM. *ret is the caller's:
 * protobuf_c_message_free_unpacked(). */
int channel_unpack(const ProtobufCMessageDescriptor *d, const void *p, size_t n,
                   ProtobufCMessage **ret, struct err *err);
