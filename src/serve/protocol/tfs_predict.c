/* tfs_predict.c - the inputs of a predict request.
 *
 *     {"instances": [[1, 2], [3, 4]]}                     in rows: one input, or
 *     {"instances": [{"a": 1, "b": "x"}, {"a": 2, …}]}    an object of all inputs for each row
 *     {"inputs": [[1, 2], [3, 4]]}                        in columns: one input, or
 *     {"inputs": {"a": [1, 2], "b": ["x", "y"]}}          each of them at once
 *
 * The shape of a value follows from the lengths of its first lists; the others are compared with
 * it. Nothing is allocated by a shape: bytes are added list by list, so that a request takes no
 * more memory than what it says. A dynamic signature is made from the request first: its names, and
 * the types that hold what it has. */
#include "base/str.h"
#include "serve/protocol/tfs_json.h"

#include <stdio.h>
#include <string.h>

int tfs_format_error(yyjson_val *v, struct err *err, const char *text)
{
    char shown[TFS_SHOWN];

    json_show(v, shown, sizeof(shown));
    return exchange_err(err, EXCHANGE_INVALID, "JSON Value: %s %s", shown, text);
}

int tfs_json_read(const void *p, size_t n, yyjson_doc **ret, struct err *err)
{
    struct json_trouble why;
    int r = json_doc_read(p, n, true, ret, &why);

    if (r == -ENOMEM)
        return err_oom(err);
    if (r == -E2BIG)
        return exchange_err(err, EXCHANGE_INVALID, "JSON of %zu bytes: at most %zu are read", n,
                            EXCHANGE_JSON_MAX);
    if (r < 0 && n == 0)
        return exchange_err(err, EXCHANGE_INVALID, "JSON Parse error: %s", why.text);
    if (r < 0)
        return exchange_err(err, EXCHANGE_INVALID, "JSON Parse error: %s at offset: %zu", why.text,
                            why.at);
    if (!yyjson_is_obj(yyjson_doc_get_root(*ret)))
        return tfs_format_error(yyjson_doc_get_root(*ret), err, "Is not object");
    return 0;
}

int tfs_signature_name(yyjson_val *root, const char **ret, struct err *err)
{
    yyjson_val *v = yyjson_obj_get(root, "signature_name");

    *ret = NULL;
    if (!v)
        return 0;
    if (!yyjson_is_str(v))
        return tfs_format_error(root, err,
                                "not formatted correctly. 'signature_name' key must be a string "
                                "value.");
    if (yyjson_get_len(v) > 0)
        *ret = yyjson_get_str(v);
    return 0;
}

/* The shape of one value, or of an input's first row. */
struct shape {
    size_t rank;
    int64_t dims[TENSOR_DIMS_MAX];
    size_t count;
};

/* An input while it is read. */
struct input {
    struct json_sink sink;
    struct shape first; /* of its first row */
    size_t rows;
};

/* What one value is read with. */
struct fill {
    struct json_sink *sink;
    const struct shape *shape;
    struct err *err;
};

static int shape_of(yyjson_val *v, struct shape *ret, struct err *err)
{
    *ret = (struct shape){ 0 };
    while (yyjson_is_arr(v)) {
        if (ret->rank == TENSOR_DIMS_MAX)
            return exchange_err(err, EXCHANGE_INVALID,
                                "lists are nested deeper than %d, the most dimensions of a tensor",
                                TENSOR_DIMS_MAX);
        ret->dims[ret->rank++] = (int64_t)yyjson_arr_size(v);
        v = yyjson_arr_get_first(v);
    }
    return 0;
}

static void shape_text(const struct shape *s, char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < s->rank && at < cap; i++)
        at +=
            (size_t)snprintf(out + at, cap - at, "%s%lld", i > 0 ? "," : "", (long long)s->dims[i]);
}

static int type_error(const struct fill *f, yyjson_val *v)
{
    char shown[TFS_SHOWN];

    json_show(v, shown, sizeof(shown));
    if (!json_type_has_text(f->sink->type))
        return exchange_err(f->err, EXCHANGE_UNIMPLEMENTED,
                            "Conversion of JSON Value: %s to type: %s", shown,
                            tfs_type_name(f->sink->type));
    return exchange_err(f->err, EXCHANGE_INVALID,
                        "JSON Value: %s Type: %s is not of expected type: %s", shown, json_kind(v),
                        tfs_type_name(f->sink->type));
}

