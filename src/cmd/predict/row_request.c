/* row_request.c - tensors of the rows behind a JSON head, both ways. Floats are printed as the
 * model server prints them in JSON. See row_request.h. */
#include "cmd/predict/row_request.h"
#include "base/str.h"
#include "serve/protocol/json_values.h"

#include <string.h>

/* ---- the model ---- */

static int slots_of(const json_t *list, struct signature_slots *ret, struct err *err)
{
    const json_t *one, *dim;
    size_t i, k;

    json_array_foreach(list, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        const char *type = json_string_value(json_object_get(one, "datatype"));
        const json_t *shape = json_object_get(one, "shape");
        int64_t dims[TENSOR_DIMS_MAX];
        int r;

        if (!name || !type || json_array_size(shape) > COUNT_OF(dims))
            return err_set(err, -EPROTO, "the model's metadata cannot be understood");
        json_array_foreach(shape, k, dim) dims[k] = json_integer_value(dim);
        r = signature_add(ret, name, NULL, tensor_type_of_oip(type, strlen(type)), dims,
                          json_array_size(shape), err);
        if (r < 0)
            return err_wrap(err, r == -EINVAL ? -EPROTO : r, "the model's metadata");
    }
    return 0;
}

int row_signature(const json_t *metadata, struct signature *ret, struct err *err)
{
    int r = slots_of(json_object_get(metadata, "inputs"), &ret->inputs, err);

    return r < 0 ? r : slots_of(json_object_get(metadata, "outputs"), &ret->outputs, err);
}

/* Outputs of an unknown shape count where no other does.
 *
 * An output whose first dimension is fixed cannot have a row for each row. Metadata without a shape
 * has a rank of 0; such outputs are asked for only if no other is left, and row_answer() looks at
 * what comes. */
int row_outputs(const struct signature *s, bool batched, json_t **ret, struct err *err)
{
    AUTO_JSON *list = json_array();

    for (int unknown = 0; unknown < 2 && list && json_array_size(list) == 0; unknown++)
        for (size_t i = 0; i < s->outputs.n; i++) {
            const struct signature_slot *slot = &s->outputs.v[i];
            bool fits =
                !batched || (unknown ? slot->rank == 0 : slot->rank > 0 && slot->dims[0] == -1);

            if (fits && json_array_append_new(list, json_pack("{s:s, s:{s:b}}", "name", slot->name,
                                                              "parameters", "binary_data", 1)) < 0)
                return err_oom(err);
        }
    if (!list)
        return err_oom(err);
    if (json_array_size(list) == 0)
        return err_set(err, -ENOTSUP,
                       "the model cannot be asked with rows: no output has a row for each of them");
    *ret = take(list);
    return 0;
}

/* ---- asking ---- */

static json_t *input_json(const struct row_input *in, bool batched, const struct row_batch *b,
                          size_t size)
{
    AUTO_JSON *shape = json_array();

    for (size_t d = 0; shape && d < in->rank; d++)
        if (json_array_append_new(
                shape, json_integer(batched && d == 0 ? (json_int_t)b->rows : in->dims[d])) < 0)
            return NULL;
    return json_pack("{s:s, s:s, s:o, s:{s:I}}", "name", in->slot->name, "datatype",
                     tensor_type_oip(in->slot->type), "shape", take(shape), "parameters",
                     "binary_data_size", (json_int_t)size);
}

/* The Open Inference Protocol with binary tensors, so that no number is printed and read again on
 * its way:
 *
 *     {"inputs": [{"name": "x", "datatype": "FP32", "shape": [256, 4],
 *                  "parameters": {"binary_data_size": 4096}}],
 *      "outputs": [{"name": "y", "parameters": {"binary_data": true}}]}
 *     4096 bytes: 256 rows of x, then those of the next input
 *
 * *ret_json is the length of the JSON, for the header Inference-Header-Content-Length. */
