/* exchange.c - the steps of an exchange, whatever its protocol: the route, the model, the body, the
 * answer; and every failure, which is an answer too. */
#include "serve/protocol/exchange.h"
#include "base/array.h"
#include "base/str.h"
#include "serve/protocol/json_values.h"
#include "serve/protocol/protocol.h"

#include <stdio.h>
#include <string.h>

int exchange_err(struct err *err, enum exchange_code code, const char *fmt, ...)
{
    char text[sizeof(((struct err *)0)->text)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)err_set(err, -EINVAL, "%s", text);
    if (err)
        err->detail = (int)code;
    return -EINVAL;
}

int exchange_answered(struct exchange *x, struct err *err)
{
    (void)x;
    (void)err;
    return 0;
}

/* err->detail is the protocol's code where exchange_err() has set it. A plain -EINVAL comes from
 * what reads requests (JSON, tensors, signatures); anything else is our own trouble, and must not
 * look like the client's. */
static enum exchange_code code_of(int r, const struct err *err)
{
    if (err->detail > 0)
        return (enum exchange_code)err->detail;
    return r == -EINVAL ? EXCHANGE_INVALID : EXCHANGE_INTERNAL;
}

/* What a request brought and nobody needs for the answer any more. */
static void drop_request(struct exchange *x)
{
    tensors_done(&x->inputs);
    for (size_t i = 0; i < x->wanted_n; i++)
        free(x->wanted[i].name);
    free(x->wanted);
    x->wanted = NULL;
    x->wanted_n = 0;
    free(x->id);
    x->id = NULL;
}

/* A request for which no route was found has no protocol yet: it is answered in the form of the
 * Open Inference Protocol. What was written of an answer so far is dropped. */
enum exchange_step exchange_fail(struct exchange *x, enum exchange_code code, const char *text)
{
    const struct protocol *p = x->protocol ? x->protocol : &oip_protocol;
    struct exchange_answer *a = &x->answer;

    buf_reset(&a->body);
    if (a->body.max == 0)
        buf_init(&a->body, EXCHANGE_ANSWER_MAX);
    if (p->error(&a->body, code, text) < 0)
        buf_reset(&a->body); /* no memory: the status has to do */
    a->code = code;
    a->status = a->allow ? 405 : p->status(code);
    a->type = p->type;
    a->header_length = -1;
    drop_request(x);
    return EXCHANGE_DONE;
}

/* The same for a failure that has been put into words. */
static enum exchange_step fail(struct exchange *x, int r, struct err *err)
{
    if (!err->text[0])
        (void)err_code(err, r, "the answer could not be made");
    return exchange_fail(x, code_of(r, err), err->text);
}

static enum exchange_step done(struct exchange *x)
{
    if (x->answer.status == 0)
        x->answer.status = 200;
    drop_request(x);
    return EXCHANGE_DONE;
}

static bool has_label(const struct served_model *m, const char *label)
{
    for (size_t i = 0; i < m->labels_n; i++) {
        if (strcmp(m->labels[i], label) == 0)
            return true;
    }
    return false;
}

static bool asked_for(const struct exchange *x, const struct served_model *m)
{
    if (strcmp(m->name, x->name) != 0)
        return false;
    if (x->label)
        return has_label(m, x->label);
    return x->version < 0 || x->version == m->version;
}

/* An available one before one that is not, then the newest. */
static bool is_better(const struct served_model *m, const struct served_model *than)
{
    bool ready = m->state == MODEL_AVAILABLE;

    if (!than || ready != (than->state == MODEL_AVAILABLE))
        return !than || ready;
    return m->version > than->version;
}

/*     0          an available one is in x->model
 *     -EAGAIN    the one that is meant is not available: it is in x->model too, with its state
 *     -ENODATA   the model is there, but no version of it has this label
 *     -ENOENT    there is no such model, or no such version */
int model_find(struct exchange *x)
{
    bool known = false;

    x->model = NULL;
    for (size_t i = 0; i < x->served->models_n; i++) {
        const struct served_model *m = &x->served->models[i];

        known |= strcmp(m->name, x->name) == 0;
        if (asked_for(x, m) && is_better(m, x->model))
            x->model = m;
    }
    if (!x->model)
        return known && x->label ? -ENODATA : -ENOENT;
    return x->model->state == MODEL_AVAILABLE ? 0 : -EAGAIN;
}

const struct signature *model_signature(const struct served_model *m, const char *name)
{
    for (size_t i = 0; i < m->signatures_n; i++) {
        if (strcmp(signature_name(&m->signatures[i]), name ? name : SIGNATURE_DEFAULT) == 0)
            return &m->signatures[i];
    }
    return name || m->signatures_n == 0 ? NULL : &m->signatures[0];
}

static bool is_wanted(const struct exchange *x, const char *name)
{
    for (size_t i = 0; i < x->wanted_n; i++) {
        if (strcmp(x->wanted[i].name, name) == 0)
            return true;
    }
    return x->wanted_n == 0;
}

int pick_outputs(const struct exchange *x, const struct tensors *outputs, const struct tensor **ret,
                 struct err *err)
{
    int n = 0;

    for (size_t i = 0; i < x->signature->outputs.n; i++) {
        const char *name = x->signature->outputs.v[i].name;

        if (!is_wanted(x, name))
            continue;
        ret[n] = tensors_find(outputs, name);
        if (!ret[n++])
            return exchange_err(err, EXCHANGE_INTERNAL, "the model did not give its output '%s'",
                                name);
    }
    return n;
}

static const struct operation *operation_of(const struct exchange *x)
{
    return &x->protocol->operations[x->op];
}

