/* oip.c - the Open Inference Protocol, version 2 (KServe's, Triton's): its table, its errors,
 * health and metadata.
 *
 *     GET  /v2                     {"name": …, "version": …, "extensions": […]}
 *     GET  /v2/health/ready        {"ready": true}; the status is what counts: 200, or 400
 *     GET  /v2/models/m            {"name": …, "versions": […], "platform": …, "inputs": …}
 *     GET  /v2/models/m/ready      {"name": …, "ready": true}
 *     POST /v2/repository/index    [{"name": …, "version": …, "state": "READY", "reason": ""}]
 *     any failure                  {"error": "…"} */
#include "base/json.h"
#include "serve/protocol/json_values.h"
#include "serve/protocol/protocol.h"

#include <stdio.h>
#include <string.h>

static int oip_http_status(enum exchange_code code)
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

/* Prints a value that is used up; NULL counts as out of memory. */
static int print_compact(struct buf *out, json_t *v)
{
    AUTO_JSON *own = v;
    AUTO_FREE char *text = own ? json_dumps(own, JSON_COMPACT) : NULL;

    return text ? buf_add_str(out, text) : -ENOMEM;
}

static int oip_error(struct buf *out, enum exchange_code code, const char *text)
{
    (void)code;
    return print_compact(out, json_pack("{s:o}", "error", json_text(text)));
}

static int oip_no_model(const struct exchange *x, int code, struct err *err)
{
    char version[40] = "";

    if (x->version >= 0)
        snprintf(version, sizeof(version), " version %lld", (long long)x->version);
    if (code == -EAGAIN)
        return exchange_err(err, EXCHANGE_UNAVAILABLE, "model '%s'%s is not ready%s%s", x->name,
                            version, x->model->reason ? ": " : "",
                            x->model->reason ? x->model->reason : "");
    return exchange_err(err, EXCHANGE_NOT_FOUND, "Request for unknown model: '%s'%s is not found",
                        x->name, version);
}

static int answer(struct exchange *x, json_t *v, struct err *err)
{
    return print_compact(&x->answer.body, v) < 0 ? err_oom(err) : 0;
}

int oip_health(struct exchange *x, struct err *err)
{
    bool live = x->op == EXCHANGE_OP_SERVER_LIVE;
    bool yes = live ? x->served->live : x->served->ready;

    x->answer.status = yes ? 200 : 400;
    x->answer.code = yes ? EXCHANGE_OK : EXCHANGE_UNAVAILABLE;
    return answer(x, json_pack("{s:b}", live ? "live" : "ready", yes), err);
}

int oip_server_metadata(struct exchange *x, struct err *err)
{
    return answer(x,
                  json_pack("{s:o, s:o, s:[s, s]}", "name", json_text(x->served->name), "version",
                            json_text(x->served->version), "extensions", "binary_tensor_data",
                            "model_repository"),
                  err);
}

static json_t *slots_json(const struct signature_slots *l)
{
    AUTO_JSON *all = json_array();

    for (size_t i = 0; all && i < l->n; i++) {
        AUTO_JSON *shape = json_array();
        const struct signature_slot *s = &l->v[i];

        for (size_t d = 0; shape && d < s->rank; d++) {
            if (json_array_append_new(shape, json_integer(s->dims[d])) < 0)
                return NULL;
        }
        if (json_array_append_new(all, json_pack("{s:o, s:s, s:o}", "name", json_text(s->name),
                                                 "datatype", tensor_type_oip(s->type), "shape",
                                                 take(shape))) < 0)
            return NULL;
    }
    return take(all);
}

/* The versions of a model that can be asked for. */
static json_t *versions_json(const struct exchange *x)
{
    AUTO_JSON *all = json_array();

    for (size_t i = 0; all && i < x->served->models_n; i++) {
        const struct served_model *m = &x->served->models[i];
        char text[24];

        if (strcmp(m->name, x->name) != 0 || m->state != MODEL_AVAILABLE)
            continue;
        snprintf(text, sizeof(text), "%lld", (long long)m->version);
        if (json_array_append_new(all, json_string(text)) < 0)
            return NULL;
    }
    return take(all);
}

