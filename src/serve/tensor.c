/* tensor.c - element types, shapes that cannot overflow, and bytes with an owner.
 *
 * The types are one table: their two spellings, TensorFlow's number, the size of an element. */
#include "serve/tensor.h"
#include "base/array.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *oip, *tf;
    int number;
    size_t size;
} types[TENSOR_TYPES_] = {
    [TENSOR_NONE]   = { "?",      "DT_INVALID",  0,  0 },
    [TENSOR_BOOL]   = { "BOOL",   "DT_BOOL",     10, 1 },
    [TENSOR_UINT8]  = { "UINT8",  "DT_UINT8",    4,  1 },
    [TENSOR_UINT16] = { "UINT16", "DT_UINT16",   17, 2 },
    [TENSOR_UINT32] = { "UINT32", "DT_UINT32",   22, 4 },
    [TENSOR_UINT64] = { "UINT64", "DT_UINT64",   23, 8 },
    [TENSOR_INT8]   = { "INT8",   "DT_INT8",     6,  1 },
    [TENSOR_INT16]  = { "INT16",  "DT_INT16",    5,  2 },
    [TENSOR_INT32]  = { "INT32",  "DT_INT32",    3,  4 },
    [TENSOR_INT64]  = { "INT64",  "DT_INT64",    9,  8 },
    [TENSOR_FP16]   = { "FP16",   "DT_HALF",     19, 2 },
    [TENSOR_BF16]   = { "BF16",   "DT_BFLOAT16", 14, 2 },
    [TENSOR_FP32]   = { "FP32",   "DT_FLOAT",    1,  4 },
    [TENSOR_FP64]   = { "FP64",   "DT_DOUBLE",   2,  8 },
    [TENSOR_BYTES]  = { "BYTES",  "DT_STRING",   7,  0 },
};
/* clang-format on */

static size_t tensor_index(enum tensor_type t)
{
    return (unsigned)t < TENSOR_TYPES_ ? t : TENSOR_NONE;
}

const char *tensor_type_oip(enum tensor_type t)
{
    return types[tensor_index(t)].oip;
}

const char *tensor_type_tf(enum tensor_type t)
{
    return types[tensor_index(t)].tf;
}

int tensor_type_tf_number(enum tensor_type t)
{
    return types[tensor_index(t)].number;
}

size_t tensor_type_size(enum tensor_type t)
{
    return types[tensor_index(t)].size;
}

static bool spelled(const char *word, const char *s, size_t n)
{
    return strlen(word) == n && memcmp(word, s, n) == 0;
}

enum tensor_type tensor_type_of_oip(const char *s, size_t n)
{
    for (enum tensor_type t = TENSOR_NONE + 1; t < TENSOR_TYPES_; t++) {
        if (spelled(types[t].oip, s, n))
            return t;
    }
    return TENSOR_NONE;
}

enum tensor_type tensor_type_of_tf(const char *s, size_t n)
{
    for (enum tensor_type t = TENSOR_NONE + 1; t < TENSOR_TYPES_; t++) {
        if (spelled(types[t].tf, s, n))
            return t;
    }
    return TENSOR_NONE;
}

enum tensor_type tensor_type_of_tf_number(int64_t number)
{
    for (enum tensor_type t = TENSOR_NONE + 1; t < TENSOR_TYPES_; t++) {
        if (types[t].number == number)
            return t;
    }
    return TENSOR_NONE;
}

/* A dimension of 0 counts before the others are multiplied: such a tensor has no elements, however
 * large its other dimensions are, and is not refused for them. Sizes fit ssize_t, so that
 * differences of places within a tensor are always numbers. */
int tensor_measure(enum tensor_type type, const int64_t *dims, size_t rank, size_t *ret_count,
                   size_t *ret_size)
{
    size_t count = 1;
    bool none = false;

    if (rank > TENSOR_DIMS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return -EINVAL;
        none |= dims[i] == 0;
    }
    for (size_t i = 0; i < rank && !none; i++) {
        if (__builtin_mul_overflow(count, (uint64_t)dims[i], &count))
            return -E2BIG;
    }
    *ret_count = none ? 0 : count;
    if (__builtin_mul_overflow(*ret_count, tensor_type_size(type), ret_size) ||
        *ret_size > SSIZE_MAX || *ret_count > SSIZE_MAX)
        return -E2BIG;
    return 0;
}

