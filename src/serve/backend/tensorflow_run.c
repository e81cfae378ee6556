/* tensorflow_run.c - one run of a SavedModel: our bytes become tensors of TensorFlow's, and its
 * become ours.
 *
 * What goes in is copied, because the model may keep it: a variable that is assigned to, or an
 * output that is the input, holds the very same bytes for as long as it lives. What comes out is
 * not, and is given back with our tensor; only strings are copied, which are objects of C++. */
#include "base/str.h"
#include "serve/backend/tensorflow_private.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 64 /* what is aligned less, TensorFlow copies once more */
#define STRINGS_MAX (1024 * MIB)

struct tf_values {
    const struct tf_way *way;
    void **in, **out;
    size_t n_in, n_out;
    void *status;
};

/* ---- inputs ---- */

static void release_numbers(void *p, size_t n, void *arg)
{
    (void)n;
    (void)arg;
    free(p);
}

/* The last one who holds the strings has let them go. */
static void release_strings(void *p, size_t n, void *arg)
{
    const struct tf_api *api = arg;

    for (size_t i = 0; i < n / TF_STRING_SIZE; i++)
        api->string_done((char *)p + i * TF_STRING_SIZE);
    free(p);
}

/* Room for `n` bytes, aligned; also for none. */
static void *aligned(size_t n)
{
    return n > SIZE_MAX - 2 * ALIGN ? NULL : aligned_alloc(ALIGN, (n / ALIGN + 1) * ALIGN);
}

/* A string of TensorFlow is an object of 24 bytes, which holds a short text itself and points to a
 * long one. All have to be initialized before the tensor has them, because it ends each of them
 * when it is deleted. */
static void *tf_make_strings(const struct tf_api *api, const struct tensor *t)
{
    size_t size = t->count * TF_STRING_SIZE, n;
    struct view all = view_of(t->data, t->size);
    char *p = t->count > SIZE_MAX / TF_STRING_SIZE ? NULL : aligned(size);
    const uint8_t *one;

    if (!p)
        return NULL;
    for (size_t i = 0; i < t->count; i++)
        api->string_init(p + i * TF_STRING_SIZE);
    for (size_t i = 0; i < t->count && (one = tensor_bytes_next(&all, &n)) != NULL; i++)
        api->string_copy(p + i * TF_STRING_SIZE, (const char *)one, n);
    return api->new_tensor(TF_STRING, t->dims, (int)t->rank, p, size, release_strings, (void *)api);
}

static void *tf_make_numbers(const struct tf_api *api, const struct tensor *t)
{
    void *p = aligned(t->size);

    if (!p)
        return NULL;
    if (t->size)
        memcpy(p, t->data, t->size);
    return api->new_tensor(tensor_type_tf_number(t->type), t->dims, (int)t->rank, p, t->size,
                           release_numbers, NULL);
}

static int tf_make_value(const struct tf_api *api, const struct tensor *t, void **ret,
                         struct err *err)
{
    *ret = t->type == TENSOR_BYTES ? tf_make_strings(api, t) : tf_make_numbers(api, t);
    return *ret ? 0 : err_oom(err);
}

/* ---- outputs ---- */

static int tf_take_strings(const struct tf_api *api, const void *value, struct tensor *t,
                           struct err *err)
{
    AUTO_BUF b = { .max = STRINGS_MAX };
    const char *p = api->tensor_data(value);
    int r = 0;

    if (api->tensor_size(value) / TF_STRING_SIZE < t->count)
        return err_set(err, -EIO, "the strings of '%s' are not all there", t->name);
    for (size_t i = 0; i < t->count && r == 0; i++) {
        const void *one = p + i * TF_STRING_SIZE;

        r = tensor_bytes_add(&b, api->string_data(one), api->string_size(one));
    }
    return r < 0 ? err_oom(err) : tensor_own_buf(t, &b, err);
}

/* *value becomes the tensor's, if it can. */
static int tf_take_value(const struct tf_api *api, const char *name, void **value, struct tensor *t,
                         struct err *err)
{
    int64_t dims[TENSOR_DIMS_MAX] = { 0 };
    int rank = api->tensor_rank(*value);
    int type = api->tensor_type(*value), r;
    void *own;

    if (rank < 0 || rank > TENSOR_DIMS_MAX)
        return err_set(err, -EOPNOTSUPP, "output '%s' has %d dimensions", name, rank);
    for (int i = 0; i < rank; i++)
        dims[i] = api->tensor_dim(*value, i);
    r = tensor_init(t, name, tensor_type_of_tf_number(type), dims, (size_t)rank, err);
    if (r < 0)
        return r;
    if (type == TF_STRING)
        return tf_take_strings(api, *value, t, err);
    own = take(*value);
    return tensor_own(t, api->tensor_data(own), api->tensor_size(own), own, api->delete_tensor,
                      err);
}

/* ---- a run ---- */

static void tf_values_done(struct tf_values *v)
{
    const struct tf_api *api = &v->way->model->library->api;

    for (size_t i = 0; v->in && i < v->n_in; i++)
        if (v->in[i])
            api->delete_tensor(v->in[i]);
    for (size_t i = 0; v->out && i < v->n_out; i++)
        if (v->out[i])
            api->delete_tensor(v->out[i]);
    free(v->in);
    free(v->out);
    if (v->status)
        api->delete_status(v->status);
}

static int tf_values_new(struct tf_values *v, struct err *err)
{
    v->in = calloc(v->n_in + 1, sizeof(*v->in));
    v->out = calloc(v->n_out + 1, sizeof(*v->out));
    v->status = v->way->model->library->api.new_status();
    return v->in && v->out && v->status ? 0 : err_oom(err);
}

static int tf_values_run(struct tf_values *v, const struct tensors *in, struct tensors *ret,
                         struct err *err)
{
    const struct tf_way *w = v->way;
    const struct tf_api *api = &w->model->library->api;
    int r = 0;

    for (size_t i = 0; i < v->n_in && r == 0; i++)
        r = tf_make_value(api, &in->v[i], &v->in[i], err);
    if (r < 0)
        return r;
    api->run(w->model->session, NULL, w->in, v->in, (int)v->n_in, w->out, v->out, (int)v->n_out,
             NULL, 0, NULL, v->status);
    r = tf_check(api, v->status, "run the model", err);
    for (size_t i = 0; i < v->n_out && r == 0; i++) {
        struct tensor *t = NULL;

        r = tensors_add(ret, &t, err);
        if (r == 0)
            r = tf_take_value(api, w->signature.outputs.v[i].name, &v->out[i], t, err);
    }
    return r;
}

int tf_run(void *way, const struct tensors *in, struct tensors *ret, struct err *err)
{
    const struct tf_way *w = way;
    struct tf_values v = { .way = w,
                           .n_in = w->signature.inputs.n,
                           .n_out = w->signature.outputs.n };
    int r;

    if (in->n != v.n_in)
        return err_set(err, -EINVAL, "%zu inputs where the signature has %zu", in->n, v.n_in);
    r = tf_values_new(&v, err);
    if (r == 0)
        r = tf_values_run(&v, in, ret, err);
    tf_values_done(&v);
    if (r < 0)
        tensors_done(ret);
    return r;
}