int row_request(const struct row_columns *c, const json_t *outputs, const struct row_batch *b,
                struct buf *ret, size_t *ret_json, struct err *err)
{
    AUTO_JSON *inputs = json_array();
    AUTO_JSON *doc = NULL;
    AUTO_FREE char *text = NULL;
    int r = 0;

    for (size_t i = 0; i < c->n; i++)
        if (json_array_append_new(inputs,
                                  input_json(&c->inputs[i], c->batched, b, b->bytes[i].len)) < 0)
            return err_oom(err);
    doc = json_pack("{s:O, s:O}", "inputs", inputs, "outputs", outputs);
    text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
    if (!text)
        return err_oom(err);
    *ret_json = strlen(text);
    r = buf_add_str(ret, text);
    for (size_t i = 0; i < c->n && r == 0; i++)
        r = buf_add(ret, b->bytes[i].data, b->bytes[i].len);
    return r == -E2BIG ? err_set(err, r, "the request is larger than %zu bytes", ret->max)
           : r < 0     ? err_oom(err)
                       : 0;
}

/* ---- the answer ---- */

static int not_understood(struct err *err)
{
    return err_set(err, -EPROTO, "the answer cannot be understood");
}

/* One output; its bytes are the next ones. */
static int read_output(const json_t *v, struct view *bytes, struct tensor *t, struct err *err)
{
    const char *name = json_string_value(json_object_get(v, "name"));
    const char *type = json_string_value(json_object_get(v, "datatype"));
    const json_t *shape = json_object_get(v, "shape"), *dim;
    int64_t size = json_int_or(json_object_get(v, "parameters"), "binary_data_size", -1);
    int64_t dims[TENSOR_DIMS_MAX];
    const uint8_t *p;
    size_t k;
    int r;

    if (!name || !type || json_array_size(shape) > COUNT_OF(dims) || size < 0)
        return not_understood(err);
    json_array_foreach(shape, k, dim) dims[k] = json_integer_value(dim);
    p = view_bytes(bytes, (size_t)size);
    if (!p && size > 0)
        return not_understood(err);
    r = tensor_init(t, name, tensor_type_of_oip(type, strlen(type)), dims, json_array_size(shape),
                    err);
    return r < 0 ? r : tensor_borrow(t, p ? p : (const uint8_t *)"", (size_t)size, err);
}

/* The answer has the same two parts; `json` is what its header says. Outputs borrow their bytes
 * from `answer`. What the server says of sizes and shapes is hostile: view_bytes() stays within the
 * answer, and tensor_borrow() compares the size with the shape. */
int row_answer(const struct buf *answer, size_t json, const struct row_columns *c, size_t rows,
               struct tensors *ret, struct err *err)
{
    AUTO_JSON *doc = NULL;
    struct view bytes;
    const json_t *one;
    size_t i;
    int r;

    if (json > answer->len)
        return not_understood(err);
    r = json_parse("the answer", answer->data ? answer->data : (const uint8_t *)"", json, &doc,
                   err);
    if (r < 0)
        return r == -EINVAL ? err_wrap(err, -EPROTO, "the answer cannot be understood") : r;
    bytes = view_of(answer->data + json, answer->len - json);
    json_array_foreach(json_object_get(doc, "outputs"), i, one)
    {
        struct tensor *t;

        r = tensors_add(ret, &t, err);
        if (r == 0)
            r = read_output(one, &bytes, t, err);
        if (r < 0)
            return r == -EINVAL ? -EPROTO : r;
        if (!json_type_has_text(t->type))
            return err_set(err, -EINVAL, "output '%s' is %s, which has no form as text", t->name,
                           tensor_type_oip(t->type));
        if (c->batched && (t->rank == 0 || t->dims[0] != (int64_t)rows))
            return err_set(err, -EINVAL, "output '%s' does not have a row for each row", t->name);
    }
    return ret->n > 0 ? 0 : not_understood(err);
}

/* ---- lines ---- */

static size_t rows_of(const struct tensors *t, bool batched)
{
    return batched ? (size_t)t->v[0].dims[0] : 1;
}

