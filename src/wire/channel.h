/* channel.h - protobuf messages over a stream, each behind its length (4 bytes, big-endian).
 *
 * Sending never waits: messages are queued and a fiber of the channel writes them in large pieces.
 * The queue has a ceiling; past it the peer is too slow and the channel breaks (-ENOBUFS). */
#pragma once
#include "base/auto.h"
#include "wire/stream.h"
#include <protobuf-c/protobuf-c.h>

struct channel; /* opaque */

struct channel_limits {
    size_t frame_max; /* bytes of one message, either way */
    size_t queue_max; /* bytes waiting to be written */
};

/* Takes over `s`, also when it fails. *ret is the caller's: channel_close(). */
int channel_new(struct loop *l, struct stream *s, const struct channel_limits *limits,
                struct channel **ret, struct err *err);

/* Queues a message; it is packed before this returns. Any fiber, or a callback of the loop. A
 * message above frame_max is -E2BIG and leaves the channel as it was. When writing has failed, so
 * does this, but what the other side sent before can still be read. */
int channel_send(struct channel *c, const ProtobufCMessage *m, struct err *err);
size_t channel_queued(const struct channel *c); /* bytes not written yet */
/* Waits until what was queued has been written. Fibers only. */
int channel_flush(struct channel *c, int64_t deadline, struct err *err);

/* The next message: 1, 0 at the end of the stream, or -E2BIG (too large), -EBADMSG (does not
 * parse), -ENODATA (the stream ended inside one), all of which break the channel; after -ETIMEDOUT
 * and -ECANCELED it can be asked again and nothing is lost. *ret is the caller's:
 * protobuf_c_message_free_unpacked(). Fibers only, one at a time. */
int channel_read(struct channel *c, const ProtobufCMessageDescriptor *d, int64_t deadline,
                 ProtobufCMessage **ret, struct err *err);

/* For who does not keep a fiber waiting: after channel_read() with a deadline of now has said
 * -ETIMEDOUT, calls fn(user) once, from the loop, when there is more to read, or the end, or when
 * the channel is closed here. `user` will often hold on to the channel meanwhile: */
int channel_on_readable(struct channel *c, void (*fn)(void *user), void *user);
struct channel *channel_ref(struct channel *c);   /* its memory stays; it may be closed */
struct channel *channel_unref(struct channel *c); /* always NULL */

struct stream *channel_stream(struct channel *c); /* borrowed */
/* Drops what is queued. A fiber in channel_read() gets -ECONNABORTED. Always NULL. */
struct channel *channel_close(struct channel *c);
AUTO_DEFINE(channel, struct channel *, channel_close);
