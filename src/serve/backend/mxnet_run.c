/* mxnet_run.c - one run of an MXNet model. An executor computes on inputs of one shape, so there is
 * one for each shape that was asked for lately; they share the weights.
 *
 *     shapes ──have it?──► executor ──► inputs in, forward, outputs out
 *                 │ no: infer all shapes, allocate the inputs, bind
 *
 * MXNet is not made for several callers at a time: runs wait for each other. */
#include "serve/backend/mxnet_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- shapes ---- */

/* As MXNet wants them: one list, and where each begins.
 *
 *     names   data            label
 *     begin   0               4         5
 *     dims    1  3  224  224  1 */
struct mx_list {
    const char **names;
    uint32_t *begin, *dims;
};

static void mx_list_done(struct mx_list *l)
{
    free(l->names);
    free(l->begin);
    free(l->dims);
}

static int mx_list_fill(struct mx_list *l, const struct mx_model *m, const int64_t *dims,
                        const size_t *ranks, struct err *err)
{
    size_t n = m->signature.inputs.n;
    uint32_t at = 0;

    l->names = calloc(n + 1, sizeof(*l->names));
    l->begin = calloc(n + 1, sizeof(*l->begin));
    l->dims = calloc(n * TENSOR_DIMS_MAX + 1, sizeof(*l->dims));
    if (!l->names || !l->begin || !l->dims)
        return err_oom(err);
    for (size_t i = 0; i < n; i++) {
        l->names[i] = m->signature.inputs.v[i].name;
        for (size_t d = 0; d < ranks[i]; d++)
            l->dims[at++] = (uint32_t)dims[i * TENSOR_DIMS_MAX + d];
        l->begin[i + 1] = at;
    }
    return 0;
}

/* What it finds lies in memory of the library, until the next call from this thread. */
int mx_infer(const struct mx_model *m, const int64_t *dims, const size_t *ranks,
             struct mx_shapes *ret, struct err *err)
{
    const struct mx_api *api = &m->library->api;
    const uint32_t *aux_rank, **aux_dims;
    struct mx_list l = { 0 };
    uint32_t n_aux = 0;
    int complete = 0, r = mx_list_fill(&l, m, dims, ranks, err);

    if (r == 0 && api->infer_shape(m->symbol, (uint32_t)m->signature.inputs.n, l.names, l.begin,
                                   l.dims, &ret->n_args, &ret->arg_rank, &ret->arg_dims,
                                   &ret->n_outputs, &ret->output_rank, &ret->output_dims, &n_aux,
                                   &aux_rank, &aux_dims, &complete) != 0)
        r = mx_failed(m->library, -EINVAL, "these shapes do not fit", err);
    else if (r == 0 && (!complete || ret->n_args != m->args.n))
        r = err_set(err, -EINVAL, "MXNet cannot tell all shapes from those of the inputs");
    mx_list_done(&l);
    return r;
}

/* ---- executors ---- */

void mx_executor_done(const struct mx_library *l, struct mx_executor *e)
{
    if (e->executor)
        (void)l->api.executor_free(e->executor);
    for (size_t i = 0; e->outputs && e->outputs[i]; i++)
        (void)l->api.array_free(e->outputs[i]);
    for (size_t i = 0; e->args && e->args[i]; i++)
        if (e->mine[i])
            (void)l->api.array_free(e->args[i]);
    free(e->args);
    free(e->mine);
    free(e->outputs);
    free(e->dims);
    *e = (struct mx_executor){ 0 };
}

/* An input, or the label of a training step, which nothing reads: zeroes. */
static int mx_make_array(const struct mx_model *m, const uint32_t *dims, uint32_t rank, int type,
                         void **ret, struct err *err)
{
    const struct mx_api *api = &m->library->api;
    enum tensor_type t = mx_type_to_tensor(type);
    int64_t shape[TENSOR_DIMS_MAX];
    AUTO_FREE void *zeroes = NULL;
    size_t count, size;

    if (rank > TENSOR_DIMS_MAX)
        return err_set(err, -EOPNOTSUPP, "an array with %u dimensions", rank);
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = dims[i];
    if (tensor_measure(t, shape, rank, &count, &size) < 0)
        return err_set(err, -EINVAL, "an array that is too large");
    zeroes = calloc(1, size + 1);
    if (!zeroes)
        return err_oom(err);
    if (api->array_new(dims, rank, MX_CPU, 0, 0, type, ret) != 0)
        return mx_failed(m->library, -EIO, "make an array", err);
    if (api->array_write(*ret, zeroes, count) != 0)
        return mx_failed(m->library, -EIO, "fill an array", err);
    return 0;
}