/* Why a value that stands at the right level does not fit. */
static int leaf_error(const struct fill *f, yyjson_val *v)
{
    if (yyjson_is_arr(v))
        return exchange_err(f->err, EXCHANGE_INVALID,
                            "Encountered list at unexpected level: %zu expected < %zu",
                            f->shape->rank, f->shape->rank);
    if (!yyjson_is_obj(v) || f->sink->type != TENSOR_BYTES)
        return type_error(f, v);
    if (!json_is_base64(v))
        return tfs_format_error(v, f->err, "not formatted correctly for base64 data");
    return exchange_err(f->err, EXCHANGE_INVALID, "Unable to base64 decode");
}

static int fill_leaves(const struct fill *f, yyjson_val *first, size_t n)
{
    yyjson_val *bad = first;
    int r = 0;

    if (n > 0 && !json_type_has_text(f->sink->type))
        return type_error(f, first);
    if (n > 0)
        r = json_sink_add(f->sink, first, n, &bad);
    if (r == -EINVAL)
        return leaf_error(f, bad);
    return r < 0 ? err_oom(f->err) : 0;
}

static int fill_list(const struct fill *f, yyjson_val *v, size_t level)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *item;
    char shown[TFS_SHOWN];
    int r = 0;

    if ((int64_t)yyjson_arr_size(v) != f->shape->dims[level])
        return exchange_err(f->err, EXCHANGE_INVALID,
                            "Encountered list at unexpected size: %zu at level: %zu expected size: "
                            "%lld",
                            yyjson_arr_size(v), level, (long long)f->shape->dims[level]);
    if (level + 1 == f->shape->rank)
        return fill_leaves(f, yyjson_arr_get_first(v), yyjson_arr_size(v));
    while (r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL) {
        if (yyjson_is_arr(item)) {
            r = fill_list(f, item, level + 1);
            continue;
        }
        json_show(item, shown, sizeof(shown));
        r = exchange_err(f->err, EXCHANGE_INVALID,
                         "JSON Value: %s found at incorrect level: %zu in the JSON DOM. Expected "
                         "at level: %zu",
                         shown, level + 2, f->shape->rank);
    }
    return r;
}

/* One value, of whatever shape; *ret_shape says which. */
static int fill_value(struct json_sink *sink, yyjson_val *v, struct shape *ret_shape,
                      struct err *err)
{
    const struct fill f = { sink, ret_shape, err };
    size_t before = sink->count;
    int r = shape_of(v, ret_shape, err);

    if (r == 0)
        r = yyjson_is_arr(v) ? fill_list(&f, v, 0) : fill_leaves(&f, v, 1);
    ret_shape->count = sink->count - before;
    return r;
}

/* One row of an input. All rows have the shape of the first.
 *
 * Rows of different lengths and those that are only shaped differently have sentences of their own,
 * which clients of TensorFlow Serving know. */
static int add_row(struct input *in, yyjson_val *v, struct err *err)
{
    struct shape s;
    char want[TENSOR_SHAPE_TEXT], have[TENSOR_SHAPE_TEXT];
    int r = fill_value(&in->sink, v, &s, err);

    if (r < 0)
        return r;
    if (in->rows++ == 0) {
        in->first = s;
        return 0;
    }
    if (s.count != in->first.count)
        return exchange_err(err, EXCHANGE_INVALID, "Expecting tensor size: %zu but got: %zu",
                            in->first.count, s.count);
    if (s.rank == in->first.rank && memcmp(s.dims, in->first.dims, sizeof(s.dims)) == 0)
        return 0;
    shape_text(&in->first, want, sizeof(want));
    shape_text(&s, have, sizeof(have));
    return exchange_err(err, EXCHANGE_INVALID, "Expecting shape [%s] but got: [%s]", want, have);
}

