/* server.c - the life of a server, as server.h draws it: each state is left by one function. */
#include "serve/engine/server.h"
#include "base/log.h"
#include "loop/fiber.h"
#include "loop/listen.h"
#include "loop/work.h"
#include "serve/engine/descriptors.h"
#include "serve/engine/server_private.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <uv.h>

#define STACK_MIN ((rlim_t)8 * MIB)
#define WORKER_FILES 10 /* more than a worker needs while it is started */
#define LAST_MS 250     /* in which a connection may still ask a last request */

/* ---- listening ---- */

/* Besides connections: sockets, pipes and memory of workers. */
static size_t server_files(const struct server *s)
{
    return s->source.ops && s->source.ops->workers ? (size_t)server_runs(s) * WORKER_FILES : 0;
}

static int server_listen(struct server *s, struct err *err)
{
    const struct server_options *o = s->o;
    struct http_server_options h = { .loop = s->loop,
                                     .fd = -1,
                                     .name = "serve",
                                     .handler = server_handle,
                                     .user = s,
                                     .bare_errors = true };
    int port = 0;
    int r = server_grpc_new(s, &s->grpc, err);

    if (r == 0)
        r = listen_tcp(o->host, o->port, o->port, &h.fd, &port, err);
    if (r < 0)
        return r;
    h.http2 = grpc_serve;
    h.http2_user = s->grpc;
    (void)snprintf(s->url, sizeof(s->url), strchr(o->host, ':') ? "http://[%s]:%d" : "http://%s:%d",
                   o->host, port);
    /* The body's limit is the handler's, which answers as the protocol wants it. */
    h.limits = (struct http_limits){ .body_max = UINT64_MAX - 1,
                                     .connections_max =
                                         descriptors_room(o->connections_max, 1, server_files(s)),
                                     .header_ms = o->header_ms,
                                     .body_ms = o->body_ms,
                                     .idle_ms = o->idle_ms };
    return http_server_start(&h, &s->http, err);
}

/* ---- loading ---- */

/* Outlives the server when the thread that loads cannot be waited for. */
struct loading {
    struct server *server;
    const char *library_version; /* the server's own is read meanwhile */
    struct err err;
    struct cond ended;
    bool done;
    int result;
};

/* In a thread of the pool: the loop goes on answering. */
static int load_model(void *arg)
{
    struct loading *g = arg;

    return server_load_model(g->server, &g->library_version, &g->err);
}

static void load_fiber(void *arg)
{
    struct loading *g = arg;

    g->result = work_run(g->server->loop, load_model, g);
    g->done = true;
    cond_wake_all(&g->ended);
}

int server_load_late(const struct server *s, const char *what, struct err *err)
{
    return err_set(err, -ETIMEDOUT, "the model '%s' %s within %lld ms (--load-timeout)",
                   s->source.path, what, (long long)s->o->load_ms);
}

/* -ECANCELED: the thread that loads is still at it. */
static int server_load(struct server *s, struct loading *g, struct err *err)
{
    int r = fiber_start(s->loop, load_fiber, g, NULL, err);

    while (r == 0 && !g->done)
        r = cond_wait(s->loop, &g->ended, s->load_deadline);
    if (r == -ETIMEDOUT)
        return server_load_late(s, "was not loaded", err);
    if (r < 0)
        return r;
    s->library_version = g->library_version;
    if (g->result == 0)
        return 0;
    if (err)
        *err = g->err;
    return g->result;
}

/* What clients are told of the model from here on. */
static void server_publish(struct server *s, enum model_state state)
{
    const struct server_options *o = s->o;

    s->served_model = (struct served_model){
        .name = o->name ? o->name : s->source.name,
        .version = o->version ? o->version : s->source.version,
        .labels = o->labels ? (const char *const *)o->labels->v : NULL,
        .labels_n = o->labels ? o->labels->n : 0,
        .platform = s->source.ops->platform,
        .state = state,
        .signatures = s->signatures,
        .signatures_n = state == MODEL_AVAILABLE ? s->signatures_n : 0,
        .user = s,
    };
    s->served.models = &s->served_model;
    s->served.models_n = 1;
}

static void server_on_batch(void *user, int64_t rows, int64_t ns, bool here)
{
    struct server *s = user;

    s->metrics.here += here;
    metrics_count(&s->metrics.rows, (double)rows);
    metrics_count(&s->metrics.run, (double)ns / 1e9);
}

/* The libraries expect a usual stack. What waits for a device is no short run, however short. */
static enum batcher_where server_where(const struct server *s)
{
    struct rlimit stack;
    cpu_set_t set;

    if (s->o->threads_only || !s->source.ops->computes || strcmp(s->o->device, "cpu") != 0 ||
        getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur < STACK_MIN)
        return BATCHER_THREADS;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1)
        return BATCHER_HERE;
    return BATCHER_HERE_ALONE;
}

static int server_prepare(struct server *s, size_t *ret_warmed, struct err *err)
{
    const struct server_options *o = s->o;
    const struct batcher_options b = { .loop = s->loop,
                                       .ops = s->source.ops,
                                       .model = s->handles[0],
                                       .signature = &s->signatures[0],
                                       .threads = server_runs(s),
                                       .here = server_where(s),
                                       .rows_max = o->rows_max,
                                       .delay_ms = o->delay_ms,
                                       .waiting_max = o->queue_max,
                                       .on_batch = server_on_batch,
                                       .user = s };
    int r = batcher_new(&b, &s->batcher, err);

    if (r == 0)
        r = server_warm_up(s, ret_warmed, err);
    if (r < 0)
        return r;
    server_publish(s, MODEL_AVAILABLE);
    s->served.ready = true;
    return 0;
}

