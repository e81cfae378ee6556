/* onnxruntime_run.c - one run of an ONNX model: our bytes become values of ONNX Runtime without a
 * copy, and its values become tensors of ours in the same way, released with them. Only strings are
 * copied, because its own are C++ objects. See onnxruntime_private.h. */
#include "base/str.h"
#include "serve/backend/onnxruntime_private.h"

#include <string.h>

#define STRINGS_MAX (1024 * MIB)

struct ort_values {
    const struct ort_model *model;
    void **in, **out;
    size_t n_in, n_out;
};

/* ---- inputs ---- */

/* Elements as C strings, in one block: pointers first, then the text. */
static int strings_of(const struct tensor *t, char ***ret, struct err *err)
{
    size_t pointers = (t->count + 1) * sizeof(char *);
    char **v = malloc(pointers + t->size + t->count + 1);
    struct view all = view_of(t->data, t->size);
    const uint8_t *p;
    char *to;
    size_t n;

    if (!v)
        return err_oom(err);
    to = (char *)v + pointers;
    for (size_t i = 0; i < t->count && (p = tensor_bytes_next(&all, &n)) != NULL; i++) {
        if (memchr(p, '\0', n)) {
            free(v);
            return err_set(err, -EINVAL,
                           "an element has a byte of 0, which this model's strings "
                           "cannot have");
        }
        v[i] = to;
        memcpy(to, p, n);
        to[n] = '\0';
        to += n + 1;
    }
    v[t->count] = NULL;
    *ret = v;
    return 0;
}

static int make_string_value(const struct ort_library *l, const struct tensor *t, void **ret,
                             struct err *err)
{
    AUTO_FREE char **v = NULL;
    int r = strings_of(t, &v, err);

    if (r == 0)
        r = ort_check(l->api,
                      l->api->create_tensor(l->allocator, t->dims, t->rank, ORT_TYPE_STRING, ret),
                      "make a tensor", err);
    if (r == 0)
        r = ort_check(l->api, l->api->fill_strings(*ret, (const char *const *)v, t->count),
                      "make a tensor", err);
    return r;
}

static int make_value(const struct ort_library *l, const struct tensor *t, void **ret,
                      struct err *err)
{
    static uint8_t nothing[16]; /* of a tensor without elements */

    if (t->type == TENSOR_BYTES)
        return make_string_value(l, t, ret, err);
    return ort_check(l->api,
                     l->api->create_tensor_with_data(l->memory, t->size ? (void *)t->data : nothing,
                                                     t->size, t->dims, t->rank,
                                                     ort_type_of_tensor(t->type), ret),
                     "make a tensor", err);
}

/* ---- outputs ---- */

/* Its strings stand one behind the other; ours have their lengths between them. */
static int take_strings(const struct ort_library *l, const void *value, struct tensor *t,
                        struct err *err)
{
    AUTO_FREE size_t *offsets = calloc(t->count + 1, sizeof(*offsets));
    AUTO_BUF b = { .max = STRINGS_MAX };
    AUTO_FREE char *text = NULL;
    size_t n = 0;
    int r;

    if (!offsets)
        return err_oom(err);
    r = ort_check(l->api, l->api->strings_size(value, &n), "read strings", err);
    if (r < 0)
        return r;
    text = malloc(n + 1);
    if (!text)
        return err_oom(err);
    r = ort_check(l->api, l->api->get_strings(value, text, n, offsets, t->count), "read strings",
                  err);
    offsets[t->count] = n;
    for (size_t i = 0; i < t->count && r == 0; i++)
        r = tensor_bytes_add(&b, text + offsets[i], offsets[i + 1] - offsets[i]);
    if (r == -E2BIG || r == -ENOMEM)
        return err_oom(err);
    return r < 0 ? r : tensor_own_buf(t, &b, err);
}

static int value_shape(const struct ort_api *api, const void *value, int *ret_type, int64_t *dims,
                       size_t *ret_rank, struct err *err)
{
    void *info = NULL;
    int r = ort_check(api, api->value_info(value, &info), "read an output", err);

    if (r < 0)
        return r;
    r = ort_check(api, api->element_type(info, ret_type), "read an output", err);
    if (r == 0)
        r = ort_check(api, api->rank(info, ret_rank), "read an output", err);
    if (r == 0 && *ret_rank > TENSOR_DIMS_MAX)
        r = err_set(err, -EOPNOTSUPP, "an output with %zu dimensions", *ret_rank);
    if (r == 0)
        r = ort_check(api, api->dims(info, dims, *ret_rank), "read an output", err);
    api->release_value_info(info);
    return r;
}

/* *value becomes the tensor's.
 *
 * Also if that fails: tensor_own() releases what it does not take. */
static int take_value(const struct ort_library *l, const char *name, void **value, struct tensor *t,
                      struct err *err)
{
    int64_t dims[TENSOR_DIMS_MAX] = { 0 };
    size_t rank = 0, count = 0, size = 0;
    void *p = NULL;
    int type = 0, r;

    r = value_shape(l->api, *value, &type, dims, &rank, err);
    if (r == 0)
        r = tensor_init(t, name, ort_type_to_tensor(type), dims, rank, err);
    if (r < 0)
        return r;
    if (t->type == TENSOR_BYTES)
        return take_strings(l, *value, t, err);
    r = tensor_measure(t->type, dims, rank, &count, &size);
    if (r < 0)
        return err_set(err, r, "output '%s' cannot be counted", name);
    r = ort_check(l->api, l->api->tensor_data(*value, &p), "read an output", err);
    if (r < 0)
        return r;
    return tensor_own(t, p, size, take(*value), l->api->release_value, err);
}

/* ---- a run ---- */

static void values_done(struct ort_values *v)
{
    const struct ort_api *api = v->model->library->api;

    for (size_t i = 0; v->in && i < v->n_in; i++)
        if (v->in[i])
            api->release_value(v->in[i]);
    for (size_t i = 0; v->out && i < v->n_out; i++)
        if (v->out[i])
            api->release_value(v->out[i]);
    free(v->in);
    free(v->out);
}

static int values_run(struct ort_values *v, const struct tensors *in, struct tensors *ret,
                      struct err *err)
{
    const struct ort_model *m = v->model;
    int r = 0;

    v->in = calloc(v->n_in, sizeof(*v->in));
    v->out = calloc(v->n_out, sizeof(*v->out));
    if (!v->in || !v->out)
        return err_oom(err);
    for (size_t i = 0; i < v->n_in && r == 0; i++)
        r = make_value(m->library, &in->v[i], &v->in[i], err);
    if (r == 0)
        r = ort_check(m->library->api,
                      m->library->api->run(m->session, NULL, (const char *const *)m->in_names,
                                           (const void *const *)v->in, v->n_in,
                                           (const char *const *)m->out_names, v->n_out, v->out),
                      "run the model", err);
    for (size_t i = 0; i < v->n_out && r == 0; i++) {
        struct tensor *t = NULL;

        r = tensors_add(ret, &t, err);
        if (r == 0)
            r = take_value(m->library, m->out_names[i], &v->out[i], t, err);
    }
    return r;
}

int ort_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err)
{
    const struct ort_model *m = model;
    struct ort_values v = { .model = m,
                            .n_in = m->signature.inputs.n,
                            .n_out = m->signature.outputs.n };
    int r;

    if (in->n != v.n_in)
        return err_set(err, -EINVAL, "%zu inputs where the model has %zu", in->n, v.n_in);
    r = values_run(&v, in, ret, err);
    values_done(&v);
    if (r < 0)
        tensors_done(ret);
    return r;
}
