/* tfs.c - TensorFlow Serving's REST API, version 1: its table, its errors, and what it tells of
 * models. The texts are the server's own, to the letter, as clients look for parts of them.
 *
 *     GET /v1/models/m                {"model_version_status": [{"version": "3", "state": …}]}
 *     GET /v1/models/m/metadata       {"model_spec": …, "metadata": {"signature_def": …}}
 *     any failure                     {"error": "…"} */
#include "base/json.h"
#include "serve/protocol/protocol.h"

#include <stdio.h>
#include <string.h>

#define PREDICT_METHOD "tensorflow/serving/predict"

static int tfs_http_status(enum exchange_code code)
{
    static const int rows[] = {
        [EXCHANGE_OK] = 200,
        [EXCHANGE_CANCELLED] = 499,
        [EXCHANGE_UNKNOWN] = 500,
        [EXCHANGE_INVALID] = 400,
        [EXCHANGE_DEADLINE] = 504,
        [EXCHANGE_NOT_FOUND] = 404,
        [EXCHANGE_EXISTS] = 409,
        [EXCHANGE_DENIED] = 403,
        [EXCHANGE_EXHAUSTED] = 429,
        [EXCHANGE_PRECONDITION] = 400,
        [EXCHANGE_ABORTED] = 409,
        [EXCHANGE_RANGE] = 400,
        [EXCHANGE_UNIMPLEMENTED] = 501,
        [EXCHANGE_INTERNAL] = 500,
        [EXCHANGE_UNAVAILABLE] = 503,
        [EXCHANGE_DATA_LOSS] = 500,
        [EXCHANGE_UNAUTHENTICATED] = 401,
    };

    return (size_t)code < COUNT_OF(rows) ? rows[code] : 500;
}

/* The names of the same codes, as "status" has them. */
static const char *tfs_code_name(enum exchange_code code)
{
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };

    return (size_t)code < COUNT_OF(names) ? names[code] : "UNKNOWN";
}

/* Prints a value that is used up; NULL counts as out of memory. */
static int print_json(struct buf *out, json_t *v, size_t indent)
{
    AUTO_JSON *own = v;
    AUTO_FREE char *text = own ? json_dumps(own, JSON_INDENT(indent)) : NULL;

    return text ? buf_add_str(out, text) : -ENOMEM;
}

static int tfs_error(struct buf *out, enum exchange_code code, const char *text)
{
    (void)code;
    return print_json(out, json_pack("{s:o}", "error", json_text(text)), 4);
}

static int tfs_no_model(const struct exchange *x, int code, struct err *err)
{
    if (code == -ENODATA)
        return exchange_err(err, EXCHANGE_INVALID, "Unrecognized servable version label: %s",
                            x->label);
    /* TensorFlow Serving says "not found" of these too, which a balancer would pass on. */
    if (code == -EAGAIN && x->model->state < MODEL_AVAILABLE)
        return exchange_err(err, EXCHANGE_UNAVAILABLE, "Servable is still loading: %s", x->name);
    if (x->version >= 0)
        return exchange_err(err, EXCHANGE_NOT_FOUND,
                            "Servable not found for request: Specific(%s, %lld)", x->name,
                            (long long)x->version);
    return exchange_err(err, EXCHANGE_NOT_FOUND, "Servable not found for request: Latest(%s)",
                        x->name);
}

static const char *tfs_state(enum model_state s)
{
    switch (s) {
    case MODEL_START:
        return "START";
    case MODEL_LOADING:
        return "LOADING";
    case MODEL_AVAILABLE:
        return "AVAILABLE";
    case MODEL_UNLOADING:
        return "UNLOADING";
    case MODEL_END:
        return "END";
    case MODEL_UNKNOWN:
        break;
    }
    return "UNKNOWN";
}

/* An int64 of protobuf's JSON is a string. */
static json_t *int64_text(int64_t n)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)n);
    return json_string(text);
}

static json_t *version_status(const struct served_model *m)
{
    return json_pack("{s:o, s:s, s:{s:s, s:o}}", "version", int64_text(m->version), "state",
                     tfs_state(m->state), "status", "error_code", tfs_code_name(m->code),
                     "error_message", json_text(m->reason ? m->reason : ""));
}

/* All versions of the model, or the one that is asked for. */
static int list_versions(const struct exchange *x, json_t *list)
{
    int n = 0;

    for (size_t i = 0; i < x->served->models_n; i++) {
        const struct served_model *m = &x->served->models[i];

        if (strcmp(m->name, x->name) != 0 || (x->version >= 0 && m->version != x->version))
            continue;
        if (json_array_append_new(list, version_status(m)) < 0)
            return -ENOMEM;
        n++;
    }
    return n;
}

