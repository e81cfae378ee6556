/* dn_stream.h - a connection to a DataNode: bytes both ways, protected or not.
 *
 * What is received lies in one buffer, where it is looked at and then eaten, so that a packet is
 * never copied on its way to the caller. What is sent goes out as it is given (one system call for
 * header, checksums and data), or through the cipher.
 *
 * Fibers only. One fiber may read while another writes; not two of a kind. Every wait ends when
 * the other end was silent, or took nothing, for as long as the stream's limits say. */
#pragma once
#include "base/buf.h"
#include "hadoop/sasl/sasl.h"
#include "loop/loop.h"
#include <sys/uio.h>

struct dn_stream; /* opaque */

struct dn_stream_limits {
    int64_t connect_ms, read_ms, write_ms;
    size_t buffer; /* bytes to read at a time */
};

/* Connects. *ret is the caller's: dn_stream_close(). */
int dn_stream_connect(struct loop *l, const char *host, int port,
                      const struct dn_stream_limits *limits, struct dn_stream **ret,
                      struct err *err);
/* The same on a connected, non-blocking descriptor, which it takes over (closed on failure too);
 * `name` is for errors. For tests. */
int dn_stream_from_fd(struct loop *l, int fd, const char *name,
                      const struct dn_stream_limits *limits, struct dn_stream **ret,
                      struct err *err);
/* NULL is fine; always NULL. No fiber may be waiting on it. */
struct dn_stream *dn_stream_close(struct dn_stream *s);

/* Waits until at least `n` unread bytes are there. -ENODATA when the other end closes before,
 * -E2BIG for more than a packet can have. */
int dn_stream_need(struct dn_stream *s, size_t n, struct err *err);
/* The unread bytes; *ret_n of them. Valid until the next dn_stream_need(). */
const uint8_t *dn_stream_bytes(const struct dn_stream *s, size_t *ret_n);
void dn_stream_eat(struct dn_stream *s, size_t n);
/* Reads one message with a varint length before it, at most `max` bytes long, and eats it: `ret`
 * shows its bytes, which are valid until the next dn_stream_need(). */
int dn_stream_message(struct dn_stream *s, size_t max, struct view *ret, struct err *err);

/* Sends all of it. `iov` may be changed. */
int dn_stream_write(struct dn_stream *s, struct iovec *iov, int count, struct err *err);
int dn_stream_send(struct dn_stream *s, const void *p, size_t n, struct err *err);

/* From now on everything goes through the layer that `sasl` agreed on (it must be one), each piece
 * with an int32 length before it. The stream owns `sasl` then. */
void dn_stream_wrap(struct dn_stream *s, struct sasl *sasl);

/* AES-CTR keys of 16, 24 or 32 bytes and the 16 bytes of each counter's start. */
struct dn_stream_keys {
    const uint8_t *out_key, *out_iv, *in_key, *in_iv;
    size_t key_len;
};
/* From now on everything is encrypted so, without framing. */
int dn_stream_encrypt(struct dn_stream *s, const struct dn_stream_keys *keys, struct err *err);

/* Nothing was received that was not read, and the other end has not closed: fit for reuse. */
bool dn_stream_quiet(const struct dn_stream *s);
void dn_stream_set_limits(struct dn_stream *s, const struct dn_stream_limits *limits);
const char *dn_stream_name(const struct dn_stream *s); /* "DataNode 10.0.0.1:9866", borrowed */

AUTO_DEFINE(dn_stream, struct dn_stream *, dn_stream_close);
#define AUTO_DN_STREAM AUTO(dn_stream) struct dn_stream
