/* grpc_tfs.c - TensorFlow Serving's Predict. A tensor comes as bytes or in the field for its type,
 * where fewer values than it has elements mean that the last one is repeated; it is answered in the
 * field for its type, which clients read without TensorFlow. */
#include "serve/protocol/grpc_tfs.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* ModelSpec {name; version or version_label; signature_name}. The version is a message around a
 * number (google.protobuf.Int64Value); without one the newest is meant. */
int grpc_tfs_spec(struct exchange *x, const Tfs__ModelSpec *spec, struct err *err)
{
    if (!spec)
        return exchange_err(err, EXCHANGE_INVALID, "Missing ModelSpec");
    x->name = strdup(spec->name);
    if (!x->name)
        return err_oom(err);
    if (spec->version_choice_case == TFS__MODEL_SPEC__VERSION_CHOICE_VERSION && spec->version)
        x->version = spec->version->value;
    if (spec->version_choice_case == TFS__MODEL_SPEC__VERSION_CHOICE_VERSION_LABEL) {
        x->label = strdup(spec->version_label ? spec->version_label : "");
        if (!x->label)
            return err_oom(err);
    }
    return 0;
}

int grpc_tfs_find(struct exchange *x, const Tfs__ModelSpec *spec, struct err *err)
{
    int r = grpc_tfs_spec(x, spec, err);

    if (r < 0)
        return r;
    r = model_find(x);
    return r < 0 ? tfs_protocol.no_model(x, r, err) : 0;
}

void grpc_tfs_answered(const struct exchange *x, Tfs__Int64Value *version, Tfs__ModelSpec *ret)
{
    tfs__int64_value__init(version);
    version->value = x->model->version;
    tfs__model_spec__init(ret);
    ret->name = x->name;
    ret->version_choice_case = TFS__MODEL_SPEC__VERSION_CHOICE_VERSION;
    ret->version = version;
}

Tfs__TensorShape *grpc_tfs_shape(struct pool *pool, const int64_t *dims, size_t rank)
{
    Tfs__TensorShape *s = pool_get(pool, 1, sizeof(*s));
    Tfs__TensorShape__Dim *v = pool_get(pool, rank, sizeof(*v));

    if (!s || !v)
        return NULL;
    tfs__tensor_shape__init(s);
    for (size_t i = 0; i < rank; i++) {
        tfs__tensor_shape__dim__init(&v[i]);
        v[i].size = dims[i];
    }
    s->n_dim = rank;
    s->dim = pool_pointers(pool, v, rank, sizeof(*v));
    return s->dim ? s : NULL;
}

/* The values of the field for a type.
 *
 * TensorProto has fewer fields than types: what is narrower than 32 bits is in int_val, each value
 * as an int32, and half_val has the 16 bits of a FP16 or BF16 in the lower half of an int32.
 * `repeat`: a field may be shorter than the shape says, and its last value stands for all that
 * follow, as tf.make_tensor_proto() writes a constant of one value. */
static int typed_values(enum tensor_type type, const Tfs__Tensor *m, struct grpc_values *ret)
{
    const struct {
        enum tensor_type type;
        struct grpc_values values;
    } rows[] = {
        { TENSOR_FP32, { GRPC_FLOAT, m->float_val, m->n_float_val } },
        { TENSOR_FP64, { GRPC_DOUBLE, m->double_val, m->n_double_val } },
        { TENSOR_INT32, { GRPC_INT32, m->int_val, m->n_int_val } },
        { TENSOR_INT16, { GRPC_INT32, m->int_val, m->n_int_val } },
        { TENSOR_INT8, { GRPC_INT32, m->int_val, m->n_int_val } },
        { TENSOR_UINT16, { GRPC_INT32, m->int_val, m->n_int_val } },
        { TENSOR_UINT8, { GRPC_INT32, m->int_val, m->n_int_val } },
        { TENSOR_INT64, { GRPC_INT64, m->int64_val, m->n_int64_val } },
        { TENSOR_UINT32, { GRPC_UINT32, m->uint32_val, m->n_uint32_val } },
        { TENSOR_UINT64, { GRPC_UINT64, m->uint64_val, m->n_uint64_val } },
        { TENSOR_BOOL, { GRPC_BOOL, m->bool_val, m->n_bool_val } },
        { TENSOR_FP16, { GRPC_INT32, m->half_val, m->n_half_val } },
        { TENSOR_BF16, { GRPC_INT32, m->half_val, m->n_half_val } },
        { TENSOR_BYTES, { GRPC_BYTES, m->string_val, m->n_string_val } },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].type != type)
            continue;
        *ret = rows[i].values;
        ret->repeat = true;
        return 0;
    }
    return -EINVAL;
}

