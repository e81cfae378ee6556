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

/* A call while it is answered. */
struct called {
    struct server *server;
    struct grpc_call *call;
    struct server_request *q;
    struct exchange x;
    char id[SERVER_ID_MAX + 1];
    int64_t began_ns;
    size_t out; /* bytes of the answer, which is given away */
};

/* A failure has no message in gRPC, only a status and a text: what p->error() has put into the body
 * is that text. */
static int answer_call(struct called *d, struct err *err)
{
    struct exchange_answer *a = &d->x.answer;
    size_t n = a->body.len;
    const char *why;
    int r;

    if (a->code == EXCHANGE_OK) {
        r = grpc_answer(d->call, &a->body, err);
    } else {
        why = buf_text(&a->body);
        r = grpc_fail(d->call, (enum grpc_status)a->code, why ? why : "", err);
    }
    d->out = r == 0 ? n : 0;
    return r;
}

/* The client's own deadline (grpc-timeout) counts if it is the earlier one. */
static int drive_call(struct called *d, struct err *err)
{
    struct server *s = d->server;
    int64_t deadline = loop_in(s->loop, s->o->deadline_ms);
    struct view v = grpc_message(d->call);
    enum exchange_step step;

    if (copy_message(d->q, &v, err) < 0) {
        d->x.answer.code = EXCHANGE_EXHAUSTED;
        return grpc_fail(d->call, GRPC_RESOURCE_EXHAUSTED, err->text, NULL);
    }
    if (grpc_deadline(d->call) < deadline)
        deadline = grpc_deadline(d->call);
    step = server_read_grpc(d->q, &d->x, grpc_path(d->call));
    if (step == EXCHANGE_OTHER) {
        d->x.answer.code = EXCHANGE_UNIMPLEMENTED;
        return grpc_fail(d->call, GRPC_UNIMPLEMENTED, "there is no such method", err);
    }
    if (step == EXCHANGE_RUN)
        server_run_model(d->q, &d->x, deadline);
    return answer_call(d, err);
}

static void account_call(const struct called *d)
{
    const struct batch_request *q = &d->q->q;
    int64_t total = (int64_t)uv_hrtime() - d->began_ns;
    bool ran = q->state == BATCH_ENDED;
    const struct access_line line = {
        .id = d->id,
        .from = sock_peer_ip(stream_sock(grpc_stream(d->call))),
        .method = "POST",
        .target = grpc_path(d->call),
        .status = server_status_of(d->x.answer.code),
        .in = d->q->body.len,
        .out = d->out,
        .total_ns = total,
        .queue_ns = ran ? q->waited_ns : 0,
        .run_ns = ran ? q->run_ns : 0,
        .rows = ran ? q->rows : 0,
    };

    metrics_answer(&d->server->metrics, server_operation(d->x.op), line.status);
    metrics_count(&d->server->metrics.request, (double)total / 1e9);
    access_log_write(&d->server->log, &line);
}

/* As by HTTP (server_key.c): what keeps watch needs no key. */
static bool may_call(const struct server *s, const struct grpc_call *c)
{
    const char *path = grpc_path(c);

    return strcmp(path, OIP "ServerLive") == 0 || strcmp(path, OIP "ServerReady") == 0 ||
           key_set_shown(&s->keys, grpc_metadata(c, "authorization"));
}

static int on_call(void *user, struct grpc_call *c, struct err *err)
{
    struct called d = { .server = user, .call = c, .began_ns = (int64_t)uv_hrtime() };
    int r;

    server_look(d.server);
    d.q = server_request_new(d.server, d.server->o->body_max);
    if (!d.q)
        return err_oom(err);
    server_choose_id(d.server, grpc_metadata(c, "x-request-id"), d.id);
    r = grpc_answer_header(c, "x-request-id", d.id, err);
    if (r == 0 && may_call(d.server, c)) {
        r = drive_call(&d, err);
    } else if (r == 0) {
        d.x.answer.code = EXCHANGE_UNAUTHENTICATED;
        r = grpc_fail(c, GRPC_UNAUTHENTICATED, SERVER_KEY_WANTED, err);
    }
    if (r < 0) /* also that nobody waits for it any more, which is no failure of ours */
        d.x.answer.code = (enum exchange_code)grpc_status_of(r);
    account_call(&d);
    exchange_done(&d.x);
    (void)batch_request_unref(&d.q->q);
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
    static const char *const metadata[] = { "x-request-id", "authorization", NULL };
    const struct server_options *o = s->o;
    const struct grpc_options g = {
        .loop = s->loop,
        .methods = methods,
        .metadata = metadata,
        .limits = { .message_max = o->body_max, .body_ms = o->body_ms, .header_ms = o->header_ms },
        .budget = &s->memory,
        .user = s
    };

    return grpc_server_new(&g, ret, err);
}