int tensor_init(struct tensor *t, const char *name, enum tensor_type type, const int64_t *dims,
                size_t rank, struct err *err)
{
    AUTO_FREE char *copy = NULL;
    size_t count = 0, size = 0;
    char shape[TENSOR_SHAPE_TEXT];
    int r;

    r = tensor_measure(type, dims, rank, &count, &size);
    if (r < 0 && rank > TENSOR_DIMS_MAX)
        return err_set(err, r, "a tensor of %zu dimensions: at most %d are possible", rank,
                       TENSOR_DIMS_MAX);
    if (r < 0)
        return err_set(err, r, "the shape %s %s", tensor_shape_text(dims, rank, shape),
                       r == -E2BIG ? "is too large for memory" : "has a negative dimension");
    if (name && !(copy = strdup(name)))
        return err_oom(err);
    tensor_done(t);
    *t = (struct tensor){ .name = take(copy), .type = type, .rank = rank, .count = count };
    if (rank > 0)
        memcpy(t->dims, dims, rank * sizeof(*dims));
    return 0;
}

static void tensor_release(struct tensor *t)
{
    if (t->owner && t->release)
        t->release(t->owner);
    t->owner = NULL;
    t->release = NULL;
    t->data = NULL;
    t->size = 0;
}

int tensor_alloc(struct tensor *t, void **ret, struct err *err)
{
    size_t n = t->count * tensor_type_size(t->type); /* tensor_init has measured it */
    void *p = calloc(1, n > 0 ? n : 1);

    if (!p)
        return err_oom(err);
    tensor_release(t);
    t->owner = p;
    t->release = free;
    t->data = p;
    t->size = n;
    *ret = p;
    return 0;
}

/* Are these exactly the elements of a tensor of BYTES?
 *
 *     05 00 00 00 'h' 'e' 'l' 'l' 'o'   00 00 00 00   02 00 00 00 'h' 'i'
 *     └ length ─┘                       └ empty ──┘
 *
 * Checked once, where bytes come in: whoever walks over them later need not look at `bad`. */
static bool are_elements(const uint8_t *p, size_t n, size_t count)
{
    struct view v = view_of(p, n);
    size_t found = 0, length;

    while (tensor_bytes_next(&v, &length))
        found++;
    return !v.bad && found == count;
}

static int check_bytes(const struct tensor *t, const void *p, size_t n, struct err *err)
{
    size_t want = t->count * tensor_type_size(t->type);
    char shape[TENSOR_SHAPE_TEXT];

    if (t->type == TENSOR_BYTES) {
        if (are_elements(p, n, t->count))
            return 0;
        return err_set(err, -EINVAL, "%zu bytes are not %zu elements of BYTES for the shape %s", n,
                       t->count, tensor_shape_text(t->dims, t->rank, shape));
    }
    if (n == want)
        return 0;
    return err_set(err, -EINVAL, "%zu bytes, but %s of shape %s has %zu", n,
                   tensor_type_oip(t->type), tensor_shape_text(t->dims, t->rank, shape), want);
}

static bool is_aligned(const struct tensor *t, const void *p)
{
    size_t size = tensor_type_size(t->type);

    return size < 2 || (uintptr_t)p % size == 0;
}

/* Bytes in a body lie where they happened to arrive: what is not aligned for its type is copied, as
 * libraries read it as numbers of that size. */
int tensor_borrow(struct tensor *t, const void *p, size_t n, struct err *err)
{
    void *copy = NULL;
    int r = check_bytes(t, p, n, err);

    if (r < 0)
        return r;
    if (!is_aligned(t, p)) {
        r = tensor_alloc(t, &copy, err);
        if (r == 0 && n > 0)
            memcpy(copy, p, n);
        return r;
    }
    tensor_release(t);
    t->data = p;
    t->size = n;
    return 0;
}

/* tensor_borrow() sets an owner only where it has copied what was not aligned: then the bytes that
 * were handed over are of no use any more, as they are when it refuses them. */