/* The length of the JSON before binary tensors, if the request says it.
 *
 * The Open Inference Protocol's binary tensors: a header says where the JSON ends, and the bytes of
 * the tensors follow it in the order of the inputs.
 *
 *     Inference-Header-Content-Length: 212
 *     [ 212 bytes of JSON ][ bytes of input 0 ][ bytes of input 1 ] …
 *
 * A length of 0 is Triton's raw form: the whole body is the only input. */
static int json_length(struct exchange *x, const char *text, struct err *err)
{
    x->json_length = -1;
    if (text && str_to_i64(text, 0, INT64_MAX, &x->json_length) < 0)
        return exchange_err(err, EXCHANGE_INVALID,
                            "Unable to parse Inference-Header-Content-Length, got: %.40s", text);
    x->raw = x->json_length == 0;
    return 0;
}

static enum exchange_step begin(struct exchange *x, const struct exchange_request *q,
                                struct err *err)
{
    const struct operation *op;
    int r = route(x, q, err);

    if (r > 0)
        return EXCHANGE_OTHER;
    if (r == 0)
        r = json_length(x, q->inference_header_length, err);
    if (r < 0)
        return fail(x, r, err);
    op = operation_of(x);
    r = op->model ? model_find(x) : 0;
    if (r < 0)
        return fail(x, x->protocol->no_model(x, r, err), err);
    if (op->body)
        return EXCHANGE_BODY;
    r = op->answer(x, err);
    return r < 0 ? fail(x, r, err) : done(x);
}

void exchange_init(struct exchange *x, const struct served *s)
{
    x->served = s;
    x->version = -1;
    x->rows = -1;
    x->answer = (struct exchange_answer){ .header_length = -1, .type = "application/json" };
    buf_init(&x->answer.body, s->answer_max ? s->answer_max : EXCHANGE_ANSWER_MAX);
}

enum exchange_step exchange_begin(struct exchange *x, const struct exchange_request *q,
                                  const struct served *s)
{
    struct err err = ERR_INIT;

    exchange_init(x, s);
    return begin(x, q, &err);
}

/* The inputs in the order of the signature: each is there exactly once. Those of a dynamic one stay
 * as they came.
 *
 * signature_check() has seen to that: the search cannot run past the end. */
static void order_inputs(struct exchange *x)
{
    if (x->signature->dynamic)
        return;
    for (size_t i = 0; i < x->inputs.n; i++) {
        size_t at = i;

        while (strcmp(x->inputs.v[at].name, x->signature->inputs.v[i].name) != 0)
            at++;
        if (at != i) {
            struct tensor t = x->inputs.v[i];

            x->inputs.v[i] = x->inputs.v[at];
            x->inputs.v[at] = t;
        }
    }
}

/* Asked before the body is parsed: a JSON document takes many times its bytes in memory, and what a
 * request may use is refused beforehand, not when it is gone. Binary tensors are borrowed where
 * they lie, and cost nothing more. */
uint64_t exchange_body_cost(const struct exchange *x, const void *p, size_t n)
{
    bool binary = x->json_length >= 0 && (uint64_t)x->json_length < n;

    return json_doc_cost(p, binary ? (size_t)x->json_length : n);
}

/* An operation either needs the model (it has `finish`, and tensors to check), or is answered from
 * what the server knows. */
enum exchange_step exchange_body(struct exchange *x, const void *p, size_t n)
{
    const struct operation *op = operation_of(x);
    struct err err = ERR_INIT;
    int r = op->read(x, p, n, &err);

    if (r == 0 && !op->finish)
        r = op->answer(x, &err);
    else if (r == 0)
        r = signature_widen(x->signature, &x->inputs, &err);
    if (r == 0 && op->finish)
        r = signature_check(x->signature, &x->inputs, &err);
    if (r < 0)
        return fail(x, r, &err);
    if (!op->finish)
        return done(x);
    order_inputs(x);
    return EXCHANGE_RUN;
}

/* The outputs of a dynamic signature are those that the model has just given.
 *
 * The signature becomes one of the exchange: the one of the model is shared by all requests, and
 * another request may bring other outputs. What a request wants of them could not be checked before
 * the run either, hence here. */
static int learn_outputs(struct exchange *x, const struct tensors *outputs, struct err *err)
{
    int r = 0;

    signature_done(&x->own);
    x->own.dynamic = true;
    for (size_t i = 0; i < outputs->n && r == 0; i++) {
        const struct tensor *t = &outputs->v[i];

        r = signature_add(&x->own.outputs, t->name, NULL, t->type, t->dims, t->rank, err);
        if (r == -EINVAL)
            r = exchange_err(err, EXCHANGE_INTERNAL, "the model's output: %.200s", err->text);
    }
    for (size_t i = 0; i < x->wanted_n && r == 0; i++)
        if (!tensors_find(outputs, x->wanted[i].name))
            r = exchange_err(err, EXCHANGE_INVALID, "there is no output '%.120s'",
                             x->wanted[i].name);
    x->signature = &x->own;
    return r;
}

enum exchange_step exchange_finish(struct exchange *x, const struct tensors *outputs)
{
    const struct operation *op = operation_of(x);
    struct err err = ERR_INIT;
    int r = x->signature->dynamic ? learn_outputs(x, outputs, &err) : 0;

    x->answer.type = x->protocol->type;
    if (r == 0)
        r = op->finish(x, outputs, &err);
    if (r == -E2BIG && !err.text[0])
        r = exchange_err(&err, EXCHANGE_INTERNAL, "the answer is larger than %zu bytes",
                         x->answer.body.max);
    return r < 0 ? fail(x, r, &err) : done(x);
}

void exchange_done(struct exchange *x)
{
    drop_request(x);
    buf_done(&x->answer.body);
    signature_done(&x->own);
    free(x->name);
    free(x->label);
    *x = (struct exchange){ 0 };
}
