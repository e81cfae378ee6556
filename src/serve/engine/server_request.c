/* server_request.c - one request: an exchange is driven through its steps, and what it needs of the
 * model goes through the queue.
 *
 *     head ──► body, charged to the server's memory as it comes ──► queue and model ──► answer
 *
 * What the backend looks at belongs to a struct server_request, which two may hold: this fiber, and
 * a run that goes on after the client was told that its time is over. Whoever is last frees it and
 * returns what it was charged. */
#include "base/log.h"
#include "serve/engine/server_private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

#define PIECE (64 * KIB) /* of a body that is read in one go */

/* ---- what it holds ---- */

static void server_request_free(struct batch_request *b)
{
    struct server_request *q = (struct server_request *)b;

    budget_give(&q->server->memory, q->charged);
    buf_done(&q->body);
    free(q);
}

struct server_request *server_request_new(struct server *s, uint64_t body_max)
{
    struct server_request *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->server = s;
    buf_init(&q->body, body_max);
    batch_request_init(&q->q, server_request_free);
    return q;
}

int server_request_charge(struct server_request *q, uint64_t n)
{
    int r = budget_take(&q->server->memory, n);

    q->charged += r == 0 ? n : 0;
    return r;
}

/* What is there already counts, too. */
static void charge_tensors(struct server_request *q, const struct tensors *l)
{
    uint64_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->v[i].owner ? l->v[i].size : 0;
    budget_add(&q->server->memory, n);
    q->charged += n;
}

/* ---- one turn ---- */

struct turn {
    struct server *server;
    struct http_call *call;
    struct exchange x;
    struct server_request *q; /* NULL until the body is wanted */
    int status;               /* instead of the answer's; 0 */
    char id[SERVER_ID_MAX + 1];
    int64_t began_ns;
    int64_t deadline;
};

enum exchange_code server_code_of(int r)
{
    static const struct {
        int errno_code;
        enum exchange_code code;
    } rows[] = {
        { -EINVAL, EXCHANGE_INVALID },         { -EAGAIN, EXCHANGE_EXHAUSTED },
        { -ETIMEDOUT, EXCHANGE_DEADLINE },     { -ECANCELED, EXCHANGE_UNAVAILABLE },
        { -ENOMEM, EXCHANGE_UNAVAILABLE },     { -EOPNOTSUPP, EXCHANGE_UNIMPLEMENTED },
        { -ECONNABORTED, EXCHANGE_CANCELLED }, { -EHOSTDOWN, EXCHANGE_UNAVAILABLE },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].errno_code == r)
            return rows[i].code;
    return EXCHANGE_INTERNAL;
}

int server_status_of(enum exchange_code code)
{
    static const int statuses[] = {
        [EXCHANGE_OK] = 200,           [EXCHANGE_CANCELLED] = 499,       [EXCHANGE_INVALID] = 400,
        [EXCHANGE_DEADLINE] = 504,     [EXCHANGE_NOT_FOUND] = 404,       [EXCHANGE_EXHAUSTED] = 429,
        [EXCHANGE_PRECONDITION] = 400, [EXCHANGE_UNIMPLEMENTED] = 501,   [EXCHANGE_INTERNAL] = 500,
        [EXCHANGE_UNAVAILABLE] = 503,  [EXCHANGE_UNAUTHENTICATED] = 401,
    };

    return code < COUNT_OF(statuses) && statuses[code] ? statuses[code] : 500;
}

/* Fails with a status that the protocols have no code for: 0 for theirs. */
static enum exchange_step fail(struct turn *t, int status, enum exchange_code code,
                               const char *text)
{
    t->status = status;
    return exchange_fail(&t->x, code, text);
}

static enum exchange_step request_too_large(struct turn *t)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "The request has more than %llu bytes, the limit here",
                   (unsigned long long)t->server->o->body_max);
    return fail(t, 413, EXCHANGE_EXHAUSTED, text);
}

/* One piece of the body: > 0, 0 at its end, negative with `err`.
 *
 * Memory is charged before it is used, and what was not read is given back: a thousand slow bodies
 * are charged for what has come, not for what they announced. Where the length is known no byte
 * beyond it is asked for: what follows is the next request. */
