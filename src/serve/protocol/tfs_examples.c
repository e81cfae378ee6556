/* tfs_examples.c - the input of classify and regress requests: examples, which are sent to the
 * model as TensorFlow's Example messages in one tensor of texts.
 *
 *     {"context": {"query": "pizza"}, "examples": [{"names": ["a", "b"], "age": 20}, …]}
 *
 * A message is Example{features 1}, Features{map 1 of key 1 and value 2}, Feature{bytes 1, floats
 * 2, int64s 3}; a list of any of them has its values in field 1. Written by hand as it is written
 * only, field by field, and has a map, whose order does not matter. */
#include "base/str.h"
#include "serve/protocol/tfs_json.h"

#include <string.h>

enum kind {
    KIND_NONE,
    KIND_BYTES,
    KIND_FLOATS,
    KIND_INT64S,
};

#define FIELD_BYTES(number) ((number) << 3 | 2) /* protobuf's tag of a field with a length */

/* One feature while its values are read. */
struct feature {
    const char *name;
    enum kind kind;
    struct buf values; /* the list's field, as it stands in the message */
};

static const char *kind_word(enum kind k)
{
    static const char *const words[] = { "UNKNOWN", "bytes", "float", "int64" };

    return words[k];
}

static int set_kind(struct feature *f, enum kind k, struct err *err)
{
    if (f->kind != KIND_NONE && f->kind != k)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Unexpected element type in feature: %.100s expecting type: %s",
                            f->name, kind_word(f->kind));
    f->kind = k;
    return 0;
}

static int add_field(struct buf *b, int number, const void *p, size_t n)
{
    int r = buf_add_u8(b, (uint8_t)FIELD_BYTES(number));

    if (r == 0)
        r = buf_add_varint(b, n);
    return r < 0 ? r : buf_add(b, p, n);
}

static int add_number(struct feature *f, yyjson_val *v, struct err *err)
{
    float real = (float)yyjson_get_num(v);
    uint8_t bytes[4];
    int r;

    if (yyjson_is_real(v)) {
        r = set_kind(f, KIND_FLOATS, err);
        memcpy(bytes, &real, 4);
        return r < 0 ? r : buf_add(&f->values, bytes, 4);
    }
    r = set_kind(f, KIND_INT64S, err);
    if (r < 0)
        return r;
    if (yyjson_is_uint(v) && yyjson_get_uint(v) > INT64_MAX)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Feature: %.100s has uint64_t element. Only int64_t is supported.",
                            f->name);
    return buf_add_varint(&f->values, (uint64_t)yyjson_get_sint(v));
}

static int add_base64(struct feature *f, yyjson_val *v, struct err *err)
{
    yyjson_val *text = yyjson_obj_get(v, "b64");
    AUTO_FREE uint8_t *p = NULL;
    size_t n = 0;
    int r = set_kind(f, KIND_BYTES, err);

    if (r < 0)
        return r;
    if (strlen(yyjson_get_str(text)) != yyjson_get_len(text))
        return exchange_err(err, EXCHANGE_INVALID, "Unable to base64 decode");
    r = str_unbase64(yyjson_get_str(text), &p, &n);
    if (r == -EINVAL)
        return exchange_err(err, EXCHANGE_INVALID, "Unable to base64 decode");
    return r < 0 ? r : add_field(&f->values, 1, p, n);
}

static int add_value(struct feature *f, yyjson_val *v, struct err *err)
{
    int r;

    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_BOOL:
        r = set_kind(f, KIND_INT64S, err);
        return r < 0 ? r : buf_add_varint(&f->values, yyjson_is_true(v));
    case YYJSON_TYPE_NUM:
        return add_number(f, v, err);
    case YYJSON_TYPE_STR:
        r = set_kind(f, KIND_BYTES, err);
        return r < 0 ? r : add_field(&f->values, 1, yyjson_get_str(v), yyjson_get_len(v));
    default:
        if (json_is_base64(v))
            return add_base64(f, v, err);
        return exchange_err(err, EXCHANGE_INVALID,
                            "Feature: %.100s has element with unexpected JSON type: %s", f->name,
                            json_kind(v));
    }
}

/* Feature: its list stands in the field of its kind.
 *
 * A list of numbers is one packed field: its values stand behind each other without tags. Texts
 * have a tag each, so that they are the list's field 1 already. */
static int close_feature(const struct feature *f, struct buf *out)
{
    AUTO_BUF list = { .max = out->max };
    int r = 0;

    if (f->kind == KIND_NONE)
        return 0;
    if (f->kind == KIND_BYTES)
        return add_field(out, KIND_BYTES, f->values.data, f->values.len);
    r = add_field(&list, 1, f->values.data, f->values.len); /* packed */
    return r < 0 ? r : add_field(out, (int)f->kind, list.data, list.len);
}

