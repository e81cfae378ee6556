/* grpc.c - which call of gRPC means what, and its way through the steps of an exchange: like an
 * HTTP request whose head says nothing but the operation, and whose body is a message. A failure's
 * answer is the text of the status. */
#include "serve/protocol/grpc.h"
#include "base/array.h"
#include "base/str.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OIP "/inference.GRPCInferenceService/"
#define TFS "/tensorflow.serving."

/* clang-format off */
static const struct {
    const char *path;
    const struct protocol *protocol;
    enum exchange_op op;
} calls[] = {
    { OIP "ServerLive",      &grpc_oip_protocol, EXCHANGE_OP_SERVER_LIVE },
    { OIP "ServerReady",     &grpc_oip_protocol, EXCHANGE_OP_SERVER_READY },
    { OIP "ServerMetadata",  &grpc_oip_protocol, EXCHANGE_OP_SERVER_METADATA },
    { OIP "ModelReady",      &grpc_oip_protocol, EXCHANGE_OP_MODEL_READY },
    { OIP "ModelMetadata",   &grpc_oip_protocol, EXCHANGE_OP_MODEL_METADATA },
    { OIP "ModelInfer",      &grpc_oip_protocol, EXCHANGE_OP_PREDICT },
    { OIP "RepositoryIndex", &grpc_oip_protocol, EXCHANGE_OP_INDEX },
    { TFS "PredictionService/Predict",          &grpc_tfs_protocol, EXCHANGE_OP_PREDICT },
    { TFS "PredictionService/GetModelMetadata", &grpc_tfs_protocol, EXCHANGE_OP_MODEL_METADATA },
    { TFS "ModelService/GetModelStatus",        &grpc_tfs_protocol, EXCHANGE_OP_MODEL_STATUS },
};
/* clang-format on */

enum exchange_step exchange_grpc(struct exchange *x, const char *path, const void *p, size_t n,
                                 const struct served *s)
{
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        if (strcmp(calls[i].path, path) != 0)
            continue;
        exchange_init(x, s);
        x->protocol = calls[i].protocol;
        x->op = calls[i].op;
        x->answer.type = x->protocol->type;
        return exchange_body(x, p, n);
    }
    return EXCHANGE_OTHER;
}

void *pool_get(struct pool *p, size_t n, size_t size)
{
    void *block = calloc(n > 0 ? n : 1, size);

    if (!block || ARRAY_ADD(p->v, p->n, block) < 0) {
        free(block);
        return NULL;
    }
    return block;
}

void *pool_pointers(struct pool *p, void *items, size_t n, size_t size)
{
    char **v = pool_get(p, n, sizeof(*v));

    for (size_t i = 0; v && i < n; i++)
        v[i] = (char *)items + i * size;
    return v;
}

char *pool_number(struct pool *p, int64_t n)
{
    char *text = pool_get(p, 24, 1);

    if (text)
        snprintf(text, 24, "%lld", (long long)n);
    return text;
}

void pool_done(struct pool *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i]);
    free(p->v);
    *p = (struct pool){ 0 };
}

int grpc_pack(struct buf *out, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *at = NULL;
    int r = n > 0 ? buf_room(out, n, &at) : 0;

    if (r == 0 && n > 0)
        out->len += protobuf_c_message_pack(m, at);
    return r;
}

/* Memory that one message may still take. */
struct unpacking {
    size_t left;
    bool over, oom;
};

static void *unpacking_alloc(void *data, size_t n)
{
    struct unpacking *u = data;
    void *p;

    if (n + sizeof(max_align_t) > u->left) { /* and what malloc needs itself */
        u->over = true;
        return NULL;
    }
    u->left -= n + sizeof(max_align_t);
    p = malloc(n);
    u->oom |= !p;
    return p;
}

static void unpacking_free(void *data, void *p)
{
    (void)data;
    free(p);
}

/* protobuf-c makes a block of a hundred bytes and more for a part of a message that takes two bytes
 * on the wire: without a ceiling 64 MB could become several gigabytes. A message may always take as
 * much as its own bytes, and `most` on top of that. */
void *grpc_unpack_within(const ProtobufCMessageDescriptor *type, const void *p, size_t n,
                         size_t most, struct err *err)
{
    struct unpacking u = { .left = n + most };
    ProtobufCAllocator memory = { unpacking_alloc, unpacking_free, &u };
    ProtobufCMessage *m = protobuf_c_message_unpack(type, &memory, n, p);

    if (m)
        return m;
    if (u.oom)
        (void)err_oom(err);
    else if (u.over)
        (void)exchange_err(err, EXCHANGE_INVALID,
                           "the message has too many parts: they take more than %zu bytes", most);
    else
        (void)grpc_malformed(err);
    return NULL;
}

int grpc_malformed(struct err *err)
{
    return exchange_err(err, EXCHANGE_INVALID, "the message cannot be read");
}

int grpc_want(struct exchange *x, const char *name, struct err *err)
{
    struct exchange_wanted w = { .name = strdup(name) };

    for (size_t i = 0; i < x->wanted_n && w.name; i++) {
        if (strcmp(x->wanted[i].name, name) == 0) {
            free(w.name);
            return exchange_err(err, EXCHANGE_INVALID, "duplicate output tensor alias: %s", name);
        }
    }
    if (!w.name || ARRAY_ADD(x->wanted, x->wanted_n, w) < 0) {
        free(w.name);
        return err_oom(err);
    }
    return 0;
}

int grpc_status(enum exchange_code code)
{
    (void)code;
    return 200;
}

int grpc_error(struct buf *out, enum exchange_code code, const char *text)
{
    (void)code;
    return buf_add_str(out, text);
}
