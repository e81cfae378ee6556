/* signature.h - what a model takes and gives: names, types and shapes of its inputs and outputs.
 *
 * A backend fills it when it has loaded a model, and it does not change afterwards: it can be read
 * by any number of threads. Pure logic. */
#pragma once
#include "serve/tensor.h"

/* An input or output. A dimension of -1 may have any size; when the first one of all inputs is -1
 * they can be batched. */
struct signature_slot {
    char *name;          /* as requests call it */
    char *internal_name; /* as the model itself does ("x:0" in TensorFlow); NULL: the same */
    enum tensor_type type;
    bool any_rank; /* the shape is not known at all; rank is 0 */
    size_t rank;
    int64_t dims[TENSOR_DIMS_MAX];
};

struct signature_slots {
    struct signature_slot *v; /* grows by ARRAY_ADD */
    size_t n;
};

#define SIGNATURE_DEFAULT "serving_default"

/* Zeroed is an empty one, which signature_done() accepts. */
struct signature {
    char *name;   /* NULL: SIGNATURE_DEFAULT */
    char *method; /* TensorFlow's word for what it does; NULL: "tensorflow/serving/predict" */
    /* The model has not said what it takes and gives: any tensors will do, and it has no slots. */
    bool dynamic;
    bool rows; /* of a dynamic one: requests may be joined along their first dimension */
    struct signature_slots inputs, outputs;
};

#define SIGNATURE_DYNAMIC_MAX 256 /* inputs of a request for a dynamic one */

const char *signature_name(const struct signature *s);
/* What a slot holds. `dims` of NULL: any shape. */
struct signature_shape {
    enum tensor_type type;
    const int64_t *dims;
    size_t rank;
};
/* Adds a slot to `s->inputs` or `s->outputs`. `internal_name` may be NULL; all is copied. -EINVAL
 * for a dimension below -1, too many, a name twice, an unknown type. */
int signature_put(struct signature_slots *l, const char *name, const char *internal_name,
                  const struct signature_shape *shape, struct err *err);
/* The same with the shape's parts one by one. */
#define signature_add(l, name, internal_name, type, dims, rank, err)                               \
    signature_put(l, name, internal_name, &(const struct signature_shape){ type, dims, rank }, err)
void signature_done(struct signature *s);
/* Into an empty one; the caller's, also after a failure. */
int signature_copy(const struct signature *from, struct signature *ret, struct err *err);

/* The slot of that name, or NULL; its index in *ret_at, which may be NULL. */
const struct signature_slot *signature_find(const struct signature_slots *l, const char *name,
                                            size_t *ret_at);

/* Has each input of `s` exactly one tensor, of its type and shape, and are there no others? The
 * order does not matter. -EINVAL with a sentence that says what is wrong, what was expected, and
 * the nearest name for one that does not exist. */
int signature_check(const struct signature *s, const struct tensors *inputs, struct err *err);
/* What is FP32 where the signature has FP64 becomes FP64, which changes no number. Everything else
 * stays as it is, for signature_check() to look at. */
int signature_widen(const struct signature *s, struct tensors *inputs, struct err *err);
/* Is this output there? -EINVAL likewise. */
int signature_check_output(const struct signature *s, const char *name, struct err *err);
/* Does one tensor fit its slot? -EINVAL likewise. */
int signature_check_slot(const struct signature_slot *slot, const struct tensor *t,
                         struct err *err);

static inline void auto_signature_(struct signature *s)
{
    signature_done(s);
}
#define AUTO_SIGNATURE AUTO(signature) struct signature
