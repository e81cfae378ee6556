/* oip_infer.c - the inputs of an infer request, as JSON, as bytes behind the JSON, or as bytes
 * alone.
 *
 *     {"id": …,
 *      "inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]},
 *                 {"name": "y", …, "parameters": {"binary_data_size": 16}}],
 *      "outputs": [{"name": "z", "parameters": {"binary_data": true}}]}<16 bytes of y>
 *
 * Inference-Header-Content-Length says where the JSON ends; 0 says that there is none, and that the
 * body is the one input. `data` may be nested as the shape is, or in any other way, or flat: its
 * values are counted. Binary tensors are not copied. */
#include "base/array.h"
#include "base/str.h"
#include "serve/protocol/json_values.h"
#include "serve/protocol/protocol.h"

#include <string.h>

#define PART (int)80 /* of a foreign name in a message */

/* A text of an object, in place; *ret_n its length. NULL: it is not there, or not a text. */
static const char *text_of(yyjson_val *object, const char *key, size_t *ret_n)
{
    yyjson_val *v = yyjson_obj_get(object, key);

    *ret_n = yyjson_get_len(v);
    return yyjson_get_str(v);
}

/* The same for a name: a C string without a NUL inside. */
static const char *name_of(yyjson_val *object, struct err *err)
{
    size_t n;
    const char *name = text_of(object, "name", &n);

    if (name && strlen(name) == n)
        return name;
    (void)exchange_err(err, EXCHANGE_INVALID, "Unable to parse 'name'");
    return NULL;
}

static yyjson_val *parameter(yyjson_val *object, const char *name)
{
    return yyjson_obj_get(yyjson_obj_get(object, "parameters"), name);
}

/* A parameter that is a truth value; `ret` stays when it is not there. */
static int flag_parameter(yyjson_val *object, const char *name, bool *ret, struct err *err)
{
    yyjson_val *v = parameter(object, name);

    if (v && !yyjson_is_bool(v))
        return exchange_err(err, EXCHANGE_INVALID, "Unable to parse '%s'", name);
    if (v)
        *ret = yyjson_is_true(v);
    return 0;
}

static int read_shape(yyjson_val *object, const char *name, int64_t *dims, size_t *ret_rank,
                      struct err *err)
{
    yyjson_val *list = yyjson_obj_get(object, "shape"), *item;
    yyjson_arr_iter it = yyjson_arr_iter_with(list);

    *ret_rank = 0;
    if (!yyjson_is_arr(list))
        return exchange_err(err, EXCHANGE_INVALID, "Unable to parse 'shape' of input '%s'", name);
    if (yyjson_arr_size(list) > TENSOR_DIMS_MAX)
        return exchange_err(err, EXCHANGE_INVALID,
                            "the shape of input '%s' has %zu dimensions: at most %d are possible",
                            name, yyjson_arr_size(list), TENSOR_DIMS_MAX);
    while ((item = yyjson_arr_iter_next(&it)) != NULL) {
        if (!yyjson_is_uint(item) || yyjson_get_uint(item) > INT64_MAX)
            return exchange_err(err, EXCHANGE_INVALID,
                                "invalid shape for input '%s': a dimension is a whole number of at "
                                "least 0",
                                name);
        dims[(*ret_rank)++] = (int64_t)yyjson_get_uint(item);
    }
    return 0;
}

/* Where one input is read from. */
struct source {
    struct view *binary; /* what is left behind the JSON; bad: there is no place for it */
    size_t values;       /* of the whole document: no tensor can have more */
};

/* The values of a list, however they are nested.
 *
 * A list whose first item is no list has values, all of them; any other has lists only. Depth is
 * limited by what a shape can have, as the stack of a fiber is small. */
static int read_list(struct json_sink *sink, yyjson_val *list, int depth, yyjson_val **ret_bad)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *item;
    int r = 0;

    *ret_bad = list;
    if (depth > TENSOR_DIMS_MAX)
        return -EINVAL;
    if (!yyjson_is_arr(yyjson_arr_get_first(list)))
        return json_sink_add(sink, yyjson_arr_get_first(list), yyjson_arr_size(list), ret_bad);
    while (r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL) {
        *ret_bad = item;
        r = yyjson_is_arr(item) ? read_list(sink, item, depth + 1, ret_bad) : -EINVAL;
    }
    return r;
}

static int data_error(const struct tensor *t, int r, yyjson_val *bad, struct err *err)
{
    char shown[120];

    if (r != -EINVAL)
        return err_oom(err);
    json_show(bad, shown, sizeof(shown));
    return exchange_err(err, EXCHANGE_INVALID, "Unable to parse 'data' of input '%s': %s is not %s",
                        t->name, shown, tensor_type_oip(t->type));
}

