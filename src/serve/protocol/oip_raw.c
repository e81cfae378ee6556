/* oip_raw.c - a request that is nothing but the bytes of the one input.
 *
 * Its shape is the model's, whose one dimension without a size follows from the number of bytes.
 * When two have none and one of them is the first, that one is the batch and 1. A text is one
 * element, the whole body. All outputs are answered as bytes. */
#include "serve/protocol/protocol.h"

#include <string.h>

static int raw_text(struct tensor *t, const struct signature_slot *slot, const void *p, size_t n,
                    struct err *err)
{
    const int64_t ones[TENSOR_DIMS_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    AUTO_BUF b = { .max = n + 4 };
    int r;

    r = tensor_init(t, slot->name, slot->type, ones, slot->any_rank ? 1 : slot->rank, err);
    if (r == 0 && tensor_bytes_add(&b, p, n) < 0)
        r = err_oom(err);
    return r < 0 ? r : tensor_own_buf(t, &b, err);
}

/* The shape; -EINVAL when it cannot be found. */
static int raw_shape(const struct signature_slot *slot, size_t n, int64_t *dims)
{
    size_t open = SIZE_MAX, count, size;
    int unknown = 0;

    memcpy(dims, slot->dims, sizeof(slot->dims));
    for (size_t i = 0; i < slot->rank; i++)
        unknown += dims[i] < 0;
    if (unknown == 2 && dims[0] < 0) {
        dims[0] = 1;
        unknown = 1;
    }
    for (size_t i = 0; i < slot->rank; i++) {
        if (dims[i] < 0) {
            open = i;
            dims[i] = 1;
        }
    }
    if (slot->any_rank || unknown > 1 ||
        tensor_measure(slot->type, dims, slot->rank, &count, &size) < 0)
        return -EINVAL;
    if (open == SIZE_MAX)
        return 0;
    if (size == 0 || n % size != 0)
        return -EINVAL;
    dims[open] = (int64_t)(n / size);
    return 0;
}

int oip_raw_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    const struct signature_slots *l = &x->signature->inputs;
    int64_t dims[TENSOR_DIMS_MAX];
    char shape[TENSOR_SHAPE_TEXT];
    struct tensor *t;
    int r;

    x->binary_output = true;
    if (l->n != 1)
        return exchange_err(err, EXCHANGE_INVALID,
                            "a raw request is possible for models with one input: '%s' has %zu",
                            x->name, l->n);
    r = tensors_add(&x->inputs, &t, err);
    if (r < 0)
        return r;
    if (l->v[0].type == TENSOR_BYTES)
        return raw_text(t, &l->v[0], p, n, err);
    if (raw_shape(&l->v[0], n, dims) < 0)
        return exchange_err(
            err, EXCHANGE_INVALID,
            "the shape of input '%s' does not follow from %zu bytes: it is %s of %s", l->v[0].name,
            n, tensor_type_oip(l->v[0].type), tensor_shape_text(l->v[0].dims, l->v[0].rank, shape));
    r = tensor_init(t, l->v[0].name, l->v[0].type, dims, l->v[0].rank, err);
    if (r == 0)
        r = tensor_borrow(t, p, n, err);
    return r == -EINVAL ? err_wrap(err, r, "input '%s'", l->v[0].name) : r;
}
