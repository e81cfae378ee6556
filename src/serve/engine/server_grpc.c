/* server_grpc.c - the same exchanges by gRPC, on the same port. A call is one message in and one
 * out; its bytes are copied, because a run of the model may outlive the call that asked for it. */
#include "serve/engine/server_private.h"

#include <string.h>
#include <uv.h>

#define OIP "/inference.GRPCInferenceService/"
#define TFS "/tensorflow.serving."

/* What is charged for it is returned with the request. */
static int copy_message(struct server_request *q, const struct view *v, struct err *err)
{
    if (v->n > q->server->o->body_max)
        return err_set(err, -E2BIG, "the message has more than %llu bytes",
                       (unsigned long long)q->server->o->body_max);
    if (server_request_charge(q, v->n) < 0)
        return err_set(err, -EAGAIN, "the server has no memory left for more requests");
    return buf_add(&q->body, v->p, v->n) < 0 ? err_oom(err) : 0;
}

static int answer_call(struct grpc_call *c, struct exchange *x, struct err *err)
{
    const char *why;

    if (x->answer.code == EXCHANGE_OK)
        return grpc_answer(c, &x->answer.body, err);
    why = buf_text(&x->answer.body);
    return grpc_fail(c, (enum grpc_status)x->answer.code, why ? why : "", err);
}

static int drive_call(struct server *s, struct grpc_call *c, struct server_request *q,
                      struct err *err)
{
    int64_t began = (int64_t)uv_hrtime(), deadline = loop_in(s->loop, s->o->deadline_ms);
    struct view v = grpc_message(c);
    AUTO_EXCHANGE x = { 0 };
    enum exchange_step step;

    if (copy_message(q, &v, err) < 0)
        return grpc_fail(c, GRPC_RESOURCE_EXHAUSTED, err->text, NULL);
    if (grpc_deadline(c) < deadline)
        deadline = grpc_deadline(c);
    step = exchange_grpc(&x, grpc_path(c), q->body.data, q->body.len, &s->served);
    if (step == EXCHANGE_OTHER)
        return grpc_fail(c, GRPC_UNIMPLEMENTED, "there is no such method", err);
    if (step == EXCHANGE_RUN)
        server_run_model(q, &x, deadline);
    metrics_answer(&s->metrics, server_operation(x.op), server_status_of(x.answer.code));
    metrics_count(&s->metrics.request, (double)((int64_t)uv_hrtime() - began) / 1e9);
    return answer_call(c, &x, err);
}

static int on_call(void *user, struct grpc_call *c, struct err *err)
{
    struct server *s = user;
    struct server_request *q = server_request_new(s, s->o->body_max);
    const char *id = grpc_metadata(c, "x-request-id");
    int r = 0;

    if (!q)
        return err_oom(err);
    if (id)
        r = grpc_answer_header(c, "x-request-id", id, err);
    if (r == 0)
        r = drive_call(s, c, q, err);
    (void)batch_request_unref(&q->q);
    return r;
}

int server_grpc_new(struct server *s, struct grpc_server **ret, struct err *err)
{
    static const struct grpc_method methods[] = {
        { OIP "ServerLive", on_call },
        { OIP "ServerReady", on_call },
        { OIP "ServerMetadata", on_call },
        { OIP "ModelReady", on_call },
        { OIP "ModelMetadata", on_call },
        { OIP "ModelInfer", on_call },
        { OIP "RepositoryIndex", on_call },
        { TFS "PredictionService/Predict", on_call },
        { TFS "PredictionService/GetModelMetadata", on_call },
        { TFS "ModelService/GetModelStatus", on_call },
        { 0 },
    };
    static const char *const metadata[] = { "x-request-id", NULL };
    const struct server_options *o = s->o;
    const struct grpc_options g = { .loop = s->loop,
                                    .methods = methods,
                                    .metadata = metadata,
                                    .limits = { .message_max = o->body_max,
                                                .server_held_max = o->memory_max,
                                                .body_ms = o->body_ms,
                                                .header_ms = o->header_ms },
                                    .user = s };

    return grpc_server_new(&g, ret, err);
}