int tfs_no_version(const struct exchange *x, struct err *err)
{
    if (x->version >= 0)
        return exchange_err(err, EXCHANGE_NOT_FOUND, "Could not find version %lld of model %s",
                            (long long)x->version, x->name);
    return exchange_err(err, EXCHANGE_NOT_FOUND, "Could not find any versions of model %s",
                        x->name);
}

int tfs_status(struct exchange *x, struct err *err)
{
    AUTO_JSON *list = json_array();
    int n;

    if (x->label && model_find(x) == -ENODATA)
        return tfs_no_model(x, -ENODATA, err);
    if (x->label && x->model)
        x->version = x->model->version;
    n = list ? list_versions(x, list) : -ENOMEM;
    if (n == 0)
        return tfs_no_version(x, err);
    if (n < 0 ||
        print_json(&x->answer.body, json_pack("{s:o}", "model_version_status", take(list)), 1) < 0)
        return err_oom(err);
    return buf_add_str(&x->answer.body, "\n");
}

/*     {"dtype": "DT_FLOAT", "name": "serving_default_x:0",
 *      "tensor_shape": {"dim": [{"size": "-1", "name": ""}, {"size": "4", "name": ""}],
 *                       "unknown_rank": false}} */
static json_t *slot_info(const struct signature_slot *s)
{
    AUTO_JSON *dims = json_array();

    for (size_t i = 0; dims && i < s->rank; i++) {
        if (json_array_append_new(
                dims, json_pack("{s:o, s:s}", "size", int64_text(s->dims[i]), "name", "")) < 0)
            return NULL;
    }
    return json_pack("{s:s, s:{s:o, s:b}, s:o}", "dtype", tensor_type_tf(s->type), "tensor_shape",
                     "dim", take(dims), "unknown_rank", s->any_rank, "name",
                     json_text(s->internal_name ? s->internal_name : s->name));
}

static json_t *slots_info(const struct signature_slots *l)
{
    AUTO_JSON *all = json_object();

    for (size_t i = 0; all && i < l->n; i++) {
        if (json_object_set_new(all, l->v[i].name, slot_info(&l->v[i])) < 0)
            return NULL;
    }
    return take(all);
}

int tfs_metadata(struct exchange *x, struct err *err)
{
    const struct served_model *m = x->model;
    AUTO_JSON *all = json_object();

    for (size_t i = 0; i < m->signatures_n && all; i++) {
        const struct signature *s = &m->signatures[i];

        if (json_object_set_new(all, signature_name(s),
                                json_pack("{s:o, s:o, s:s, s:{}}", "inputs", slots_info(&s->inputs),
                                          "outputs", slots_info(&s->outputs), "method_name",
                                          s->method ? s->method : PREDICT_METHOD, "defaults")) < 0)
            return err_oom(err);
    }
    if (print_json(&x->answer.body,
                   json_pack("{s:{s:o, s:s, s:o}, s:{s:{s:o}}}", "model_spec", "name",
                             json_text(m->name), "signature_name", "", "version",
                             int64_text(m->version), "metadata", "signature_def", "signature_def",
                             take(all)),
                   1) < 0)
        return err_oom(err);
    return buf_add_str(&x->answer.body, "\n");
}

const char *tfs_type_name(enum tensor_type t)
{
    static const char *const names[TENSOR_TYPES_] = {
        [TENSOR_BOOL] = "bool",     [TENSOR_UINT8] = "uint8",   [TENSOR_UINT16] = "uint16",
        [TENSOR_UINT32] = "uint32", [TENSOR_UINT64] = "uint64", [TENSOR_INT8] = "int8",
        [TENSOR_INT16] = "int16",   [TENSOR_INT32] = "int32",   [TENSOR_INT64] = "int64",
        [TENSOR_FP16] = "half",     [TENSOR_BF16] = "bfloat16", [TENSOR_FP32] = "float",
        [TENSOR_FP64] = "double",   [TENSOR_BYTES] = "string",
    };

    return (unsigned)t < TENSOR_TYPES_ && names[t] ? names[t] : "INVALID";
}

const struct protocol tfs_protocol = {
    .operations = {
        [EXCHANGE_OP_PREDICT] = { .model = true, .body = true, .read = tfs_predict_read,
                                  .finish = tfs_predict_finish },
        [EXCHANGE_OP_CLASSIFY] = { .model = true, .body = true, .read = tfs_examples_read,
                                   .finish = tfs_classify_finish },
        [EXCHANGE_OP_REGRESS] = { .model = true, .body = true, .read = tfs_examples_read,
                                  .finish = tfs_regress_finish },
        [EXCHANGE_OP_MODEL_STATUS] = { .answer = tfs_status },
        [EXCHANGE_OP_MODEL_METADATA] = { .model = true, .answer = tfs_metadata },
    },
    .status = tfs_http_status,
    .error = tfs_error,
    .no_model = tfs_no_model,
    .type = "application/json",
};