/* Says where in "instances" it happened. */
static int element_error(struct err *err, size_t at, const char *key, size_t key_n)
{
    struct err inner = *err;

    if (inner.detail != EXCHANGE_INVALID && inner.detail != EXCHANGE_UNIMPLEMENTED)
        return inner.code;
    if (key)
        return exchange_err(err, (enum exchange_code)EXCHANGE_INVALID,
                            "Failed to process element: %zu key: %.*s of 'instances' list. Error: "
                            "%s: %s",
                            at, (int)(key_n < 80 ? key_n : 80), key,
                            inner.detail == EXCHANGE_INVALID ? "INVALID_ARGUMENT" : "UNIMPLEMENTED",
                            inner.text);
    return exchange_err(
        err, EXCHANGE_INVALID, "Failed to process element: %zu of 'instances' list. Error: %s: %s",
        at, inner.detail == EXCHANGE_INVALID ? "INVALID_ARGUMENT" : "UNIMPLEMENTED", inner.text);
}

static const char *input_names(const struct signature *s, char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < s->inputs.n && at < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%s", i > 0 ? "," : "", s->inputs.v[i].name);
    return out;
}

/* Which input a key means; SIZE_MAX: none. */
static size_t input_of(const struct signature *s, yyjson_val *key)
{
    for (size_t i = 0; i < s->inputs.n; i++) {
        if (yyjson_equals_str(key, s->inputs.v[i].name))
            return i;
    }
    return SIZE_MAX;
}

/* One object of "instances".
 *
 * Has it named an input already? Then that one has one row more than there were objects before. */
static int add_object(const struct signature *s, struct input *in, size_t at, yyjson_val *object,
                      struct err *err)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    char names[160], shown[TFS_SHOWN];
    yyjson_val *key;
    int r;

    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        size_t i = input_of(s, key);

        if (i == SIZE_MAX)
            r = exchange_err(err, EXCHANGE_INVALID, "JSON object: does not have named input: %.80s",
                             yyjson_get_str(key));
        else if (in[i].rows > at)
            r = exchange_err(err, EXCHANGE_INVALID, "JSON object: has named input twice: %s",
                             s->inputs.v[i].name);
        else
            r = add_row(&in[i], yyjson_obj_iter_get_val(key), err);
        if (r < 0)
            return element_error(err, at, yyjson_get_str(key), yyjson_get_len(key));
    }
    for (size_t i = 0; i < s->inputs.n; i++) {
        if (in[i].rows > at)
            continue;
        json_show(object, shown, sizeof(shown));
        return exchange_err(err, EXCHANGE_INVALID,
                            "Failed to process element: %zu of 'instances' list. JSON object: %s "
                            "keys must be equal to: %s",
                            at, shown, input_names(s, names, sizeof(names)));
    }
    return 0;
}

static bool is_named(yyjson_val *v)
{
    return yyjson_is_obj(v) && !json_is_base64(v);
}

static int read_instances(const struct signature *s, struct input *in, yyjson_val *list,
                          struct err *err)
{
    bool named = is_named(yyjson_arr_get_first(list));
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *item;
    int r = 0;

    if (!yyjson_is_obj(yyjson_arr_get_first(list)) && s->inputs.n > 1)
        return exchange_err(err, EXCHANGE_INVALID,
                            "instances is a plain list, but expecting list of objects as multiple "
                            "input tensors required as per tensorinfo_map");
    for (size_t at = 0; r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL; at++) {
        if (named != is_named(item))
            return exchange_err(err, EXCHANGE_INVALID,
                                "Expecting %s but got %s at item %zu of input list",
                                named ? "object" : "value/list", named ? "list" : "object", at);
        if (named) {
            r = add_object(s, in, at, item, err);
        } else {
            r = add_row(&in[0], item, err);
            if (r < 0)
                r = element_error(err, at, NULL, 0);
        }
    }
    return r;
}

static int read_columns(const struct signature *s, struct input *in, yyjson_val *v, struct err *err)
{
    int r = 0;

    if (!is_named(v)) {
        if (s->inputs.n > 1)
            return exchange_err(err, EXCHANGE_INVALID,
                                "inputs is a plain value/list, but expecting an object as multiple "
                                "input tensors required as per tensorinfo_map");
        return fill_value(&in[0].sink, v, &in[0].first, err);
    }
    for (size_t i = 0; i < s->inputs.n && r == 0; i++) {
        const char *name = s->inputs.v[i].name;
        yyjson_val *item = yyjson_obj_get(v, name);

        if (!item)
            return exchange_err(err, EXCHANGE_INVALID,
                                "Missing named input: %s in 'inputs' object.", name);
        r = fill_value(&in[i].sink, item, &in[i].first, err);
    }
    return r;
}

