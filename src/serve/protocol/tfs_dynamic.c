/* tfs_dynamic.c - the signature that a predict request itself implies, for a model that has not
 * said what it takes: the names of its inputs, and for each the type that holds all its values.
 * Whole numbers are INT64, others FP64, texts BYTES, as Python's own are; a value without a name is
 * called "input". Shapes are found when the values are read. */
#include "serve/protocol/tfs_json.h"

#include <string.h>

/* The type that holds both. Numbers that are not all whole are doubles, as in Python. */
static enum tensor_type wider(enum tensor_type a, enum tensor_type b)
{
    if (a == TENSOR_NONE || a == b)
        return b;
    if (b == TENSOR_NONE)
        return a;
    return a == TENSOR_BYTES || a == TENSOR_BOOL || b == TENSOR_BYTES || b == TENSOR_BOOL
               ? a /* does not fit, which is said when it is read */
               : TENSOR_FP64;
}

/* Nesting beyond that of any tensor is refused when the value is read. */
static enum tensor_type type_of(yyjson_val *v, int depth)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    enum tensor_type type = TENSOR_NONE;
    yyjson_val *item;

    if (yyjson_is_bool(v))
        return TENSOR_BOOL;
    if (yyjson_is_num(v))
        return yyjson_is_real(v) || (yyjson_is_uint(v) && yyjson_get_uint(v) > INT64_MAX)
                   ? TENSOR_FP64
                   : TENSOR_INT64;
    if (!yyjson_is_arr(v))
        return TENSOR_BYTES;
    while (depth < TENSOR_DIMS_MAX && (item = yyjson_arr_iter_next(&it)) != NULL)
        type = wider(type, type_of(item, depth + 1));
    return type;
}

/* A row more of an input, or all of it. */
static int learn_input(struct exchange *x, const char *name, size_t n, yyjson_val *v,
                       struct err *err)
{
    enum tensor_type type = type_of(v, 0);
    size_t at = 0;

    if (strlen(name) != n || n == 0)
        return exchange_err(err, EXCHANGE_INVALID, "the name of an input is empty or has a NUL");
    if (signature_find(&x->own.inputs, name, &at)) {
        x->own.inputs.v[at].type = wider(x->own.inputs.v[at].type, type);
        return 0;
    }
    if (x->own.inputs.n == SIGNATURE_DYNAMIC_MAX)
        return exchange_err(err, EXCHANGE_INVALID, "more than %d inputs", SIGNATURE_DYNAMIC_MAX);
    return signature_add(&x->own.inputs, name, NULL, type == TENSOR_NONE ? TENSOR_FP64 : type, NULL,
                         0, err);
}

static int learn_value(struct exchange *x, yyjson_val *v, struct err *err)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *key;
    int r = 0;

    if (!yyjson_is_obj(v) || json_is_base64(v))
        return learn_input(x, "input", 5, v, err);
    while (r == 0 && (key = yyjson_obj_iter_next(&it)) != NULL)
        r = learn_input(x, yyjson_get_str(key), yyjson_get_len(key), yyjson_obj_iter_get_val(key),
                        err);
    return r;
}

int tfs_learn_inputs(struct exchange *x, yyjson_val *root, struct err *err)
{
    yyjson_val *rows = yyjson_obj_get(root, "instances"), *row;
    yyjson_val *columns = yyjson_obj_get(root, "inputs");
    yyjson_arr_iter it = yyjson_arr_iter_with(rows);
    int r = columns ? learn_value(x, columns, err) : 0;

    while (r == 0 && (row = yyjson_arr_iter_next(&it)) != NULL)
        r = learn_value(x, row, err);
    /* What is wrong with the form is said by whoever reads it. */
    if (r == 0 && x->own.inputs.n == 0)
        r = learn_input(x, "input", 5, NULL, err);
    x->signature = &x->own;
    return r;
}
