/* grpc_oip.c - ModelInfer of the Open Inference Protocol. Tensors come in the field for their type
 * or as bytes, all of a request in the same way; they are answered as bytes, as Triton does. */
#include "serve/protocol/grpc_oip.h"
#include "base/str.h"

#include <string.h>

int grpc_oip_model(struct exchange *x, const char *name, const char *version, struct err *err)
{
    x->name = strdup(name);
    if (!x->name)
        return err_oom(err);
    if (version[0] && str_to_i64(version, 0, INT64_MAX, &x->version) < 0)
        return exchange_err(err, EXCHANGE_INVALID, "the version '%.40s' is not a number", version);
    return 0;
}

int grpc_oip_find(struct exchange *x, const char *name, const char *version, struct err *err)
{
    int r = grpc_oip_model(x, name, version, err);

    if (r < 0)
        return r;
    r = model_find(x);
    return r < 0 ? oip_protocol.no_model(x, r, err) : 0;
}

static bool has_parameter(Inference__ParameterEntry *const *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(v[i]->key, name) == 0)
            return true;
    }
    return false;
}

/* The values of the field for a type.
 *
 * 8 and 16 bits travel as numbers of 32. For FP16 and BF16 the protocol has no field: such tensors
 * come as bytes only. */
static int typed_values(enum tensor_type type, const Inference__InferTensorContents *c,
                        struct grpc_values *ret)
{
    switch (type) {
    case TENSOR_BOOL:
        *ret = (struct grpc_values){ GRPC_BOOL, c->bool_contents, c->n_bool_contents };
        return 0;
    case TENSOR_INT8:
    case TENSOR_INT16:
    case TENSOR_INT32:
        *ret = (struct grpc_values){ GRPC_INT32, c->int_contents, c->n_int_contents };
        return 0;
    case TENSOR_INT64:
        *ret = (struct grpc_values){ GRPC_INT64, c->int64_contents, c->n_int64_contents };
        return 0;
    case TENSOR_UINT8:
    case TENSOR_UINT16:
    case TENSOR_UINT32:
        *ret = (struct grpc_values){ GRPC_UINT32, c->uint_contents, c->n_uint_contents };
        return 0;
    case TENSOR_UINT64:
        *ret = (struct grpc_values){ GRPC_UINT64, c->uint64_contents, c->n_uint64_contents };
        return 0;
    case TENSOR_FP32:
        *ret = (struct grpc_values){ GRPC_FLOAT, c->fp32_contents, c->n_fp32_contents };
        return 0;
    case TENSOR_FP64:
        *ret = (struct grpc_values){ GRPC_DOUBLE, c->fp64_contents, c->n_fp64_contents };
        return 0;
    case TENSOR_BYTES:
        *ret = (struct grpc_values){ GRPC_BYTES, c->bytes_contents, c->n_bytes_contents };
        return 0;
    default:
        return -EINVAL;
    }
}

static int read_typed(struct tensor *t, const Inference__InferTensorContents *c, struct err *err)
{
    const Inference__InferTensorContents none = INFERENCE__INFER_TENSOR_CONTENTS__INIT;
    struct grpc_values v;

    if (typed_values(t->type, c ? c : &none, &v) < 0)
        return exchange_err(err, EXCHANGE_INVALID,
                            "input '%s' is %s, which has no typed values: use raw_input_contents",
                            t->name, tensor_type_oip(t->type));
    return grpc_values_set(t, &v, err);
}

/* ModelInferRequest has its values in one of two places:
 *
 *     inputs[i].contents.fp32_contents = [1, 2, …]      typed: a field for each type
 *     raw_input_contents[i] = 00 00 80 3f …             bytes, little-endian; BYTES with lengths
 *
 * The second is for all inputs or for none (read_request() compares the numbers), and is what
 * Triton's clients send. Regions of shared memory, in which Triton takes tensors too, are refused.
 */
static int read_tensor(struct exchange *x, const Inference__ModelInferRequest *q, size_t i,
                       struct err *err)
{
    const Inference__InferTensor *in = q->inputs[i];
    enum tensor_type type = tensor_type_of_oip(in->datatype, strlen(in->datatype));
    struct tensor *t;
    int r;

