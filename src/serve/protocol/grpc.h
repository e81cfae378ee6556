/* grpc.h - what the gRPC calls of the protocols have in common: messages of protobuf-c in and out.
 * Private to this folder. */
#pragma once
#include "serve/protocol/protocol.h"

#include <protobuf-c/protobuf-c.h>

extern const struct protocol grpc_oip_protocol, grpc_tfs_protocol;

/* Blocks of a message that is being made, freed all at once. Zeroed is empty. */
struct pool {
    void **v;
    size_t n;
};
/* A zeroed block of `n` elements, at least one; NULL when out of memory. */
void *pool_get(struct pool *p, size_t n, size_t size);
/* Pointers to these `n` elements. */
void *pool_pointers(struct pool *p, void *items, size_t n, size_t size);
char *pool_number(struct pool *p, int64_t n); /* as text */
void pool_done(struct pool *p);

static inline void auto_pool_(struct pool *p)
{
    pool_done(p);
}
#define AUTO_POOL AUTO(pool) struct pool

/* Appends a message. -E2BIG, -ENOMEM. */
int grpc_pack(struct buf *out, const ProtobufCMessage *m);
/* protobuf-c makes a block for every field, also for those that are two bytes of a message, so what
 * it makes of one has a ceiling: so many bytes besides those that came. */
#define GRPC_UNPACKED_MAX (512 * MIB)
/* The message in these bytes, for its free_unpacked(). NULL: INVALID, or no memory. */
#define grpc_unpack(type, p, n, err) grpc_unpack_within(type, p, n, GRPC_UNPACKED_MAX, err)
void *grpc_unpack_within(const ProtobufCMessageDescriptor *type, const void *p, size_t n,
                         size_t most, struct err *err);
/* A message that is none. */
int grpc_malformed(struct err *err);

/* The values of a tensor in the field for its type. */
enum grpc_field {
    GRPC_BOOL, /* protobuf_c_boolean */
    GRPC_INT32,
    GRPC_INT64,
    GRPC_UINT32,
    GRPC_UINT64,
    GRPC_FLOAT,
    GRPC_DOUBLE,
    GRPC_BYTES, /* ProtobufCBinaryData */
};
struct grpc_values {
    enum grpc_field field;
    const void *v;
    size_t n;
    bool repeat; /* fewer will do: the last one is repeated, and without any they are 0 */
};
/* Most bytes of a tensor whose values are repeated. */
#define GRPC_REPEAT_MAX (64 * MIB)
/* Fills a tensor that has its shape. INVALID when there are too few or too many, or one that the
 * type cannot hold. */
int grpc_values_set(struct tensor *t, const struct grpc_values *v, struct err *err);
/* Bytes that a message came with become the tensor's own; `b` is empty then. */
int grpc_bytes_take(struct tensor *t, ProtobufCBinaryData *b, struct err *err);
/* Another output that is wanted; `name` has been checked. INVALID when it is there already. */
int grpc_want(struct exchange *x, const char *name, struct err *err);
/* HTTP's status is 200 whatever happens, and a failure's text has no form: rows of the protocols.
 */
int grpc_status(enum exchange_code code);
int grpc_error(struct buf *out, enum exchange_code code, const char *text);