/* The tensor of an input that has been read, with its rows as first dimension if there are any. */
static int add_tensor(struct exchange *x, const char *name, struct input *in, struct err *err)
{
    struct shape *s = &in->first;
    struct tensor *t;
    int r;

    if (x->rows >= 0 && s->rank == TENSOR_DIMS_MAX)
        return exchange_err(err, EXCHANGE_INVALID, "'%s' has more than %d dimensions", name,
                            TENSOR_DIMS_MAX);
    if (x->rows >= 0) {
        memmove(s->dims + 1, s->dims, s->rank * sizeof(*s->dims));
        s->dims[0] = x->rows;
        s->rank++;
    }
    r = tensors_add(&x->inputs, &t, err);
    if (r == 0)
        r = tensor_init(t, name, in->sink.type, s->dims, s->rank, err);
    return r < 0 ? r : tensor_own_buf(t, &in->sink.bytes, err);
}

static int read_form(struct exchange *x, struct input *in, yyjson_val *root, struct err *err)
{
    yyjson_val *rows = yyjson_obj_get(root, "instances");
    yyjson_val *columns = yyjson_obj_get(root, "inputs");

    if (!rows && !columns)
        return exchange_err(err, EXCHANGE_INVALID, "Missing 'inputs' or 'instances' key");
    if (rows && columns)
        return tfs_format_error(root, err,
                                "Not formatted correctly expecting only one of 'inputs' or "
                                "'instances' keys to exist ");
    if (columns)
        return read_columns(x->signature, in, columns, err);
    if (!yyjson_is_arr(rows))
        return tfs_format_error(root, err, "Expecting 'instances' to be an list/array");
    if (yyjson_arr_size(rows) == 0)
        return tfs_format_error(root, err, "No values in 'instances' array");
    x->rows = (int64_t)yyjson_arr_size(rows);
    return read_instances(x->signature, in, rows, err);
}

static int read_inputs(struct exchange *x, yyjson_doc *doc, size_t size, struct err *err)
{
    const struct signature *s = x->signature;
    AUTO_FREE struct input *in = calloc(s->inputs.n, sizeof(*in));
    int r;

    if (!in)
        return err_oom(err);
    for (size_t i = 0; i < s->inputs.n; i++) {
        enum tensor_type type = s->inputs.v[i].type;
        size_t element = type == TENSOR_BYTES ? 4 : tensor_type_size(type);

        in[i].sink.type = type;
        in[i].sink.base64 = true;
        /* No value of JSON is read twice, and texts do not grow. */
        buf_init(&in[i].sink.bytes, yyjson_doc_get_val_count(doc) * element + size);
    }
    r = read_form(x, in, yyjson_doc_get_root(doc), err);
    for (size_t i = 0; i < s->inputs.n; i++) {
        if (r == 0)
            r = add_tensor(x, s->inputs.v[i].name, &in[i], err);
        buf_done(&in[i].sink.bytes);
    }
    return r;
}

/* Read like any other; what is run is the model's own signature. */
static int read_dynamic(struct exchange *x, yyjson_doc *doc, size_t n, struct err *err)
{
    const struct signature *of = x->signature;
    int r = tfs_learn_inputs(x, yyjson_doc_get_root(doc), err);

    if (r == 0)
        r = read_inputs(x, doc, n, err);
    x->signature = of;
    return r;
}

int tfs_predict_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    AUTO_JSON_DOC *doc = NULL;
    const char *name = NULL;
    int r = tfs_json_read(p, n, &doc, err);

    if (r == 0)
        r = tfs_signature_name(yyjson_doc_get_root(doc), &name, err);
    if (r < 0)
        return r;
    x->signature = model_signature(x->model, name);
    if (!x->signature)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Serving signature name: \"%.200s\" not found in signature def",
                            name ? name : SIGNATURE_DEFAULT);
    if (x->signature->dynamic)
        return read_dynamic(x, doc, n, err);
    if (x->signature->inputs.n == 0)
        return exchange_err(err, EXCHANGE_INVALID, "Failed to get input map for signature: %s",
                            name ? name : "DEFAULT");
    return read_inputs(x, doc, n, err);
}