/* The room for values is limited by how many the document has at all: a shape can claim any number,
 * and must not make us allocate for it. */
static int read_data(struct tensor *t, yyjson_val *list, const struct source *from, struct err *err)
{
    size_t element = t->type == TENSOR_BYTES ? 0 : tensor_type_size(t->type);
    struct json_sink sink = { .type = t->type };
    yyjson_val *bad = list;
    int r;

    if (!json_type_has_text(t->type))
        return exchange_err(err, EXCHANGE_INVALID,
                            "receiving %s data via JSON is not supported. Please use the binary "
                            "data format for input %s",
                            tensor_type_oip(t->type), t->name);
    if (!yyjson_is_arr(list))
        return data_error(t, -EINVAL, list, err);
    /* Texts are limited by the size of the JSON that they stand in. */
    buf_init(&sink.bytes, element > 0 ? from->values * element : EXCHANGE_JSON_MAX * 5);
    r = read_list(&sink, list, 1, &bad);
    if (r < 0)
        r = data_error(t, r, bad, err);
    else if (sink.count != t->count)
        r = exchange_err(err, EXCHANGE_INVALID,
                         "'data' of input '%s' has %zu values, but its shape has %zu", t->name,
                         sink.count, t->count);
    else
        r = tensor_own_buf(t, &sink.bytes, err);
    buf_done(&sink.bytes);
    return r;
}

static int read_binary(struct tensor *t, yyjson_val *size, const struct source *from,
                       struct err *err)
{
    uint64_t n = yyjson_get_uint(size);
    const uint8_t *p;
    int r;

    if (!yyjson_is_uint(size))
        return exchange_err(err, EXCHANGE_INVALID, "Unable to parse 'binary_data_size'");
    if (from->binary->bad)
        return exchange_err(
            err, EXCHANGE_INVALID,
            "must specify valid 'Inference-Header-Content-Length' in request header "
            "and 'binary_data_size' when passing inputs in binary data format");
    if (n > from->binary->n)
        return exchange_err(err, EXCHANGE_INVALID,
                            "unexpected size for input '%s', expecting %llu additional bytes",
                            t->name, (unsigned long long)(n - from->binary->n));
    p = view_bytes(from->binary, (size_t)n);
    r = tensor_borrow(t, p, (size_t)n, err);
    return r < 0 ? err_wrap(err, r, "input '%s'", t->name) : 0;
}

/* An input has its values in one place. */
static int read_values(struct tensor *t, yyjson_val *object, const struct source *from,
                       struct err *err)
{
    yyjson_val *data = yyjson_obj_get(object, "data");
    yyjson_val *size = parameter(object, "binary_data_size");

    if (parameter(object, "shared_memory_region"))
        return exchange_err(
            err, EXCHANGE_UNIMPLEMENTED,
            "input '%s' is in shared memory, which is not supported: send 'data' or "
            "binary data",
            t->name);
    if (!data == !size)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Input must set only one of the following fields: 'data', "
                            "'binary_data_size' in 'parameters'. But %s",
                            data ? "set 'data' 'binary_data_size'" : "no field is set");
    return size ? read_binary(t, size, from, err) : read_data(t, data, from, err);
}

static int read_input(struct exchange *x, yyjson_val *object, const struct source *from,
                      struct err *err)
{
    const char *name = name_of(object, err), *type;
    enum tensor_type t = TENSOR_NONE;
    int64_t dims[TENSOR_DIMS_MAX];
    struct tensor *tensor;
    size_t rank, n;
    int r;

    if (!name)
        return -EINVAL;
    type = text_of(object, "datatype", &n);
    if (type)
        t = tensor_type_of_oip(type, n);
    if (t == TENSOR_NONE)
        return exchange_err(err, EXCHANGE_INVALID, "invalid datatype for input %.*s: %.*s", PART,
                            name, PART, type ? type : "it is missing");
    r = read_shape(object, name, dims, &rank, err);
    if (r == 0)
        r = tensors_add(&x->inputs, &tensor, err);
    if (r == 0) {
        r = tensor_init(tensor, name, t, dims, rank, err);
        if (r == -EINVAL || r == -E2BIG)
            return exchange_err(err, EXCHANGE_INVALID, "invalid shape for input '%.*s': %s", PART,
                                name, strchr(err->text, '[') ? strchr(err->text, '[') : err->text);
    }
    return r < 0 ? r : read_values(tensor, object, from, err);
}