static ssize_t server_read_piece(struct turn *t, struct err *err)
{
    struct server_request *q = t->q;
    uint64_t left = q->body.max - q->body.len;
    size_t n = left < PIECE ? (size_t)left : PIECE;
    uint64_t told = http_body_size(t->call);
    uint8_t *to = NULL;
    ssize_t got;

    if (told != UINT64_MAX && told - q->body.len < n)
        n = (size_t)(told - q->body.len);
    n = n ? n : 1; /* to see the end */
    if (buf_room(&q->body, n, &to) < 0)
        return q->body.len >= q->server->o->body_max ? -E2BIG : -ENOMEM;
    if (server_request_charge(q, n) < 0)
        return err_set(err, -EAGAIN, "The server has no memory left for more requests");
    got = http_body(t->call, to, n, err);
    if (got > 0)
        q->body.len += (size_t)got;
    if (got < (ssize_t)n) {
        uint64_t unused = n - (got > 0 ? (size_t)got : 0);

        budget_give(&q->server->memory, unused);
        q->charged -= unused;
    }
    return got;
}

static enum exchange_step body_failed(struct turn *t, int r, const struct err *err)
{
    if (r == -E2BIG)
        return request_too_large(t);
    if (r == -ETIMEDOUT)
        return fail(t, 408, EXCHANGE_DEADLINE, err->text);
    if (r == -EAGAIN)
        return fail(t, 0, EXCHANGE_EXHAUSTED, err->text);
    if (r == -ENOMEM)
        return fail(t, 0, EXCHANGE_UNAVAILABLE, "out of memory");
    return fail(t, 400, EXCHANGE_INVALID, err->text);
}

/* Nothing here unpacks: what comes packed would be told as broken JSON. */
static bool is_packed(const struct http_call *c)
{
    const char *encoding = http_header(c, "Content-Encoding");

    return encoding && *encoding && strcasecmp(encoding, "identity") != 0;
}

static enum exchange_step server_take_body(struct turn *t)
{
    uint64_t max = t->server->o->body_max, told = http_body_size(t->call);
    enum exchange_step step;
    struct err err = ERR_INIT;
    ssize_t n;

    if (is_packed(t->call))
        return fail(t, 415, EXCHANGE_INVALID,
                    "The request has a Content-Encoding: send its body uncompressed");
    if (told != UINT64_MAX && told > max)
        return request_too_large(t);
    t->q = server_request_new(t->server, max + 1); /* one more, to see that it is too much */
    if (!t->q)
        return fail(t, 0, EXCHANGE_UNAVAILABLE, "out of memory");
    while ((n = server_read_piece(t, &err)) > 0 && t->q->body.len <= max)
        ;
    if (n > 0)
        n = -E2BIG;
    if (n < 0)
        return body_failed(t, (int)n, &err);
    step = server_read(t->q, &t->x);
    if (t->q->never)
        t->status = 413; /* it is not told to come again */
    return step;
}

void server_run_model(struct server_request *q, struct exchange *x, int64_t deadline)
{
    struct server *s = q->server;
    struct err err = ERR_INIT;
    int r;

    server_request_aim(q, x);
    q->q.in = x->inputs; /* the run may need them for longer than the exchange */
    x->inputs = (struct tensors){ 0 };
    charge_tensors(q, &q->q.in);
    r = batcher_run(s->batcher, &q->q, deadline, &err);
    s->metrics.abandoned += r < 0 && q->q.state == BATCH_RUNNING;
    if (r < 0) {
        (void)exchange_fail(x, server_code_of(r), err.text);
        return;
    }
    metrics_count(&s->metrics.queue, (double)q->q.waited_ns / 1e9);
    charge_tensors(q, &q->q.out);
    server_finish(q, x);
}

/* Who asks for a request's place in the queue, and may leave it. */
struct watched {
    struct server_request *q;
    struct sock *sock;
};

/* Something to read is the next request, which is no business of this one's, or the end.
 *
 * The byte is left where it is. A client that has closed its sending half looks the same as one
 * that has gone, and counts as gone. */