int tensor_own(struct tensor *t, const void *p, size_t n, void *owner, void (*release)(void *),
               struct err *err)
{
    int r = tensor_borrow(t, p, n, err);

    if (r < 0 || t->owner) { /* refused, or copied */
        release(owner);
        return r;
    }
    t->owner = owner;
    t->release = release;
    return 0;
}

int tensor_own_buf(struct tensor *t, struct buf *b, struct err *err)
{
    uint8_t *p = b->data;
    size_t n = b->len;

    *b = (struct buf){ .max = b->max };
    return tensor_own(t, p, n, p, free, err);
}

void tensor_done(struct tensor *t)
{
    tensor_release(t);
    free(t->name);
    *t = (struct tensor){ 0 };
}

/* Elements of BYTES have lengths of their own, so that the rows before have to be walked.
 *
 * This is how a batch is cut into answers again: each gets its rows without a copy. `ret` has no
 * owner, and must not outlive `t`. */
int tensor_rows(const struct tensor *t, int64_t first, int64_t n, struct tensor *ret)
{
    struct view v = view_of(t->data, t->size);
    size_t row, from, to, length;

    if (t->rank == 0 || first < 0 || n < 0 || first > t->dims[0] || n > t->dims[0] - first)
        return -EINVAL;
    *ret = *t;
    ret->name = NULL;
    ret->owner = NULL;
    ret->release = NULL;
    ret->dims[0] = n;
    row = t->dims[0] > 0 ? t->count / (size_t)t->dims[0] : 0; /* elements */
    ret->count = row * (size_t)n;
    if (t->type != TENSOR_BYTES) {
        row *= tensor_type_size(t->type);
        ret->data = t->data ? t->data + row * (size_t)first : NULL;
        ret->size = row * (size_t)n;
        return 0;
    }
    for (size_t i = 0; i < row * (size_t)first; i++)
        (void)tensor_bytes_next(&v, &length);
    from = t->size - v.n;
    for (size_t i = 0; i < ret->count; i++)
        (void)tensor_bytes_next(&v, &length);
    to = t->size - v.n;
    ret->data = t->data ? t->data + from : NULL;
    ret->size = to - from;
    return v.bad ? -EINVAL : 0;
}

int tensor_bytes_add(struct buf *b, const void *p, size_t n)
{
    uint8_t *room;
    int r;

    if (n > UINT32_MAX)
        return -E2BIG;
    r = buf_room(b, 4 + n, &room);
    if (r < 0)
        return r;
    for (int i = 0; i < 4; i++)
        room[i] = (uint8_t)(n >> (8 * i));
    if (n > 0)
        memcpy(room + 4, p, n);
    b->len += 4 + n;
    return 0;
}

const uint8_t *tensor_bytes_next(struct view *v, size_t *ret_n)
{
    const uint8_t *p;

    *ret_n = 0;
    if (v->n == 0 || v->bad)
        return NULL;
    p = view_bytes(v, 4);
    if (!p)
        return NULL;
    *ret_n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    return view_bytes(v, *ret_n);
}

const char *tensor_shape_text(const int64_t *dims, size_t rank, char out[TENSOR_SHAPE_TEXT])
{
    size_t at = 0;

    out[at++] = '[';
    for (size_t i = 0; i < rank && i < TENSOR_DIMS_MAX; i++)
        at += (size_t)snprintf(out + at, TENSOR_SHAPE_TEXT - at, "%s%lld", i > 0 ? ", " : "",
                               (long long)dims[i]);
    snprintf(out + at, TENSOR_SHAPE_TEXT - at, "]");
    return out;
}

void tensors_done(struct tensors *l)
{
    for (size_t i = 0; i < l->n; i++)
        tensor_done(&l->v[i]);
    free(l->v);
    *l = (struct tensors){ 0 };
}

int tensors_add(struct tensors *l, struct tensor **ret, struct err *err)
{
    if (ARRAY_ADD(l->v, l->n, (struct tensor){ 0 }) < 0)
        return err_oom(err);
    *ret = &l->v[l->n - 1];
    return 0;
}

const struct tensor *tensors_find(const struct tensors *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->v[i].name, name))
            return &l->v[i];
    }
    return NULL;
}