/* Of an argument without a weight. */
static int mx_input_type(const struct mx_model *m, size_t arg)
{
    for (size_t i = 0; i < m->signature.inputs.n; i++)
        if (m->input_args[i] == arg)
            return mx_type_of_tensor(m->signature.inputs.v[i].type);
    return mx_type_of_tensor(TENSOR_FP32);
}

static int mx_make_args(const struct mx_model *m, const struct mx_shapes *s, struct mx_executor *e,
                        struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < m->args.n && r == 0; i++) {
        e->mine[i] = !m->weights[i];
        if (m->weights[i])
            e->args[i] = m->weights[i];
        else
            r = mx_make_array(m, s->arg_dims[i], s->arg_rank[i], mx_input_type(m, i), &e->args[i],
                              err);
    }
    return r;
}

static int mx_take_outputs(const struct mx_model *m, struct mx_executor *e, struct err *err)
{
    void **v = NULL;
    uint32_t n = 0;

    if (m->library->api.executor_outputs(e->executor, &n, &v) != 0)
        return mx_failed(m->library, -EIO, "read the outputs", err);
    for (uint32_t i = 0; i < n; i++)
        if (i < m->signature.outputs.n)
            e->outputs[i] = v[i];
        else
            (void)m->library->api.array_free(v[i]);
    return n >= m->signature.outputs.n
               ? 0
               : err_set(err, -EIO, "MXNet gave %u outputs where the model has %zu", n,
                         m->signature.outputs.n);
}

/* The weights are shared by all executors: bound arguments are not copied. `kinds` of 0 ask for no
 * gradients. */
static int mx_bind(const struct mx_model *m, const size_t *ranks, struct mx_executor *e,
                   struct err *err)
{
    AUTO_FREE void **grads = calloc(m->args.n + 1, sizeof(void *));
    AUTO_FREE uint32_t *kinds = calloc(m->args.n + 1, sizeof(uint32_t)); /* none of them */
    struct mx_shapes s = { 0 };
    int r = mx_infer(m, e->dims, ranks, &s, err);

    e->args = calloc(m->args.n + 1, sizeof(void *));
    e->mine = calloc(m->args.n + 1, sizeof(bool));
    e->outputs = calloc(m->signature.outputs.n + 1, sizeof(void *));
    if (!grads || !kinds || !e->args || !e->mine || !e->outputs)
        return err_oom(err);
    if (r == 0)
        r = mx_make_args(m, &s, e, err);
    if (r == 0 && m->library->api.bind(m->symbol, MX_CPU, 0, 0, NULL, NULL, NULL,
                                       (uint32_t)m->args.n, e->args, grads, kinds,
                                       (uint32_t)m->aux.n, m->auxs, NULL, &e->executor) != 0)
        r = mx_failed(m->library, -EINVAL, "MXNet cannot bind it to these shapes", err);
    return r < 0 ? r : mx_take_outputs(m, e, err);
}

/* A request's, as they are kept. */
static int64_t *mx_dims_of(const struct tensors *in)
{
    int64_t *dims = calloc(in->n * TENSOR_DIMS_MAX + 1, sizeof(*dims));

    for (size_t i = 0; dims && i < in->n; i++) {
        memcpy(dims + i * TENSOR_DIMS_MAX, in->v[i].dims, in->v[i].rank * sizeof(*dims));
        for (size_t d = in->v[i].rank; d < TENSOR_DIMS_MAX; d++)
            dims[i * TENSOR_DIMS_MAX + d] = -1;
    }
    return dims;
}

static int mx_check_sizes(const struct tensors *in, struct err *err)
{
    for (size_t i = 0; i < in->n; i++) {
        if (in->v[i].count == 0)
            return err_set(err, -EINVAL, "'%s' is empty, which MXNet cannot run on", in->v[i].name);
        for (size_t d = 0; d < in->v[i].rank; d++)
            if (in->v[i].dims[d] > INT32_MAX)
                return err_set(err, -EINVAL, "'%s' is too large", in->v[i].name);
    }
    return 0;
}

