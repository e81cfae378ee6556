/* tfs_results.c - the answers to classify and regress requests.
 *
 *     {"results": [[["cat", 0.9], ["dog", 0.1]], …]}   for each example labels and their scores
 *     {"results": [3.5, 4.0]}                          a value for each example */
#include "serve/protocol/json_values.h"
#include "serve/protocol/protocol.h"

#include <string.h>

static const struct tensor *find(const struct exchange *x, const struct tensors *outputs,
                                 const char *name)
{
    return signature_find(&x->signature->outputs, name, NULL) ? tensors_find(outputs, name) : NULL;
}

static int check_table(const struct exchange *x, const struct tensor *t, const char *name,
                       enum tensor_type type, struct err *err)
{
    char shape[TENSOR_SHAPE_TEXT];

    if (!t)
        return 0;
    if (t->rank != 2)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Expected Tensor shape: [batch_size num_classes] but got %s",
                            tensor_shape_text(t->dims, t->rank, shape));
    if (t->type != type)
        return exchange_err(err, EXCHANGE_INVALID, "Expected %s Tensor of %s. Got: %s", name,
                            tensor_type_tf(type), tensor_type_tf(t->type));
    if (t->dims[0] != x->rows)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Expected %s output batch size of %lld. Got: %lld", name,
                            (long long)x->rows, (long long)t->dims[0]);
    return 0;
}

/* ["label", score] */
static int print_class(struct buf *out, struct json_source *label, struct json_source *score)
{
    int r = buf_add_str(out, "[");

    if (r == 0)
        r = label->t ? json_values_print(out, label, 2) : buf_add_str(out, "\"\"");
    if (r == 0)
        r = buf_add_str(out, ", ");
    if (r == 0)
        r = score->t ? json_values_print(out, score, 2) : buf_add_str(out, "0.0");
    return r < 0 ? r : buf_add_str(out, "]");
}

static int print_classes(struct exchange *x, const struct tensor *classes,
                         const struct tensor *scores)
{
    struct json_source label = { .t = classes }, score = { .t = scores };
    int64_t n = classes ? classes->dims[1] : scores->dims[1];
    struct buf *out = &x->answer.body;
    int r = buf_add_str(out, "{\n    \"results\": [");

    for (int64_t i = 0; i < x->rows && r == 0; i++) {
        r = buf_add_str(out, i > 0 ? ", [" : "[");
        for (int64_t k = 0; k < n && r == 0; k++) {
            if (k > 0)
                r = buf_add_str(out, ", ");
            if (r == 0)
                r = print_class(out, &label, &score);
        }
        if (r == 0)
            r = buf_add_str(out, "]");
    }
    return r < 0 ? r : buf_add_str(out, "\n    ]\n}");
}

int tfs_classify_finish(struct exchange *x, const struct tensors *outputs, struct err *err)
{
    const struct tensor *classes = find(x, outputs, "classes");
    const struct tensor *scores = find(x, outputs, "scores");
    int r;

    if (!classes && !scores)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Expected classification signature outputs to contain at least one of "
                            "\"classes\" or \"scores\".");
    r = check_table(x, classes, "classes", TENSOR_BYTES, err);
    if (r == 0)
        r = check_table(x, scores, "scores", TENSOR_FP32, err);
    if (r < 0)
        return r;
    if (classes && scores && classes->dims[1] != scores->dims[1])
        return exchange_err(err, EXCHANGE_INVALID,
                            "Tensors class and score should match in dim_size(1). Got %lld vs. "
                            "%lld",
                            (long long)classes->dims[1], (long long)scores->dims[1]);
    return print_classes(x, classes, scores);
}

static int check_values(const struct exchange *x, const struct tensor *t, struct err *err)
{
    char shape[TENSOR_SHAPE_TEXT];

    if (!(t->rank == 1 || (t->rank == 2 && t->dims[1] == 1)))
        return exchange_err(err, EXCHANGE_INVALID,
                            "Expected output Tensor shape to be either [batch_size] or "
                            "[batch_size, 1] but got %s",
                            tensor_shape_text(t->dims, t->rank, shape));
    if (t->dims[0] != x->rows)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Input batch size did not match output batch size: %lld vs. %lld",
                            (long long)x->rows, (long long)t->dims[0]);
    if (t->type != TENSOR_FP32)
        return exchange_err(err, EXCHANGE_INVALID, "Expected output Tensor of DT_FLOAT.  Got: %s",
                            tensor_type_tf(t->type));
    return 0;
}

int tfs_regress_finish(struct exchange *x, const struct tensors *outputs, struct err *err)
{
    const struct tensor *t = find(x, outputs, "outputs");
    struct json_source s = { .t = t, .flat = true };
    struct buf *out = &x->answer.body;
    int r;

    if (!t)
        return exchange_err(err, EXCHANGE_PRECONDITION,
                            "No regression outputs found in SignatureDef");
    r = check_values(x, t, err);
    if (r == 0)
        r = buf_add_str(out, "{\n    \"results\": ");
    if (r == 0)
        r = json_values_print(out, &s, 0);
    return r < 0 ? r : buf_add_str(out, "\n}");
}
