/* protocol_testing.c - models whose outputs can be foretold. */
#include "serve/protocol/protocol_testing.h"
#include "base/str.h"

#include <string.h>

static const int64_t any[] = { -1 }, two[] = { -1, 2 }, one[] = { 1 }, square[] = { -1, 2, 2 };

/* clang-format off */
static const struct {
    int signature; /* which */
    bool output;
    const char *name;
    enum tensor_type type;
    const int64_t *dims;
    size_t rank;
} slots[] = {
    { 0, false, "x", TENSOR_FP32, NULL, 0 },
    { 0, true,  "y", TENSOR_FP32, NULL, 0 },
    { 1, false, "b",   TENSOR_BOOL, NULL, 0 },   { 1, true, "b",   TENSOR_BOOL, NULL, 0 },
    { 1, false, "u8",  TENSOR_UINT8, NULL, 0 },  { 1, true, "u8",  TENSOR_UINT8, NULL, 0 },
    { 1, false, "u64", TENSOR_UINT64, NULL, 0 }, { 1, true, "u64", TENSOR_UINT64, NULL, 0 },
    { 1, false, "i8",  TENSOR_INT8, NULL, 0 },   { 1, true, "i8",  TENSOR_INT8, NULL, 0 },
    { 1, false, "i64", TENSOR_INT64, NULL, 0 },  { 1, true, "i64", TENSOR_INT64, NULL, 0 },
    { 1, false, "f",   TENSOR_FP32, NULL, 0 },   { 1, true, "f",   TENSOR_FP32, NULL, 0 },
    { 1, false, "d",   TENSOR_FP64, NULL, 0 },   { 1, true, "d",   TENSOR_FP64, NULL, 0 },
    { 1, false, "s",   TENSOR_BYTES, NULL, 0 },  { 1, true, "s",   TENSOR_BYTES, NULL, 0 },
    { 2, false, "a", TENSOR_INT32, any, 1 },     { 2, true, "a",   TENSOR_INT32, any, 1 },
    { 2, false, "b", TENSOR_BYTES, two, 2 },     { 2, true, "b_bytes", TENSOR_BYTES, two, 2 },
    { 3, false, "pixels", TENSOR_UINT8, square, 3 }, { 3, true, "pixels", TENSOR_UINT8, square, 3 },
    { 4, false, "s", TENSOR_BYTES, one, 1 },     { 4, true, "s",   TENSOR_BYTES, one, 1 },
    { 5, false, "inputs", TENSOR_BYTES, any, 1 },
    { 5, true, "classes", TENSOR_BYTES, two, 2 }, { 5, true, "scores", TENSOR_FP32, two, 2 },
    { 6, false, "inputs", TENSOR_BYTES, any, 1 }, { 6, true, "outputs", TENSOR_FP32, any, 1 },
    { 7, false, "h", TENSOR_FP16, any, 1 },      { 7, true, "h",   TENSOR_FP16, any, 1 },
};
/* clang-format on */

static const char *const stable[] = { "stable", "pro duction" };

bool test_server_init(struct test_server *s)
{
    const struct served_model models[] = {
        { "half", 1, NULL, 0, "onnx_onnxv1", MODEL_AVAILABLE, .signatures = &s->signatures[0],
          .signatures_n = 1 },
        { "half", 2, stable, 2, "onnx_onnxv1", MODEL_AVAILABLE, .signatures = &s->signatures[0],
          .signatures_n = 1 },
        { "half", 3, .state = MODEL_LOADING },
        { "echo", 1, .state = MODEL_AVAILABLE, .signatures = &s->signatures[1], .signatures_n = 1 },
        { "two", 1, .state = MODEL_AVAILABLE, .signatures = &s->signatures[2], .signatures_n = 1 },
        { "image", 1, .state = MODEL_AVAILABLE, .signatures = &s->signatures[3],
          .signatures_n = 1 },
        { "text", 1, .state = MODEL_AVAILABLE, .signatures = &s->signatures[4], .signatures_n = 1 },
        { "labels", 7, .state = MODEL_AVAILABLE, .signatures = &s->signatures[5],
          .signatures_n = 3 },
    };

    *s =
        (struct test_server){ .served = { "ydl", "0.1", true, true, s->models, COUNT_OF(models) } };
    memcpy(s->models, models, sizeof(models));
    for (size_t i = 0; i < COUNT_OF(slots); i++) {
        struct signature *g = &s->signatures[slots[i].signature];

        if (signature_add(slots[i].output ? &g->outputs : &g->inputs, slots[i].name,
                          slots[i].output ? "internal:0" : NULL, slots[i].type, slots[i].dims,
                          slots[i].rank, NULL) < 0)
            return false;
    }
    s->signatures[5].name = strdup("classify_x");
    s->signatures[5].method = strdup("tensorflow/serving/classify");
    s->signatures[6].name = strdup("regress_x");
    s->signatures[6].method = strdup("tensorflow/serving/regress");
    s->signatures[7].name = strdup("half_float");
    return s->signatures[5].name && s->signatures[5].method && s->signatures[6].name &&
           s->signatures[6].method && s->signatures[7].name;
}