static int read_shape(const char *name, const Tfs__TensorShape *s, int64_t *dims, size_t *ret_rank,
                      struct err *err)
{
    *ret_rank = s ? s->n_dim : 0;
    if (s && (s->unknown_rank || s->n_dim > TENSOR_DIMS_MAX))
        return exchange_err(err, EXCHANGE_INVALID,
                            "input '%.80s' has no shape of at most %d dimensions", name,
                            TENSOR_DIMS_MAX);
    for (size_t i = 0; i < *ret_rank; i++)
        dims[i] = s->dim[i]->size;
    return 0;
}

/* TensorProto: tensor_content has all values as bytes, in this machine's order, and wins over the
 * typed field. For texts only the typed field (string_val) is read. */
static int read_tensor(struct exchange *x, const char *name, Tfs__Tensor *m, struct err *err)
{
    enum tensor_type type = tensor_type_of_tf_number(m->dtype);
    int64_t dims[TENSOR_DIMS_MAX];
    struct grpc_values v;
    struct tensor *t;
    size_t rank;
    int r = read_shape(name, m->tensor_shape, dims, &rank, err);

    if (r < 0)
        return r;
    if (typed_values(type, m, &v) < 0)
        return exchange_err(err, EXCHANGE_INVALID,
                            "input '%.80s' has element type %d, which is not supported", name,
                            (int)m->dtype);
    r = tensors_add(&x->inputs, &t, err);
    if (r == 0)
        r = tensor_init(t, name, type, dims, rank, err);
    if (r == -EINVAL || r == -E2BIG)
        return exchange_err(err, EXCHANGE_INVALID, "invalid shape for input '%.80s'", name);
    if (r < 0)
        return r;
    if (m->tensor_content.len > 0 && type != TENSOR_BYTES)
        return grpc_bytes_take(t, &m->tensor_content, err);
    return grpc_values_set(t, &v, err);
}

static int read_filter(struct exchange *x, const char *name, struct err *err)
{
    char names[200];
    size_t at = 0;

    if (x->signature->dynamic || signature_find(&x->signature->outputs, name, NULL))
        return grpc_want(x, name, err);
    names[0] = '\0';
    for (size_t i = 0; i < x->signature->outputs.n && at < sizeof(names); i++)
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i > 0 ? "," : "",
                               x->signature->outputs.v[i].name);
    return exchange_err(err, EXCHANGE_INVALID,
                        "output tensor alias not found in signature: %.80s Outputs expected to be "
                        "in the set {%s}.",
                        name, names);
}

static int read_request(struct exchange *x, const Tfs__PredictRequest *q, struct err *err)
{
    const char *name;
    int r = grpc_tfs_find(x, q->model_spec, err);

    if (r < 0)
        return r;
    name = q->model_spec->signature_name[0] ? q->model_spec->signature_name : NULL;
    x->signature = model_signature(x->model, name);
    if (!x->signature)
        return exchange_err(err, EXCHANGE_PRECONDITION,
                            "Serving signature key \"%.200s\" not found.",
                            name ? name : SIGNATURE_DEFAULT);
    if (!x->signature->dynamic && q->n_inputs > x->signature->inputs.n)
        return exchange_err(err, EXCHANGE_INVALID, "input size does not match signature: %zu!=%zu",
                            q->n_inputs, x->signature->inputs.n);
    for (size_t i = 0; i < q->n_inputs && r == 0; i++) {
        if (!q->inputs[i]->value)
            return grpc_malformed(err);
        r = read_tensor(x, q->inputs[i]->key, q->inputs[i]->value, err);
    }
    for (size_t i = 0; i < q->n_output_filter && r == 0; i++)
        r = read_filter(x, q->output_filter[i], err);
    return r;
}

int grpc_tfs_predict_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    Tfs__PredictRequest *q = grpc_unpack(&tfs__predict_request__descriptor, p, n, err);
    int r = q ? read_request(x, q, err) : err->code;

    if (q)
        tfs__predict_request__free_unpacked(q, NULL);
    return r;
}

/* Elements of 8 or 16 bits in a field of 32, truth values in one of their own.
 *
 * pool_get() zeroes: the low bytes are copied into each (this machine is little-endian, as tensors
 * are), which is the value of an unsigned one; of a signed one the sign has to be extended. */