    if (type == TENSOR_NONE)
        return exchange_err(err, EXCHANGE_INVALID, "invalid datatype for input %.80s: %.40s",
                            in->name, in->datatype);
    if (has_parameter(in->parameters, in->n_parameters, "shared_memory_region"))
        return exchange_err(err, EXCHANGE_UNIMPLEMENTED,
                            "input '%.80s' is in shared memory, which is not supported", in->name);
    r = tensors_add(&x->inputs, &t, err);
    if (r == 0)
        r = tensor_init(t, in->name, type, in->shape, in->n_shape, err);
    if (r == -EINVAL || r == -E2BIG)
        return exchange_err(err, EXCHANGE_INVALID, "invalid shape for input '%.80s'", in->name);
    if (r < 0 || q->n_raw_input_contents == 0)
        return r < 0 ? r : read_typed(t, in->contents, err);
    if (in->contents)
        return exchange_err(err, EXCHANGE_INVALID,
                            "contents field must not be specified when using raw_input_contents "
                            "for '%.80s' for model '%s'",
                            in->name, x->name);
    return grpc_bytes_take(t, &q->raw_input_contents[i], err);
}

static int read_wanted(struct exchange *x, const Inference__InferRequestedOutput *o,
                       struct err *err)
{
    int r = signature_check_output(x->signature, o->name, err);

    if (r < 0)
        return r;
    if (has_parameter(o->parameters, o->n_parameters, "classification") ||
        has_parameter(o->parameters, o->n_parameters, "shared_memory_region"))
        return exchange_err(err, EXCHANGE_UNIMPLEMENTED,
                            "output '%.80s' asks for classification or shared memory, which are "
                            "not supported",
                            o->name);
    return grpc_want(x, o->name, err);
}

static int read_request(struct exchange *x, const Inference__ModelInferRequest *q, struct err *err)
{
    int r = grpc_oip_find(x, q->model_name, q->model_version, err);

    if (r < 0)
        return r;
    x->signature = model_signature(x->model, NULL);
    if (!x->signature)
        return exchange_err(err, EXCHANGE_INTERNAL, "model '%s' has no signature", x->name);
    if (!x->signature->dynamic && q->n_inputs > x->signature->inputs.n)
        return exchange_err(err, EXCHANGE_INVALID,
                            "expected %zu inputs but got %zu inputs for model '%s'",
                            x->signature->inputs.n, q->n_inputs, x->name);
    if (q->n_raw_input_contents > 0 && q->n_raw_input_contents != q->n_inputs)
        return exchange_err(err, EXCHANGE_INVALID,
                            "expected %zu raw inputs but got %zu raw inputs for model '%s'",
                            q->n_inputs, q->n_raw_input_contents, x->name);
    if (q->id[0] && !(x->id = strdup(q->id)))
        return err_oom(err);
    for (size_t i = 0; i < q->n_inputs && r == 0; i++)
        r = read_tensor(x, q, i, err);
    for (size_t i = 0; i < q->n_outputs && r == 0; i++)
        r = read_wanted(x, q->outputs[i], err);
    return r;
}

int grpc_oip_infer_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    Inference__ModelInferRequest *q =
        grpc_unpack(&inference__model_infer_request__descriptor, p, n, err);
    int r = q ? read_request(x, q, err) : err->code;

    if (q)
        inference__model_infer_request__free_unpacked(q, NULL);
    return r;
}

/* Tensors are kept in the form that the protocol sends (tensor.h): the raw contents borrow their
 * bytes. */
static int pack_answer(struct exchange *x, const struct tensor *const *v, size_t n, struct err *err)
{
    Inference__ModelInferResponse a = INFERENCE__MODEL_INFER_RESPONSE__INIT;
    AUTO_POOL pool = { 0 };
    Inference__InferTensor *out = pool_get(&pool, n, sizeof(*out));
    ProtobufCBinaryData *raw = pool_get(&pool, n, sizeof(*raw));

    a.model_version = pool_number(&pool, x->model->version);
    a.outputs = out ? pool_pointers(&pool, out, n, sizeof(*out)) : NULL;
    if (!out || !raw || !a.model_version || !a.outputs)
        return err_oom(err);
    for (size_t i = 0; i < n; i++) {
        inference__infer_tensor__init(&out[i]);
        out[i].name = v[i]->name;
        out[i].datatype = tensor_type_oip(v[i]->type);
        out[i].n_shape = v[i]->rank;
        out[i].shape = (int64_t *)(uintptr_t)v[i]->dims;
        raw[i] = (ProtobufCBinaryData){ v[i]->size, (uint8_t *)(uintptr_t)v[i]->data };
    }
    a.model_name = x->name;
    a.id = x->id ? x->id : "";
    a.n_outputs = a.n_raw_output_contents = n;
    a.raw_output_contents = raw;
    return grpc_pack(&x->answer.body, &a.base);
}

int grpc_oip_infer_finish(struct exchange *x, const struct tensors *outputs, struct err *err)
{
    AUTO_FREE const struct tensor **v =
        calloc(x->signature->outputs.n + 1, sizeof(struct tensor *));
    int n;

    if (!v)
        return err_oom(err);
    n = pick_outputs(x, outputs, v, err);
    return n < 0 ? n : pack_answer(x, v, (size_t)n, err);
}
