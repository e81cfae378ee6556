/* tensor.h - a tensor: a name, an element type, a shape and bytes.
 *
 * The bytes of every type are little-endian and row-major, without padding, and aligned for their
 * element. BOOL is one byte, 0 or 1. An element of BYTES is its length (4 bytes, little-endian) and
 * then its bytes, one element behind the other: the form that the Open Inference Protocol sends, so
 * that joining tensors along their first dimension is copying bytes for this type too.
 *
 * The bytes are either the tensor's own, given back by `release`, or borrowed from somebody who
 * keeps them longer than the tensor lives. Pure logic: any thread, one at a time per tensor. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSOR_DIMS_MAX 8

enum tensor_type {
    TENSOR_NONE, /* not a type, or one that we do not know */
    TENSOR_BOOL,
    TENSOR_UINT8,
    TENSOR_UINT16,
    TENSOR_UINT32,
    TENSOR_UINT64,
    TENSOR_INT8,
    TENSOR_INT16,
    TENSOR_INT32,
    TENSOR_INT64,
    TENSOR_FP16,
    TENSOR_BF16,
    TENSOR_FP32,
    TENSOR_FP64,
    TENSOR_BYTES, /* text or bytes of any length */
    TENSOR_TYPES_,
};

/* "FP32" as the Open Inference Protocol spells it, "DT_FLOAT" as TensorFlow does, and TensorFlow's
 * number for it (DataType in types.proto). "?" and 0 for TENSOR_NONE. */
const char *tensor_type_oip(enum tensor_type t);
const char *tensor_type_tf(enum tensor_type t);
int tensor_type_tf_number(enum tensor_type t);
/* Bytes of an element; 0 for BYTES, whose elements differ, and TENSOR_NONE. */
size_t tensor_type_size(enum tensor_type t);
/* From those spellings, `n` bytes; TENSOR_NONE for what is none. */
enum tensor_type tensor_type_of_oip(const char *s, size_t n);
enum tensor_type tensor_type_of_tf(const char *s, size_t n);
enum tensor_type tensor_type_of_tf_number(int64_t number);

/* Zeroed is an empty tensor, which tensor_done() accepts. */
struct tensor {
    char *name; /* owned; NULL: none */
    enum tensor_type type;
    size_t rank; /* 0: a scalar */
    int64_t dims[TENSOR_DIMS_MAX];
    size_t count; /* elements: the product of dims, 1 for a scalar */
    const uint8_t *data;
    size_t size;                  /* bytes at `data` */
    void *owner;                  /* what `release` gives back; NULL: the bytes are borrowed */
    void (*release)(void *owner); /* free() for our own blocks; a backend may have another */
};

/* The number of elements and bytes of a shape. -EINVAL for a negative dimension or more than
 * TENSOR_DIMS_MAX of them, -E2BIG when it cannot be counted in memory. `ret_size` is 0 for BYTES.
 */
int tensor_measure(enum tensor_type type, const int64_t *dims, size_t rank, size_t *ret_count,
                   size_t *ret_size);

/* Makes `t`, whatever it was before, a tensor of this type and shape without bytes yet: one of
 * tensor_alloc, tensor_borrow and tensor_own follows. `name` (may be NULL) and `dims` are copied.
 * Errors are those of tensor_measure, with a sentence. */
int tensor_init(struct tensor *t, const char *name, enum tensor_type type, const int64_t *dims,
                size_t rank, struct err *err);
/* A block of its own, zeroed, of the size of its shape; *ret is to be filled. Not for BYTES. */
int tensor_alloc(struct tensor *t, void **ret, struct err *err);
/* Bytes that somebody else keeps. -EINVAL when their number is not that of the shape, or when they
 * are not `count` elements of BYTES. What is not aligned for its element is copied. */
int tensor_borrow(struct tensor *t, const void *p, size_t n, struct err *err);
/* The same with bytes that become its own, also when this fails: release(owner) ends them. */
int tensor_own(struct tensor *t, const void *p, size_t n, void *owner, void (*release)(void *),
               struct err *err);
/* Hands the content of a buffer over, which is empty then. For BYTES, after tensor_bytes_add. */
int tensor_own_buf(struct tensor *t, struct buf *b, struct err *err);
void tensor_done(struct tensor *t);

/* Rows `first` … `first + n - 1` of its first dimension, as a tensor without a name that borrows
 * from `t`. -EINVAL for a scalar or rows that are not there. For BYTES it walks over the rows
 * before. */
int tensor_rows(const struct tensor *t, int64_t first, int64_t n, struct tensor *ret);

/* Adds an element to the bytes of a tensor of BYTES. -E2BIG past the buffer's ceiling. */
int tensor_bytes_add(struct buf *b, const void *p, size_t n);
/* The next element: its bytes and *ret_n. NULL at the end, or with v->bad when it is cut off.
 *
 *     struct view v = view_of(t->data, t->size);
 *     while ((p = tensor_bytes_next(&v, &n)) != NULL) … */
const uint8_t *tensor_bytes_next(struct view *v, size_t *ret_n);

/* "[2, 784]"; -1 (any size) is written as such. Returns `out`. */
#define TENSOR_SHAPE_TEXT (TENSOR_DIMS_MAX * 22 + 4)
const char *tensor_shape_text(const int64_t *dims, size_t rank, char out[TENSOR_SHAPE_TEXT]);

/* Tensors that it owns. Zeroed is empty. */
struct tensors {
    struct tensor *v; /* grows by ARRAY_ADD */
    size_t n;
};
void tensors_done(struct tensors *l);
/* One more, empty, at the end; *ret is valid until the next. */
int tensors_add(struct tensors *l, struct tensor **ret, struct err *err);
/* The tensor of that name, or NULL. */
const struct tensor *tensors_find(const struct tensors *l, const char *name);

static inline void auto_tensor_(struct tensor *t)
{
    tensor_done(t);
}
#define AUTO_TENSOR AUTO(tensor) struct tensor

static inline void auto_tensors_(struct tensors *l)
{
    tensors_done(l);
}
#define AUTO_TENSORS AUTO(tensors) struct tensors