static int32_t *widen(struct pool *pool, const struct tensor *t)
{
    size_t size = tensor_type_size(t->type);
    int32_t *v = pool_get(pool, t->count, sizeof(*v));
    bool is_signed = t->type == TENSOR_INT8 || t->type == TENSOR_INT16;

    for (size_t i = 0; v && i < t->count; i++) {
        int8_t i8;
        int16_t i16;

        memcpy(&v[i], t->data + i * size, size);
        memcpy(&i8, t->data + i * size, 1);
        memcpy(&i16, t->data + i * size, size == 2 ? 2 : 1);
        if (is_signed)
            v[i] = size == 1 ? i8 : i16;
    }
    return v;
}

static ProtobufCBinaryData *split(struct pool *pool, const struct tensor *t)
{
    ProtobufCBinaryData *v = pool_get(pool, t->count, sizeof(*v));
    struct view bytes = view_of(t->data, t->size);

    for (size_t i = 0; v && i < t->count; i++)
        v[i].data = (uint8_t *)(uintptr_t)tensor_bytes_next(&bytes, &v[i].len);
    return v;
}

static int fill_tensor(struct pool *pool, const struct tensor *t, Tfs__Tensor *m)
{
    void *data = (void *)(uintptr_t)t->data;
    int32_t *wide = NULL;

    m->dtype = (Tfs__DataType)tensor_type_tf_number(t->type);
    m->tensor_shape = grpc_tfs_shape(pool, t->dims, t->rank);
    if (!m->tensor_shape)
        return -ENOMEM;
    if (t->type == TENSOR_BYTES) {
        m->n_string_val = t->count;
        m->string_val = split(pool, t);
        return m->string_val ? 0 : -ENOMEM;
    }
    if (tensor_type_size(t->type) < 4 && !(wide = widen(pool, t)))
        return -ENOMEM;
    switch (t->type) {
    case TENSOR_FP32:
        m->n_float_val = t->count;
        m->float_val = data;
        break;
    case TENSOR_FP64:
        m->n_double_val = t->count;
        m->double_val = data;
        break;
    case TENSOR_INT64:
        m->n_int64_val = t->count;
        m->int64_val = data;
        break;
    case TENSOR_UINT32:
        m->n_uint32_val = t->count;
        m->uint32_val = data;
        break;
    case TENSOR_UINT64:
        m->n_uint64_val = t->count;
        m->uint64_val = data;
        break;
    case TENSOR_BOOL:
        m->n_bool_val = t->count;
        m->bool_val = wide;
        break;
    case TENSOR_FP16:
    case TENSOR_BF16:
        m->n_half_val = t->count;
        m->half_val = wide;
        break;
    default:
        m->n_int_val = t->count;
        m->int_val = wide ? wide : data;
    }
    return 0;
}

/* The message borrows the bytes of the tensors wherever a field has the width of the type, and
 * `pool` has the rest until the message is packed: an answer is copied once, into the body. */
static int pack_answer(struct exchange *x, const struct tensor *const *v, size_t n, struct err *err)
{
    Tfs__PredictResponse a = TFS__PREDICT_RESPONSE__INIT;
    AUTO_POOL pool = { 0 };
    Tfs__TensorEntry *entries = pool_get(&pool, n, sizeof(*entries));
    Tfs__Tensor *tensors = pool_get(&pool, n, sizeof(*tensors));
    Tfs__Int64Value version;
    Tfs__ModelSpec spec;

    a.outputs = entries ? pool_pointers(&pool, entries, n, sizeof(*entries)) : NULL;
    if (!a.outputs || !tensors)
        return err_oom(err);
    for (size_t i = 0; i < n; i++) {
        tfs__tensor_entry__init(&entries[i]);
        tfs__tensor__init(&tensors[i]);
        entries[i].key = v[i]->name;
        entries[i].value = &tensors[i];
        if (fill_tensor(&pool, v[i], &tensors[i]) < 0)
            return err_oom(err);
    }
    grpc_tfs_answered(x, &version, &spec);
    spec.signature_name = signature_name(x->signature);
    a.n_outputs = n;
    a.model_spec = &spec;
    return grpc_pack(&x->answer.body, &a.base);
}

int grpc_tfs_predict_finish(struct exchange *x, const struct tensors *outputs, struct err *err)
{
    AUTO_FREE const struct tensor **v =
        calloc(x->signature->outputs.n + 1, sizeof(struct tensor *));
    int n;

    if (!v)
        return err_oom(err);
    n = pick_outputs(x, outputs, v, err);
    return n < 0 ? n : pack_answer(x, v, (size_t)n, err);
}