/* The one for these shapes, or the place of the one that was not used longest. */
static struct mx_executor *mx_executor_of(struct mx_model *m, const int64_t *dims, size_t n)
{
    struct mx_executor *oldest = &m->executors[0];

    for (size_t i = 0; i < MX_EXECUTORS; i++) {
        struct mx_executor *e = &m->executors[i];

        if (e->executor && memcmp(e->dims, dims, n * TENSOR_DIMS_MAX * sizeof(*dims)) == 0)
            return e;
        if (e->used < oldest->used)
            oldest = e;
    }
    mx_executor_done(m->library, oldest);
    return oldest;
}

static int mx_get_executor(struct mx_model *m, const struct tensors *in, struct mx_executor **ret,
                           struct err *err)
{
    AUTO_FREE int64_t *dims = mx_dims_of(in);
    AUTO_FREE size_t *ranks = calloc(in->n + 1, sizeof(*ranks));
    struct mx_executor *e;
    int r = 0;

    if (!dims || !ranks)
        return err_oom(err);
    for (size_t i = 0; i < in->n; i++)
        ranks[i] = in->v[i].rank;
    e = mx_executor_of(m, dims, in->n);
    if (!e->executor) {
        e->dims = take(dims);
        r = mx_bind(m, ranks, e, err);
    }
    if (r < 0) {
        mx_executor_done(m->library, e);
        return r;
    }
    e->used = ++m->runs;
    *ret = e;
    return 0;
}

/* ---- a run ---- */

static int mx_take_output(const struct mx_model *m, const char *name, void *array, struct tensor *t,
                          struct err *err)
{
    const struct mx_api *api = &m->library->api;
    int64_t dims[TENSOR_DIMS_MAX];
    const uint32_t *found = NULL;
    uint32_t rank = 0;
    void *to = NULL;
    int type = 0, r;

    if (api->array_shape(array, &rank, &found) != 0)
        return mx_failed(m->library, -EIO, "read an output", err);
    if (rank > TENSOR_DIMS_MAX)
        return err_set(err, -EOPNOTSUPP, "output '%s' has %u dimensions", name, rank);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = found[i];
    if (api->array_type(array, &type) != 0)
        return mx_failed(m->library, -EIO, "read an output", err);
    r = tensor_init(t, name, mx_type_to_tensor(type), dims, rank, err);
    if (r == 0)
        r = tensor_alloc(t, &to, err);
    if (r == 0 && api->array_read(array, to, t->count) != 0)
        r = mx_failed(m->library, -EIO, "run the model", err);
    return r;
}

/* MXNet computes in the background: the first copy of an output waits for all of it, and is where
 * errors of the run are told. */
static int mx_compute(const struct mx_model *m, const struct mx_executor *e,
                      const struct tensors *in, struct tensors *ret, struct err *err)
{
    const struct mx_api *api = &m->library->api;
    int r = 0;

    for (size_t i = 0; i < in->n; i++)
        if (api->array_write(e->args[m->input_args[i]], in->v[i].data, in->v[i].count) != 0)
            return mx_failed(m->library, -EIO, "write an input", err);
    if (api->forward(e->executor, 0) != 0)
        return mx_failed(m->library, -EIO, "run the model", err);
    for (size_t i = 0; i < m->signature.outputs.n && r == 0; i++) {
        struct tensor *t = NULL;

        r = tensors_add(ret, &t, err);
        if (r == 0)
            r = mx_take_output(m, m->signature.outputs.v[i].name, e->outputs[i], t, err);
    }
    return r;
}

int mx_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err)
{
    struct mx_model *m = model;
    struct mx_executor *e = NULL;
    int r;

    if (in->n != m->signature.inputs.n)
        return err_set(err, -EINVAL, "%zu inputs where the model has %zu", in->n,
                       m->signature.inputs.n);
    r = mx_check_sizes(in, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&m->lock);
    r = mx_get_executor(m, in, &e, err);
    if (r == 0) {
        r = mx_compute(m, e, in, ret, err);
        if (r < 0)
            mx_executor_done(m->library, e); /* what went wrong may come back at its next use */
    }
    pthread_mutex_unlock(&m->lock);
    if (r < 0)
        tensors_done(ret);
    return r;
}