void test_server_done(struct test_server *s)
{
    for (size_t i = 0; i < COUNT_OF(s->signatures); i++)
        signature_done(&s->signatures[i]);
}

/* A tensor with the type, shape and bytes of another. */
static int echo(struct tensors *l, const char *name, const struct tensor *t)
{
    struct tensor *copy;
    int r = tensors_add(l, &copy, NULL);

    if (r == 0)
        r = tensor_init(copy, name, t->type, t->dims, t->rank, NULL);
    return r < 0 ? r : tensor_borrow(copy, t->data, t->size, NULL);
}

static int halve(struct tensors *l, const struct tensor *x)
{
    struct tensor *y;
    void *p;
    int r = tensors_add(l, &y, NULL);

    if (r == 0)
        r = tensor_init(y, "y", TENSOR_FP32, x->dims, x->rank, NULL);
    if (r == 0)
        r = tensor_alloc(y, &p, NULL);
    for (size_t i = 0; r == 0 && i < x->count; i++)
        ((float *)p)[i] = ((const float *)(const void *)x->data)[i] / 2 + 2;
    return r;
}

/* The lengths of the examples, in two columns for scores. */
static int measure(struct tensors *l, const char *name, size_t columns, const struct tensor *x)
{
    const int64_t dims[] = { x->dims[0], (int64_t)columns };
    struct view v = view_of(x->data, x->size);
    struct tensor *t;
    size_t n;
    void *p;
    int r = tensors_add(l, &t, NULL);

    if (r == 0)
        r = tensor_init(t, name, TENSOR_FP32, dims, columns == 2 ? 2 : 1, NULL);
    if (r == 0)
        r = tensor_alloc(t, &p, NULL);
    for (size_t i = 0; r == 0 && tensor_bytes_next(&v, &n); i++) {
        for (size_t k = 0; k < columns; k++)
            ((float *)p)[i * columns + k] = (float)n + 0.5f * (float)k;
    }
    return r;
}

static int label(struct tensors *l, const struct tensor *x)
{
    const int64_t dims[] = { x->dims[0], 2 };
    AUTO_BUF b = { .max = 64 * MIB };
    struct tensor *t;
    int r = tensors_add(l, &t, NULL);

    for (int64_t i = 0; r == 0 && i < dims[0] * 2; i++)
        r = tensor_bytes_add(&b, i % 2 ? "dog" : "cat", 3);
    if (r == 0)
        r = tensor_init(t, "classes", TENSOR_BYTES, dims, 2, NULL);
    return r < 0 ? r : tensor_own_buf(t, &b, NULL);
}

enum exchange_step test_run(struct exchange *x)
{
    AUTO_TENSORS outputs = { 0 };
    const struct tensor *in = x->inputs.v;
    int r = 0;

    if (strcmp(x->model->name, "half") == 0) {
        r = halve(&outputs, in);
    } else if (x->op == EXCHANGE_OP_CLASSIFY) {
        r = measure(&outputs, "scores", 2, in);
        if (r == 0)
            r = label(&outputs, in);
    } else if (x->op == EXCHANGE_OP_REGRESS) {
        r = measure(&outputs, "outputs", 1, in);
    } else {
        for (size_t i = 0; i < x->inputs.n && r == 0; i++)
            r = echo(&outputs, x->signature->dynamic ? in[i].name : x->signature->outputs.v[i].name,
                     &in[i]);
    }
    if (r < 0)
        return exchange_fail(x, EXCHANGE_INTERNAL, "the test's model failed");
    return exchange_finish(x, &outputs);
}

enum exchange_step test_ask(const struct test_server *s, struct exchange *x,
                            const struct exchange_request *q, const void *body, size_t n)
{
    enum exchange_step step = exchange_begin(x, q, &s->served);

    if (step == EXCHANGE_BODY)
        step = exchange_body(x, body, n);
    return step == EXCHANGE_RUN ? test_run(x) : step;
}
