/* grpc_values.c - typed values of protobuf messages into the bytes of tensors. Types narrower than
 * 32 bits travel in fields of 32; half floats as the bits that they are. */
#include "serve/protocol/grpc.h"

#include <string.h>

static const struct {
    size_t size; /* of an element of the message */
} fields[] = {
    [GRPC_BOOL] = { sizeof(protobuf_c_boolean) },
    [GRPC_INT32] = { 4 },
    [GRPC_INT64] = { 8 },
    [GRPC_UINT32] = { 4 },
    [GRPC_UINT64] = { 8 },
    [GRPC_FLOAT] = { 4 },
    [GRPC_DOUBLE] = { 8 },
    [GRPC_BYTES] = { sizeof(ProtobufCBinaryData) },
};

/* What a field of 32 bits may hold for a narrower type. */
static const struct {
    int64_t min, max;
} ranges[TENSOR_TYPES_] = {
    [TENSOR_BOOL] = { 0, 1 },
    [TENSOR_INT8] = { INT8_MIN, INT8_MAX },
    [TENSOR_INT16] = { INT16_MIN, INT16_MAX },
    [TENSOR_UINT8] = { 0, UINT8_MAX },
    [TENSOR_UINT16] = { 0, UINT16_MAX },
    [TENSOR_FP16] = { 0, UINT16_MAX },
    [TENSOR_BF16] = { 0, UINT16_MAX },
};

static int64_t wide_value(const struct grpc_values *v, size_t i)
{
    switch (v->field) {
    case GRPC_UINT32:
        return ((const uint32_t *)v->v)[i];
    case GRPC_BOOL:
        return ((const protobuf_c_boolean *)v->v)[i] != 0;
    default:
        return ((const int32_t *)v->v)[i];
    }
}

/* One element of the message into one of the tensor. */
static int narrow(const struct tensor *t, const struct grpc_values *v, size_t i, uint8_t *at,
                  struct err *err)
{
    size_t size = tensor_type_size(t->type);
    int64_t n;

    if (size == fields[v->field].size && v->field != GRPC_BOOL) {
        memcpy(at, (const uint8_t *)v->v + i * size, size);
        return 0;
    }
    n = wide_value(v, i);
    if (n < ranges[t->type].min || n > ranges[t->type].max)
        return exchange_err(err, EXCHANGE_INVALID, "input '%s': %lld is not %s", t->name,
                            (long long)n, tensor_type_oip(t->type));
    memcpy(at, &n, size); /* little-endian */
    return 0;
}

/* Where element and field have the same size the values are one copy. Missing ones at the end
 * repeat the last (TensorFlow's TensorProto only: grpc_values_set() has checked whether that is
 * allowed). */
static int set_numbers(struct tensor *t, const struct grpc_values *v, struct err *err)
{
    size_t size = tensor_type_size(t->type);
    uint8_t *p;
    int r = tensor_alloc(t, (void **)&p, err);

    if (r == 0 && size == fields[v->field].size && v->field != GRPC_BOOL && v->n == t->count) {
        if (v->n > 0)
            memcpy(p, v->v, v->n * size);
        return 0;
    }
    for (size_t i = 0; i < v->n && r == 0; i++)
        r = narrow(t, v, i, p + i * size, err);
    for (size_t i = v->n; r == 0 && v->n > 0 && i < t->count; i++)
        memcpy(p + i * size, p + (v->n - 1) * size, size);
    return r;
}

static int set_texts(struct tensor *t, const struct grpc_values *v, struct err *err)
{
    const ProtobufCBinaryData *texts = v->v;
    AUTO_BUF b = { .max = EXCHANGE_ANSWER_MAX };
    int r = 0;

    for (size_t i = 0; i < t->count && r == 0; i++) {
        const ProtobufCBinaryData none = { 0 };
        const ProtobufCBinaryData *one =
            i < v->n ? &texts[i] : (v->n > 0 ? &texts[v->n - 1] : &none);

        r = tensor_bytes_add(&b, one->data, one->len);
    }
    if (r == -E2BIG)
        return exchange_err(err, EXCHANGE_INVALID, "input '%s' is larger than %zu bytes", t->name,
                            EXCHANGE_ANSWER_MAX);
    return r < 0 ? err_oom(err) : tensor_own_buf(t, &b, err);
}

int grpc_values_set(struct tensor *t, const struct grpc_values *v, struct err *err)
{
    size_t size = t->type == TENSOR_BYTES ? 4 : tensor_type_size(t->type);

    if (v->n > t->count || (v->n < t->count && !v->repeat))
        return exchange_err(err, EXCHANGE_INVALID,
                            "input '%s' has %zu values, but its shape has %zu", t->name, v->n,
                            t->count);
    if (v->n < t->count && t->count > GRPC_REPEAT_MAX / size)
        return exchange_err(err, EXCHANGE_INVALID,
                            "input '%s' has %zu values for a shape of %zu, which is too many to "
                            "repeat",
                            t->name, v->n, t->count);
    return t->type == TENSOR_BYTES ? set_texts(t, v, err) : set_numbers(t, v, err);
}

int grpc_bytes_take(struct tensor *t, ProtobufCBinaryData *b, struct err *err)
{
    ProtobufCBinaryData bytes = *b;
    int r;

    *b = (ProtobufCBinaryData){ 0 };
    r = tensor_own(t, bytes.data, bytes.len, bytes.data, free, err);
    return r == -EINVAL ? err_wrap(err, r, "input '%s'", t->name) : r;
}