static int read_output(struct exchange *x, yyjson_val *object, struct err *err)
{
    struct exchange_wanted w = { .binary = x->binary_output };
    const char *name = name_of(object, err);
    int r;

    if (!name)
        return -EINVAL;
    if (parameter(object, "classification") || parameter(object, "shared_memory_region"))
        return exchange_err(
            err, EXCHANGE_UNIMPLEMENTED, "output '%.*s' asks for %s, which is not supported", PART,
            name, parameter(object, "classification") ? "'classification'" : "shared memory");
    r = signature_check_output(x->signature, name, err);
    if (r == 0)
        r = flag_parameter(object, "binary_data", &w.binary, err);
    for (size_t i = 0; i < x->wanted_n && r == 0; i++) {
        if (strcmp(x->wanted[i].name, name) == 0)
            r = exchange_err(err, EXCHANGE_INVALID, "output '%.*s' is there twice", PART, name);
    }
    if (r < 0)
        return r;
    w.name = strdup(name);
    if (!w.name || ARRAY_ADD(x->wanted, x->wanted_n, w) < 0) {
        free(w.name);
        return err_oom(err);
    }
    return 0;
}

static int read_id(struct exchange *x, yyjson_val *root, struct err *err)
{
    yyjson_val *v = yyjson_obj_get(root, "id");

    if (!v)
        return 0;
    if (!yyjson_is_str(v) || strlen(yyjson_get_str(v)) != yyjson_get_len(v))
        return exchange_err(err, EXCHANGE_INVALID, "Unable to parse 'id'");
    x->id = strdup(yyjson_get_str(v));
    return x->id ? 0 : err_oom(err);
}

static int read_outputs(struct exchange *x, yyjson_val *list, struct err *err)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *item;
    int r = 0;

    if (list && !yyjson_is_arr(list))
        return exchange_err(err, EXCHANGE_INVALID, "Unable to parse 'outputs'");
    while (r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL)
        r = read_output(x, item, err);
    return r;
}

static int read_inputs(struct exchange *x, yyjson_val *list, const struct source *from,
                       struct err *err)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *item;
    int r = 0;

    if (!yyjson_is_arr(list))
        return exchange_err(err, EXCHANGE_INVALID, "Unable to parse 'inputs'");
    if (!x->signature->dynamic && yyjson_arr_size(list) > x->signature->inputs.n)
        return exchange_err(err, EXCHANGE_INVALID,
                            "expected %zu inputs but got %zu inputs for model '%s'",
                            x->signature->inputs.n, yyjson_arr_size(list), x->name);
    while (r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL)
        r = read_input(x, item, from, err);
    if (r == 0 && !from->binary->bad && from->binary->n > 0)
        r = exchange_err(err, EXCHANGE_INVALID, "unexpected additional input data for model '%s'",
                         x->name);
    return r;
}

static int read_request(struct exchange *x, yyjson_doc *doc, struct view *binary, struct err *err)
{
    yyjson_val *root = yyjson_doc_get_root(doc);
    const struct source from = { binary, yyjson_doc_get_val_count(doc) };
    int r;

    if (!yyjson_is_obj(root))
        return exchange_err(err, EXCHANGE_INVALID, "the request is not a JSON object");
    r = read_id(x, root, err);
    if (r == 0)
        r = flag_parameter(root, "binary_data_output", &x->binary_output, err);
    if (r == 0)
        r = read_inputs(x, yyjson_obj_get(root, "inputs"), &from, err);
    return r < 0 ? r : read_outputs(x, yyjson_obj_get(root, "outputs"), err);
}

int oip_infer_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    size_t json = x->json_length < 0 ? n : (size_t)x->json_length;
    struct view binary = { .bad = x->json_length < 0 };
    AUTO_JSON_DOC *doc = NULL;
    struct json_trouble why;
    int r;

    x->signature = model_signature(x->model, NULL);
    if (!x->signature)
        return exchange_err(err, EXCHANGE_INTERNAL, "model '%s' has no signature", x->name);
    if (x->raw)
        return oip_raw_read(x, p, n, err);
    if (json > n)
        return exchange_err(err, EXCHANGE_INVALID,
                            "inference header size should be in range (0, %zu), got: %zu", n, json);
    if (!binary.bad)
        binary = view_of((const uint8_t *)p + json, n - json);
    r = json_doc_read(p, json, false, &doc, &why);
    if (r == -ENOMEM)
        return err_oom(err);
    if (r == -E2BIG)
        return exchange_err(err, EXCHANGE_INVALID,
                            "JSON of %zu bytes: at most %zu are read, send binary tensors", json,
                            EXCHANGE_JSON_MAX);
    if (r < 0)
        return exchange_err(err, EXCHANGE_INVALID,
                            "failed to parse the request JSON buffer: %s at %zu", why.text, why.at);
    return read_request(x, doc, &binary, err);
}
