/* oip_answer.c - the answer to an infer request: JSON, and behind it the bytes of those outputs
 * that are wanted so, in their order.
 *
 *     {"model_name": "m", "model_version": "1", "outputs":
 *      [{"name": "z", "shape": [1, 2], "datatype": "FP32", "data": [0.1, 0.9]},
 *       {"name": "w", …, "parameters": {"binary_data_size": 8}}]}<8 bytes of w> */
#include "serve/protocol/json_values.h"
#include "serve/protocol/protocol.h"

#include <string.h>

static bool is_binary(const struct exchange *x, const char *name)
{
    for (size_t i = 0; i < x->wanted_n; i++) {
        if (strcmp(x->wanted[i].name, name) == 0)
            return x->wanted[i].binary;
    }
    return x->binary_output;
}

/* "key":"text", behind what there is. */
static int print_member(struct buf *out, const char *key, const char *text)
{
    int r = buf_add_str(out, "\"");

    if (r == 0)
        r = buf_add_str(out, key);
    if (r == 0)
        r = buf_add_str(out, "\":");
    return r < 0 ? r : json_text_print(out, text);
}

static int print_shape(struct buf *out, const struct tensor *t)
{
    int r = buf_add_str(out, ",\"shape\":[");

    for (size_t i = 0; i < t->rank && r == 0; i++)
        r = buf_printf(out, "%s%lld", i > 0 ? "," : "", (long long)t->dims[i]);
    if (r == 0)
        r = buf_add_str(out, "],\"datatype\":\"");
    if (r == 0)
        r = buf_add_str(out, tensor_type_oip(t->type));
    return r < 0 ? r : buf_add_str(out, "\"");
}

static int print_data(struct buf *out, const struct tensor *t, struct err *err)
{
    struct json_source s = { .t = t, .flat = true, .utf8_only = true };
    int r;

    if (!json_type_has_text(t->type))
        return exchange_err(err, EXCHANGE_INVALID,
                            "sending %s data via JSON is not supported. Please use the binary data "
                            "format for output '%s'",
                            tensor_type_oip(t->type), t->name);
    r = buf_add_str(out, ",\"data\":");
    if (r == 0)
        r = json_values_print(out, &s, 0);
    if (r == -EILSEQ)
        return exchange_err(err, EXCHANGE_INVALID,
                            "output '%s' has bytes that are not UTF-8. Please use the binary data "
                            "format for it",
                            t->name);
    return r;
}

static int print_output(struct buf *out, const struct tensor *t, bool binary, struct err *err)
{
    int r = buf_add_str(out, "{");

    if (r == 0)
        r = print_member(out, "name", t->name);
    if (r == 0)
        r = print_shape(out, t);
    if (r == 0)
        r = binary ? buf_printf(out, ",\"parameters\":{\"binary_data_size\":%zu}", t->size)
                   : print_data(out, t, err);
    return r < 0 ? r : buf_add_str(out, "}");
}

static int print_head(const struct exchange *x, struct buf *out)
{
    int r = buf_add_str(out, "{");

    if (r == 0)
        r = print_member(out, "model_name", x->name);
    if (r == 0)
        r = buf_printf(out, ",\"model_version\":\"%lld\"", (long long)x->model->version);
    if (r == 0 && x->id)
        r = buf_add_str(out, ",");
    if (r == 0 && x->id)
        r = print_member(out, "id", x->id);
    return r < 0 ? r : buf_add_str(out, ",\"outputs\":[");
}

/* The JSON has to be complete before its length is known, and the bytes follow it in a second pass,
 * in the order in which the JSON has named them: that order is all that tells whose they are. */
static int print_answer(struct exchange *x, const struct tensor *const *v, size_t n,
                        struct err *err)
{
    struct exchange_answer *a = &x->answer;
    bool any = false;
    int r = print_head(x, &a->body);

    for (size_t i = 0; i < n && r == 0; i++) {
        bool binary = is_binary(x, v[i]->name);

        any |= binary;
        if (i > 0)
            r = buf_add_str(&a->body, ",");
        if (r == 0)
            r = print_output(&a->body, v[i], binary, err);
    }
    if (r == 0)
        r = buf_add_str(&a->body, "]}");
    if (r < 0 || !any)
        return r;
    a->header_length = (int64_t)a->body.len;
    a->type = "application/octet-stream";
    for (size_t i = 0; i < n && r == 0; i++) {
        if (is_binary(x, v[i]->name))
            r = buf_add(&a->body, v[i]->data, v[i]->size);
    }
    return r;
}

int oip_infer_finish(struct exchange *x, const struct tensors *outputs, struct err *err)
{
    AUTO_FREE const struct tensor **v =
        calloc(x->signature->outputs.n + 1, sizeof(struct tensor *));
    int n;

    if (!v)
        return err_oom(err);
    n = pick_outputs(x, outputs, v, err);
    return n < 0 ? n : print_answer(x, v, (size_t)n, err);
}