static void on_readable(void *user)
{
    const struct watched *w = user;
    char next;

    if (recv(sock_fd(w->sock), &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        batcher_drop(w->q->server->batcher, &w->q->q);
}

void server_run_watched(struct server_request *q, struct exchange *x, int64_t deadline,
                        struct sock *sock)
{
    struct watched w = { q, sock };

    (void)sock_on_readable(sock, on_readable, &w);
    server_run_model(q, x, deadline);
    (void)sock_on_readable(sock, NULL, NULL);
}

/* ---- the answer ---- */

const char *server_operation(enum exchange_op op)
{
    static const char *const names[] = {
        [EXCHANGE_OP_NONE] = "other",
        [EXCHANGE_OP_PREDICT] = "predict",
        [EXCHANGE_OP_CLASSIFY] = "classify",
        [EXCHANGE_OP_REGRESS] = "regress",
        [EXCHANGE_OP_MODEL_STATUS] = "model_status",
        [EXCHANGE_OP_MODEL_METADATA] = "model_metadata",
        [EXCHANGE_OP_MODEL_READY] = "model_ready",
        [EXCHANGE_OP_SERVER_LIVE] = "live",
        [EXCHANGE_OP_SERVER_READY] = "ready",
        [EXCHANGE_OP_SERVER_METADATA] = "server_metadata",
        [EXCHANGE_OP_INDEX] = "index",
        [EXCHANGE_OP_LOAD] = "load",
        [EXCHANGE_OP_UNLOAD] = "unload",
    };

    return op < COUNT_OF(names) && names[op] ? names[op] : "other";
}

static bool is_id(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+=@");

    return n > 0 && n <= SERVER_ID_MAX && s[n] == '\0';
}

void server_choose_id(struct server *s, const char *asked, char out[SERVER_ID_MAX + 1])
{
    if (asked && is_id(asked))
        (void)snprintf(out, SERVER_ID_MAX + 1, "%s", asked);
    else
        (void)snprintf(out, SERVER_ID_MAX + 1, "%llx-%llu", (unsigned long long)s->started_id,
                       (unsigned long long)++s->requests);
}

/* May a page of this origin read the answer? The value of its header, or NULL. */
static const char *cors_origin(const struct server *s, const char *origin)
{
    const struct strs *l = s->o->cors;

    if (!origin || !l)
        return NULL;
    return strs_has(l, "*") ? "*" : strs_has(l, origin) ? origin : NULL;
}

static int cors_headers(struct turn *t, struct err *err)
{
    const char *origin = cors_origin(t->server, http_header(t->call, "Origin"));
    int r = 0;

    if (!origin)
        return 0;
    r = http_reply_header(t->call, "Access-Control-Allow-Origin", origin, err);
    if (r == 0)
        r = http_reply_header(t->call, "Vary", "Origin", err);
    if (r == 0)
        r = http_reply_header(t->call, "Access-Control-Expose-Headers",
                              "Inference-Header-Content-Length, x-request-id", err);
    if (r < 0 || strcmp(http_method(t->call), "OPTIONS") != 0)
        return r;
    r = http_reply_header(t->call, "Access-Control-Allow-Methods", "GET, POST, OPTIONS", err);
    if (r == 0)
        r = http_reply_header(t->call, "Access-Control-Allow-Headers",
                              "Authorization, Content-Type, Inference-Header-Content-Length, "
                              "x-request-id",
                              err);
    return r == 0 ? http_reply_header(t->call, "Access-Control-Max-Age", "600", err) : r;
}

static int common_headers(struct turn *t, struct err *err)
{
    int r = http_reply_header(t->call, "x-request-id", t->id, err);

    return r < 0 || !t->server->o->cors ? r : cors_headers(t, err);
}

static int send_answer(struct turn *t, struct err *err)
{
    const struct exchange_answer *a = &t->x.answer;
    int status = t->status ? t->status : a->status;
    char number[24];
    int r = 0;

    if (a->header_length >= 0 && status == 200) {
        (void)snprintf(number, sizeof(number), "%lld", (long long)a->header_length);
        r = http_reply_header(t->call, "Inference-Header-Content-Length", number, err);
    }
    if (r == 0 && a->allow)
        r = http_reply_header(t->call, "Allow", a->allow, err);
    if (r == 0 && (status == 429 || status == 503))
        r = http_reply_header(t->call, "Retry-After", "1", err);
    return r < 0 ? r : http_reply(t->call, status, a->type, a->body.data, a->body.len, err);
}

/* The answer's bytes count as long as a slow reader keeps them here. */
static int answer(struct turn *t, struct err *err)
{
    uint64_t n = t->x.answer.body.len;
    int r;

    budget_add(&t->server->memory, n);
    r = send_answer(t, err);
    budget_give(&t->server->memory, n);
    return r;
}

static void account(struct turn *t, int status)
{
    struct server *s = t->server;
    const struct batch_request *q = t->q ? &t->q->q : NULL;
    int64_t total = (int64_t)uv_hrtime() - t->began_ns;
    const struct access_line line = {
        .id = t->id,
        .from = sock_peer_ip(stream_sock(http_stream(t->call))),
        .method = http_method(t->call),
        .target = http_raw(t->call),
        .status = status,
        .in = t->q ? t->q->body.len : 0,
        .out = t->x.answer.body.len,
        .total_ns = total,
        .queue_ns = q && q->state == BATCH_ENDED ? q->waited_ns : 0,
        .run_ns = q && q->state == BATCH_ENDED ? q->run_ns : 0,
        .rows = q && q->state == BATCH_ENDED ? q->rows : 0,
    };

    metrics_answer(&s->metrics, server_operation(t->x.op), status);
    if (q)
        metrics_count(&s->metrics.request, (double)total / 1e9);
    access_log_write(&s->log, &line);
}

/* ---- the handler ---- */

static int preflight(struct turn *t, struct err *err)
{
    int r = http_reply(t->call, 200, "text/plain", NULL, 0, err);

    account(t, 200);
    return r;
}

static int ask_for_key(struct turn *t, struct err *err)
{
    int r = server_key_ask(t->call, err);

    account(t, 401);
    return r;
}

static int drive(struct turn *t, struct err *err)
{
    struct http_call *c = t->call;
    const struct exchange_request request = {
        .method = http_method(c),
        .target = http_raw(c),
        .inference_header_length = http_header(c, "Inference-Header-Content-Length"),
        .content_type = http_header(c, "Content-Type"),
    };
    enum exchange_step step = exchange_begin(&t->x, &request, &t->server->served);
    int status = 0, r = 0;

    if (step == EXCHANGE_OTHER && server_page(t->server, c, &status, &r, err)) {
        account(t, status);
        return r;
    }
    if (step == EXCHANGE_OTHER)
        step = exchange_fail(&t->x, EXCHANGE_NOT_FOUND, "There is nothing at this path");
    if (step == EXCHANGE_BODY)
        step = server_take_body(t);
    if (step == EXCHANGE_RUN)
        server_run_watched(t->q, &t->x, t->deadline, stream_sock(http_stream(c)));
    r = answer(t, err);
    account(t, t->status ? t->status : t->x.answer.status);
    return r;
}

/* The order is part of what clients see: headers of CORS stand on every answer, a 401 too, and a
 * preflight, which browsers send without a key, is answered before keys are looked at. */
int server_handle(void *user, struct http_call *c, struct err *err)
{
    struct server *s = user;
    struct turn t = { .server = s, .call = c, .began_ns = (int64_t)uv_hrtime() };
    int r;

    server_look(s);
    t.deadline = loop_in(s->loop, s->o->deadline_ms);
    server_choose_id(s, http_header(c, "x-request-id"), t.id);
    r = common_headers(&t, err);
    if (r == 0 && strcmp(http_method(c), "OPTIONS") == 0 && http_header(c, "Origin"))
        r = preflight(&t, err);
    else if (r == 0)
        r = server_key_shown(&s->keys, c) ? drive(&t, err) : ask_for_key(&t, err);
    exchange_done(&t.x);
    if (t.q)
        (void)batch_request_unref(&t.q->q);
    return r;
}