static void tell(struct server *s, void (*fn)(void *user, const struct server_told *t),
                 int64_t load_ms, size_t warmed)
{
    const struct server_told t = { .url = s->url,
                                   .model = s->served_model.name,
                                   .version = s->served_model.version,
                                   .backend = s->source.ops ? s->source.ops->name : NULL,
                                   .library = s->library_path,
                                   .library_version = s->library_version,
                                   .load_ms = load_ms,
                                   .warmed = warmed };

    if (fn)
        fn(s->o->user, &t);
}

/* ---- the end ---- */

static int server_wait(struct server *s)
{
    struct cond never = { 0 };

    return cond_wait(s->loop, &never, LOOP_NEVER);
}

struct draining {
    struct server *server;
    int64_t deadline;
};

static int drain_grpc(void *arg, struct err *err)
{
    const struct draining *d = arg;

    (void)grpc_drain(d->server->grpc, d->deadline, err);
    return 0; /* what is left is seen by the connections that are open */
}

/* First /v2/health/ready says no, so that balancers look elsewhere, while connections stay open for
 * LAST_MS: a client that is about to ask on a kept one gets its answer. gRPC drains beside that, as
 * its connections end by a message of their own (GOAWAY). */
static int server_drain(struct server *s, struct err *err)
{
    struct draining d = { s, loop_in(s->loop, s->o->grace_ms) };
    struct group beside;
    int r;

    s->served.ready = false;
    fiber_shield(s->loop, true); /* we are cancelled already; a second signal ends the process */
    group_init(&beside, s->loop, 0);
    (void)group_go(&beside, drain_grpc, &d, NULL);
    r = http_server_drain(s->http, LAST_MS, d.deadline);
    (void)group_wait(&beside, NULL);
    if (r < 0)
        r = err_set(err, -ETIMEDOUT, "%zu connections were cut off when --grace was over",
                    http_server_open(s->http));
    s->http = http_server_stop(s->http);
    fiber_shield(s->loop, false);
    return r;
}

static void server_done(struct server *s)
{
    fiber_shield(s->loop, true);
    s->http = http_server_stop(s->http);
    s->grpc = grpc_server_free(s->grpc);
    fiber_shield(s->loop, false);
    s->batcher = batcher_free(s->batcher);
    server_unload_model(s);
    model_source_done(&s->source);
    free(s->library_path);
    metrics_done(&s->metrics);
    access_log_close(&s->log);
    key_set_done(&s->keys);
    free(s);
}

static int open_source(void *arg)
{
    struct loading *g = arg;

    return model_source_open(g->server->o->model, &g->server->source, &g->err);
}

static int server_open(struct server *s, struct loading *g, struct err *err)
{
    int r = access_log_open(&s->log, s->o->access_log, err);

    if (r == 0 && s->o->key_file)
        r = key_set_read(s->o->key_file, &s->keys, err);
    if (r < 0 || !s->o->model)
        return r;
    r = work_run(s->loop, open_source, g);
    if (r < 0) {
        if (err)
            *err = g->err;
        return r;
    }
    server_publish(s, MODEL_LOADING);
    return 0;
}

static int server_open_port(struct server *s, struct err *err)
{
    int r = server_listen(s, err);

    if (r == 0)
        tell(s, s->o->on_listening, 0, 0);
    return r;
}

/* From listening to draining. `g` is the caller's, because loading may go on when this returns.
 *
 * By default the port is open before the model is loaded, and requests are answered 503. `late`
 * opens it only when the model is ready: replicas of a deployment have it, so that one that was
 * restarted in its place gets no requests before. */
static int server_live(struct server *s, struct loading *g, bool *ret_stuck, struct err *err)
{
    int64_t start = loop_now(s->loop);
    size_t warmed = 0;
    int r = server_open(s, g, err);

    if (r == 0 && !(s->o->late && s->o->model))
        r = server_open_port(s, err);
    if (r < 0)
        return r;
    if (s->o->model) {
        s->load_deadline = loop_in(s->loop, s->o->load_ms);
        r = server_load(s, g, err);
        *ret_stuck = !g->done;
        if (r == 0)
            r = server_prepare(s, &warmed, err);
        if (r == 0 && !s->http)
            r = server_open_port(s, err);
        if (r == 0)
            tell(s, s->o->on_ready, loop_now(s->loop) - start, warmed);
    }
    if (r == 0)
        r = server_wait(s);
    if (r != -ECANCELED || *ret_stuck || !s->http)
        return r;
    return server_drain(s, err);
}

/* A library that hangs while it loads or runs cannot be stopped, and may use `s` and `g` at any
 * moment: then neither is freed, and the caller has to end the process. */
int server_run(struct loop *l, const struct server_options *o, bool *ret_stuck, struct err *err)
{
    struct server *s = calloc(1, sizeof(*s));
    struct loading *g = calloc(1, sizeof(*g));
    int r;

    *ret_stuck = false;
    if (!s || !g) {
        free(s);
        free(g);
        return err_oom(err);
    }
    *s = (struct server){ .loop = l,
                          .o = o,
                          .log = { .fd = -1 },
                          .memory = { .max = o->memory_max },
                          .started_id = (uint64_t)loop_wall() ^ (uint64_t)getpid() << 44,
                          .served = { .name = "ydl", .version = YDL_VERSION, .live = true } };
    *g = (struct loading){ .server = s };
    metrics_init(&s->metrics);
    r = server_live(s, g, ret_stuck, err);
    *ret_stuck |= s->batcher && batcher_running(s->batcher) > 0;
    if (*ret_stuck)
        return r;
    server_done(s);
    free(g);
    return r;
}
