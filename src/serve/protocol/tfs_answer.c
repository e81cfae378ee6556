/* tfs_answer.c - the answer to a predict request, in the form of its request.
 *
 *     {"predictions": [[0.1, 0.9], …]}    rows of the one output, or of objects of several
 *     {"outputs": {"a": …, "b": …}}       columns
 *
 * Texts of outputs whose name ends in "_bytes" are {"b64": "…"}; so are those of others that are
 * not UTF-8, which JSON could not hold. */
#include "base/str.h"
#include "serve/protocol/json_values.h"
#include "serve/protocol/protocol.h"

static int check_rows(const struct tensor *const *v, size_t n, int64_t *ret, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i]->rank == 0)
            return exchange_err(err, EXCHANGE_INVALID, "Tensor name: %s has no shape information ",
                                v[i]->name);
        if (i > 0 && v[i]->dims[0] != v[0]->dims[0])
            return exchange_err(err, EXCHANGE_INVALID,
                                "Tensor name: %s has inconsistent batch size: %lld expecting: %lld",
                                v[i]->name, (long long)v[i]->dims[0], (long long)v[0]->dims[0]);
    }
    *ret = v[0]->dims[0];
    return 0;
}

/* "name": and the values. */
static int print_named(struct buf *out, struct json_source *s, size_t dim, const char *indent)
{
    int r = buf_add_str(out, indent);

    if (r == 0)
        r = json_text_print(out, s->t->name);
    if (r == 0)
        r = buf_add_str(out, ": ");
    return r < 0 ? r : json_values_print(out, s, dim);
}

static int print_object(struct buf *out, struct json_source *s, size_t n, size_t dim,
                        const char *indent)
{
    int r = buf_add_str(out, "{");

    for (size_t i = 0; i < n && r == 0; i++) {
        if (i > 0)
            r = buf_add_str(out, ",");
        if (r == 0)
            r = print_named(out, &s[i], dim, indent);
    }
    return r;
}

static int print_rows(struct buf *out, struct json_source *s, size_t n, int64_t rows)
{
    int r = buf_add_str(out, "{\n    \"predictions\": [");

    for (int64_t i = 0; i < rows && r == 0; i++) {
        if (i > 0)
            r = buf_add_str(out, n == 1 ? ", " : ",");
        if (r == 0 && n > 1)
            r = buf_add_str(out, "\n        ");
        if (r == 0)
            r = n == 1 ? json_values_print(out, s, 1)
                       : print_object(out, s, n, 1, "\n            ");
        if (r == 0 && n > 1)
            r = buf_add_str(out, "\n        }");
    }
    return r < 0 ? r : buf_add_str(out, "\n    ]\n}");
}

static int print_columns(struct buf *out, struct json_source *s, size_t n)
{
    int r = buf_add_str(out, "{\n    \"outputs\": ");

    if (r == 0)
        r = n == 1 ? json_values_print(out, s, 0) : print_object(out, s, n, 0, "\n        ");
    if (r == 0 && n > 1)
        r = buf_add_str(out, "\n    }");
    return r < 0 ? r : buf_add_str(out, "\n}");
}

static int print_all(struct exchange *x, const struct tensor *const *v, size_t n, struct err *err)
{
    AUTO_FREE struct json_source *s = calloc(n, sizeof(*s));
    int64_t rows = 0;
    int r;

    if (!s)
        return err_oom(err);
    for (size_t i = 0; i < n; i++) {
        if (!json_type_has_text(v[i]->type))
            return exchange_err(err, EXCHANGE_INVALID,
                                "Failed to write JSON value for tensor type: %s",
                                tfs_type_name(v[i]->type));
        s[i] = (struct json_source){ .t = v[i], .base64 = str_ends(v[i]->name, "_bytes") };
    }
    if (x->rows < 0)
        return print_columns(&x->answer.body, s, n);
    r = check_rows(v, n, &rows, err);
    return r < 0 ? r : print_rows(&x->answer.body, s, n, rows);
}

int tfs_predict_finish(struct exchange *x, const struct tensors *outputs, struct err *err)
{
    AUTO_FREE const struct tensor **v =
        calloc(x->signature->outputs.n + 1, sizeof(struct tensor *));
    int n;

    if (!v)
        return err_oom(err);
    n = pick_outputs(x, outputs, v, err);
    if (n == 0)
        return exchange_err(err, EXCHANGE_INVALID, "Cannot convert empty tensor map to JSON");
    return n < 0 ? n : print_all(x, v, (size_t)n, err);
}