int oip_model_metadata(struct exchange *x, struct err *err)
{
    const struct signature *s = model_signature(x->model, NULL);
    const struct signature none = { 0 };
    const char *platform = x->model->platform ? x->model->platform : "";

    s = s ? s : &none;
    return answer(x,
                  json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", json_text(x->name), "versions",
                            versions_json(x), "platform", json_text(platform), "inputs",
                            slots_json(&s->inputs), "outputs", slots_json(&s->outputs)),
                  err);
}

/* A model that is there and not ready is an answer (400, "ready": false); one that nobody knows is
 * a failure. */
int oip_model_ready(struct exchange *x, struct err *err)
{
    int r = model_find(x);

    if (r == -ENOENT)
        return oip_no_model(x, r, err);
    x->answer.status = r == 0 ? 200 : 400;
    x->answer.code = r == 0 ? EXCHANGE_OK : EXCHANGE_UNAVAILABLE;
    return answer(x, json_pack("{s:o, s:b}", "name", json_text(x->name), "ready", r == 0), err);
}

const char *oip_index_state(enum model_state s)
{
    switch (s) {
    case MODEL_AVAILABLE:
        return "READY";
    case MODEL_START:
    case MODEL_LOADING:
        return "LOADING";
    case MODEL_UNLOADING:
        return "UNLOADING";
    case MODEL_UNKNOWN:
    case MODEL_END:
        break;
    }
    return "UNAVAILABLE";
}

static json_t *index_json(const struct served *s, bool ready)
{
    AUTO_JSON *all = json_array();

    for (size_t i = 0; all && i < s->models_n; i++) {
        const struct served_model *m = &s->models[i];
        char version[24];

        if (ready && m->state != MODEL_AVAILABLE)
            continue;
        snprintf(version, sizeof(version), "%lld", (long long)m->version);
        if (json_array_append_new(all,
                                  json_pack("{s:o, s:s, s:s, s:o}", "name", json_text(m->name),
                                            "version", version, "state", oip_index_state(m->state),
                                            "reason", json_text(m->reason ? m->reason : ""))) < 0)
            return NULL;
    }
    return take(all);
}

/* {"ready": true}, or no body at all. */
int oip_index_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    AUTO_JSON_DOC *doc = NULL;
    struct json_trouble why;
    yyjson_val *ready;
    int r = n > 0 ? json_doc_read(p, n, false, &doc, &why) : 0;

    if (r == -ENOMEM)
        return err_oom(err);
    if (r < 0)
        return exchange_err(err, EXCHANGE_INVALID,
                            "failed to parse the request JSON buffer: %s at %zu", why.text, why.at);
    ready = yyjson_obj_get(yyjson_doc_get_root(doc), "ready");
    if ((doc && !yyjson_is_obj(yyjson_doc_get_root(doc))) || (ready && !yyjson_is_bool(ready)))
        return exchange_err(err, EXCHANGE_INVALID, "Unable to parse 'ready'");
    return answer(x, index_json(x->served, yyjson_is_true(ready)), err);
}

int oip_load_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    (void)p;
    (void)n;
    return exchange_err(err, EXCHANGE_UNIMPLEMENTED,
                        "'%s' is neither loaded nor unloaded by requests: the deployment decides "
                        "what is served",
                        x->name);
}

const struct protocol oip_protocol = {
    .operations = {
        [EXCHANGE_OP_PREDICT] = { .model = true, .body = true, .read = oip_infer_read,
                                  .finish = oip_infer_finish },
        [EXCHANGE_OP_MODEL_METADATA] = { .model = true, .answer = oip_model_metadata },
        [EXCHANGE_OP_MODEL_READY] = { .answer = oip_model_ready },
        [EXCHANGE_OP_SERVER_LIVE] = { .answer = oip_health },
        [EXCHANGE_OP_SERVER_READY] = { .answer = oip_health },
        [EXCHANGE_OP_SERVER_METADATA] = { .answer = oip_server_metadata },
        [EXCHANGE_OP_INDEX] = { .body = true, .read = oip_index_read, .answer = exchange_answered },
        [EXCHANGE_OP_LOAD] = { .body = true, .read = oip_load_read, .answer = exchange_answered },
        [EXCHANGE_OP_UNLOAD] = { .body = true, .read = oip_load_read, .answer = exchange_answered },
    },
    .status = oip_http_status,
    .error = oip_error,
    .no_model = oip_no_model,
    .type = "application/json",
};