int row_print_json(const struct tensors *t, bool batched, struct buf *out)
{
    AUTO_FREE struct json_source *from = calloc(t->n, sizeof(*from));
    int r = from ? 0 : -ENOMEM;

    for (size_t i = 0; i < t->n && r == 0; i++)
        from[i].t = &t->v[i];
    for (size_t row = 0; row < rows_of(t, batched) && r == 0; row++) {
        for (size_t i = 0; i < t->n && r == 0; i++) {
            r = buf_add_str(out, i == 0 ? "{" : ", ");
            if (r == 0)
                r = json_text_print(out, t->v[i].name);
            if (r == 0)
                r = buf_add_str(out, ": ");
            if (r == 0)
                r = json_values_print(out, &from[i], batched);
        }
        if (r == 0)
            r = buf_add_str(out, "}\n");
    }
    return r;
}

/* A cell of text, in quotes where it needs them. */
static int print_cell(struct buf *out, const void *p, size_t n)
{
    const char *s = p;
    bool plain = true;
    int r;

    for (size_t i = 0; i < n; i++)
        plain = plain && s[i] != ',' && s[i] != '"' && s[i] != '\n' && s[i] != '\r';
    if (plain)
        return buf_add(out, s, n);
    r = buf_add_str(out, "\"");
    for (size_t i = 0; i < n && r == 0; i++) {
        r = s[i] == '"' ? buf_add_str(out, "\"") : 0;
        if (r == 0)
            r = buf_add(out, &s[i], 1);
    }
    return r < 0 ? r : buf_add_str(out, "\"");
}

static size_t width_of(const struct tensor *t, bool batched)
{
    return !batched ? t->count : t->dims[0] > 0 ? t->count / (size_t)t->dims[0] : 0;
}

int row_print_names(const struct tensors *t, bool batched, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < t->n; i++) {
        size_t width = width_of(&t->v[i], batched);

        for (size_t k = 0; k < width && r == 0; k++) {
            AUTO_FREE char *name =
                width == 1 ? strdup(t->v[i].name) : str_printf("%s.%zu", t->v[i].name, k);

            r = !name ? -ENOMEM : i + k > 0 ? buf_add_str(out, ",") : 0;
            if (r == 0)
                r = print_cell(out, name, strlen(name));
        }
    }
    return r < 0 ? r : buf_add_str(out, "\n");
}

static int print_texts(const struct tensor *row, struct buf *out)
{
    struct view v = view_of(row->data, row->size);
    const uint8_t *p;
    size_t n, i = 0;
    int r = 0;

    while (r == 0 && (p = tensor_bytes_next(&v, &n)) != NULL) {
        r = i++ > 0 ? buf_add_str(out, ",") : 0;
        if (r == 0)
            r = print_cell(out, p, n);
    }
    return r;
}

/* Numbers are a list of JSON without its brackets. */
static int print_values(const struct tensor *row, struct buf *out)
{
    struct json_source from = { .t = row, .flat = true };
    size_t begin = out->len;
    int r = row->type == TENSOR_BYTES ? print_texts(row, out) : json_values_print(out, &from, 0);

    if (r == 0 && row->type != TENSOR_BYTES) {
        memmove(out->data + begin, out->data + begin + 1, out->len - begin - 2);
        out->len -= 2;
    }
    return r;
}

int row_print_csv(const struct tensors *t, bool batched, struct buf *out)
{
    int r = 0;

    for (size_t k = 0; k < rows_of(t, batched) && r == 0; k++) {
        for (size_t i = 0; i < t->n && r == 0; i++) {
            struct tensor row = t->v[i];

            if (batched)
                r = tensor_rows(&t->v[i], (int64_t)k, 1, &row);
            if (r == 0 && i > 0)
                r = buf_add_str(out, ",");
            if (r == 0)
                r = print_values(&row, out);
        }
        if (r == 0)
            r = buf_add_str(out, "\n");
    }
    return r;
}