/* One entry of the map of features. */
static int add_feature(struct buf *out, const char *name, size_t name_n, yyjson_val *v,
                       struct err *err)
{
    struct feature f = { .name = name, .values = { .max = out->max } };
    AUTO_BUF message = { .max = out->max };
    AUTO_BUF entry = { .max = out->max };
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *item;
    int r = 0;

    if (!yyjson_is_arr(v))
        r = add_value(&f, v, err);
    while (r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL)
        r = add_value(&f, item, err);
    if (r == 0)
        r = close_feature(&f, &message);
    if (r == 0)
        r = add_field(&entry, 1, name, name_n);
    if (r == 0)
        r = add_field(&entry, 2, message.data, message.len);
    if (r == 0)
        r = add_field(out, 1, entry.data, entry.len);
    buf_done(&f.values);
    return r;
}

/* The features of one object, behind those that are there. */
static int add_features(struct buf *out, yyjson_val *object, struct err *err)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    yyjson_val *key;
    int r = 0;

    if (!yyjson_is_obj(object))
        return exchange_err(err, EXCHANGE_INVALID, "Example must be JSON object but got JSON %s",
                            json_kind(object));
    while (r == 0 && (key = yyjson_obj_iter_next(&it)) != NULL)
        r = add_feature(out, yyjson_get_str(key), yyjson_get_len(key), yyjson_obj_iter_get_val(key),
                        err);
    return r;
}

/* All examples, each with the context's features before its own: the last of a name counts. */
static int add_examples(struct buf *out, yyjson_val *list, const struct buf *context,
                        struct err *err)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *item;
    int r = 0;

    while (r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL) {
        AUTO_BUF features = { .max = out->max };
        AUTO_BUF example = { .max = out->max };

        r = buf_add(&features, context->data, context->len);
        if (r == 0)
            r = add_features(&features, item, err);
        if (r == 0)
            r = add_field(&example, 1, features.data, features.len);
        if (r == 0)
            r = tensor_bytes_add(out, example.data, example.len);
    }
    return r;
}

static int read_examples(struct exchange *x, yyjson_val *root, struct err *err)
{
    yyjson_val *list = yyjson_obj_get(root, "examples"), *with = yyjson_obj_get(root, "context");
    AUTO_BUF bytes = { .max = EXCHANGE_ANSWER_MAX };
    AUTO_BUF context = { .max = EXCHANGE_ANSWER_MAX };
    int64_t rows = (int64_t)yyjson_arr_size(list);
    struct tensor *t;
    int r = with ? add_features(&context, with, err) : 0;

    if (r < 0)
        return r;
    if (!list)
        return tfs_format_error(root, err,
                                "When method is classify, key 'examples' is expected and was not "
                                "found");
    if (!yyjson_is_arr(list))
        return tfs_format_error(root, err, "Expecting 'examples' value to be an list/array");
    if (rows == 0)
        return tfs_format_error(root, err, "'examples' value is an empty array");
    r = add_examples(&bytes, list, &context, err);
    if (r == 0)
        r = tensors_add(&x->inputs, &t, err);
    if (r == 0)
        r = tensor_init(t, x->signature->inputs.v[0].name, TENSOR_BYTES, &rows, 1, err);
    x->rows = rows;
    return r < 0 ? r : tensor_own_buf(t, &bytes, err);
}

/* The signature must be one for the method. */
static int find_signature(struct exchange *x, const char *name, struct err *err)
{
    bool classify = x->op == EXCHANGE_OP_CLASSIFY;
    const char *want = classify ? "tensorflow/serving/classify" : "tensorflow/serving/regress";
    const char *have;

    x->signature = model_signature(x->model, name);
    if (!x->signature)
        return exchange_err(err, EXCHANGE_INVALID, "No signature was found with the name: %.200s",
                            name ? name : SIGNATURE_DEFAULT);
    have = x->signature->method ? x->signature->method : "tensorflow/serving/predict";
    if (strcmp(have, want) != 0)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Expected %s signature method_name to be %s. Was: %s",
                            classify ? "classification" : "regression", want, have);
    if (x->signature->inputs.n != 1 || x->signature->inputs.v[0].type != TENSOR_BYTES)
        return exchange_err(err, EXCHANGE_INVALID, "Expected one input Tensor.");
    return 0;
}

int tfs_examples_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    AUTO_JSON_DOC *doc = NULL;
    const char *name = NULL;
    int r = tfs_json_read(p, n, &doc, err);

    if (r == 0)
        r = tfs_signature_name(yyjson_doc_get_root(doc), &name, err);
    if (r == 0)
        r = find_signature(x, name, err);
    return r < 0 ? r : read_examples(x, yyjson_doc_get_root(doc), err);
}
