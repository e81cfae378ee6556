/* command_server.c - the life of the server, and what it counts and writes of each request. See
 * command_server.h. */
#include "serve/command/command_server.h"
#include "loop/fiber.h"
#include "loop/listen.h"
#include "serve/command/command_proxy.h"
#include "serve/command/upstream.h"
#include "serve/engine/access_log.h"
#include "serve/engine/descriptors.h"
#include "serve/engine/metrics.h"
#include "serve/engine/server_key.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

#define LAST_MS 250  /* in which a connection may still ask a last request */
#define END_MS 5000  /* for the program, after SIGTERM */
#define FILES_EACH 3 /* the client's, one that watches it, the program's */
#define METRICS_MAX (256 * KIB)
#define ID_MAX 128

struct command_server {
    struct loop *loop;
    const struct server_options *o;
    const struct command_spec *spec;
    const char *name;
    struct command_process *process;
    struct command_proxy proxy;
    struct http_server *http;
    char url[128];
    struct key_set keys;
    struct budget memory;
    struct metrics metrics;
    struct access_log log;
    bool draining;
    size_t in_flight;
    uint64_t started_id, requests; /* make request ids */
};

struct turn {
    struct command_server *server;
    struct http_call *call;
    char id[ID_MAX + 1];
    const char *operation;
    int64_t began_ns;
    struct command_passed passed;
};

typedef int page_fn(struct turn *t, struct err *err);

static int64_t version_of(const struct command_server *s)
{
    return s->o->version ? s->o->version : s->spec->version;
}

/* ---- pages of its own ---- */

static int health_page(struct turn *t, struct err *err)
{
    const struct command_server *s = t->server;
    bool live = strcmp(http_path(t->call), "/v2/health/live") == 0;
    bool yes = live || (command_process_ready(s->process) && !s->draining);
    char text[40];
    int n = snprintf(text, sizeof(text), "{\"%s\":%s}", live ? "live" : "ready",
                     yes ? "true" : "false");

    t->operation = live ? "live" : "ready";
    t->passed.status = yes ? 200 : 503;
    return http_reply(t->call, t->passed.status, "application/json", text, (size_t)n, err);
}

static int metrics_page(struct turn *t, struct err *err)
{
    const struct command_server *s = t->server;
    const struct metrics_now now = { .model = s->name,
                                     .backend = "command",
                                     .library = s->spec->words.v[0],
                                     .version = version_of(s),
                                     .ready = command_process_ready(s->process) && !s->draining,
                                     .running = s->in_flight,
                                     .connections = http_server_open(s->http),
                                     .body_bytes = s->memory.used };
    AUTO_BUF out = { .max = METRICS_MAX };
    int r = metrics_print(&s->metrics, &now, &out);

    t->operation = "other";
    t->passed.status = 200;
    if (r < 0)
        return err_set(err, r, "the metrics have no room");
    return http_reply(t->call, 200, "text/plain; version=0.0.4; charset=utf-8", out.data, out.len,
                      err);
}

static int version_page(struct turn *t, struct err *err)
{
    static const char text[] = "{\"error\":\"This version is not served here.\"}\n";

    t->operation = "ready";
    t->passed.status = 404;
    return http_reply(t->call, 404, "application/json", text, sizeof(text) - 1, err);
}

/* As the Open Inference Protocol asks it, and gateways do; NULL: it is another path. A program that
 * answers any path must not seem to be another version.
 *
 *     /v2/models/NAME/ready               ours: is it ready?
 *     /v2/models/NAME/versions/7/ready    ours, with the number of this version; 404 for others
 *     anything else                       the program's */
static page_fn *ready_page(const struct command_server *s, const char *path)
{
    static const char begin[] = "/v2/models/", versions[] = "/versions/";
    char own[32];
    size_t n = strlen(s->name);

    if (!str_starts(path, begin) || strncmp(path + strlen(begin), s->name, n) != 0)
        return NULL;
    path += strlen(begin) + n;
    if (strcmp(path, "/ready") == 0)
        return health_page;
    if (!str_starts(path, versions))
        return NULL;
    path += strlen(versions);
    (void)snprintf(own, sizeof(own), "%lld/ready", (long long)version_of(s));
    if (strcmp(path, own) == 0)
        return health_page;
    n = strspn(path, "0123456789");
    return n > 0 && strcmp(path + n, "/ready") == 0 ? version_page : NULL;
}

static const struct {
    const char *path;
    page_fn *fn;
} pages[] = {
    { "/v2/health/live", health_page },
    { "/v2/health/ready", health_page },
    { "/monitoring/prometheus/metrics", metrics_page },
};

/* ---- a request ---- */

static int too_many(struct turn *t, struct err *err)
{
    static const char text[] = "{\"error\":\"too many requests are in flight\"}\n";
    int r = http_reply_header(t->call, "Retry-After", "1", err);

    t->passed.status = 429;
    return r < 0 ? r : http_reply(t->call, 429, "application/json", text, sizeof(text) - 1, err);
}

static int ask_for_key(struct turn *t, struct err *err)
{
    t->operation = "other";
    t->passed.status = 401;
    return server_key_ask(t->call, err);
}

/* There is no queue here: what is passed on waits in the program. --queue limits how much that is.
 */
static int pass_on(struct turn *t, struct err *err)
{
    struct command_server *s = t->server;
    int r;

    t->operation = "predict";
    if (s->in_flight >= s->o->queue_max)
        return too_many(t, err);
    s->in_flight++;
    r = command_proxy_pass(&s->proxy, t->call, t->id, &t->passed, err);
    s->in_flight--;
    metrics_count(&s->metrics.request, (double)((int64_t)uv_hrtime() - t->began_ns) / 1e9);
    return r;
}

static void account(const struct turn *t, int r)
{
    struct command_server *s = t->server;
    int status = t->passed.status ? t->passed.status : r == -ECANCELED ? 503 : 500;
    const struct access_line line = {
        .id = t->id,
        .from = sock_peer_ip(stream_sock(http_stream(t->call))),
        .method = http_method(t->call),
        .target = http_raw(t->call),
        .status = status,
        .in = t->passed.in,
        .out = t->passed.out,
        .total_ns = (int64_t)uv_hrtime() - t->began_ns,
    };

    metrics_answer(&s->metrics, t->operation, status);
    access_log_write(&s->log, &line);
}

/* A client's own id is taken over only when it can stand in a log line and in a header as it is. */
static void choose_id(struct command_server *s, const char *asked, char out[ID_MAX + 1])
{
    static const char good[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+=@";
    size_t n = asked ? strspn(asked, good) : 0;

    if (n > 0 && n <= ID_MAX && asked[n] == '\0')
        (void)snprintf(out, ID_MAX + 1, "%s", asked);
    else
        (void)snprintf(out, ID_MAX + 1, "%llx-%llu", (unsigned long long)s->started_id,
                       (unsigned long long)++s->requests);
}

/* The key counts whatever was chosen, but for the few paths that server_key.c leaves open. The id
 * goes into the answer before anything is done, so that refusals have one as well.
 */
static int on_request(void *user, struct http_call *c, struct err *err)
{
    struct turn t = { .server = user, .call = c, .began_ns = (int64_t)uv_hrtime() };
    page_fn *fn = ready_page(t.server, http_path(c));
    int r;

    choose_id(t.server, http_header(c, "x-request-id"), t.id);
    for (size_t i = 0; i < COUNT_OF(pages); i++)
        if (strcmp(http_path(c), pages[i].path) == 0)
            fn = pages[i].fn;
    if (!fn)
        fn = pass_on;
    if (!server_key_shown(&t.server->keys, c))
        fn = ask_for_key;
    r = http_reply_header(c, "x-request-id", t.id, err);
    if (r == 0)
        r = fn(&t, err);
    account(&t, r);
    return r;
}

/* ---- its life ---- */

static int server_listen(struct command_server *s, struct err *err)
{
    const struct server_options *o = s->o;
    struct http_server_options h = { .loop = s->loop,
                                     .fd = -1,
                                     .name = "serve",
                                     .handler = on_request,
                                     .user = s,
                                     .bare_errors = true };
    int port = 0;
    int r = listen_tcp(o->host, o->port, o->port, &h.fd, &port, err);

    if (r < 0)
        return r;
    (void)snprintf(s->url, sizeof(s->url), strchr(o->host, ':') ? "http://[%s]:%d" : "http://%s:%d",
                   o->host, port);
    h.limits = (struct http_limits){ .body_max = UINT64_MAX - 1, /* the proxy has its own */
                                     .connections_max = descriptors_room(
                                         o->connections_max, FILES_EACH, UPSTREAM_IDLE_MAX),
                                     .header_ms = o->header_ms,
                                     .body_ms = o->body_ms,
                                     .idle_ms = o->idle_ms };
    r = http_server_start(&h, &s->http, err);
    if (r == 0 && o->on_listening)
        o->on_listening(o->user, &(const struct server_told){ .url = s->url });
    return r;
}

static void server_tell_ready(struct command_server *s, int64_t began)
{
    const struct server_told t = { .url = s->url,
                                   .model = s->name,
                                   .version = version_of(s),
                                   .backend = "command",
                                   .library = s->spec->words.v[0],
                                   .library_version = "",
                                   .load_ms = loop_now(s->loop) - began };

    if (s->o->on_ready)
        s->o->on_ready(s->o->user, &t);
}

static int server_wait(struct command_server *s)
{
    struct cond never = { 0 };

    return cond_wait(s->loop, &never, LOOP_NEVER);
}

static int server_drain(struct command_server *s, struct err *err)
{
    int r;

    s->draining = true;
    fiber_shield(s->loop, true); /* we are cancelled already; a second signal ends the process */
    r = http_server_drain(s->http, LAST_MS, loop_in(s->loop, s->o->grace_ms));
    if (r < 0)
        r = err_set(err, -ETIMEDOUT, "%zu connections were cut off when --grace was over",
                    http_server_open(s->http));
    fiber_shield(s->loop, false);
    return r;
}

/* Without --late the port is open before the program runs, and answers 503 until it is ready; with
 * it the port opens only then, for balancers that take a port that answers as one that is ready.
 *
 * The program is stopped (command_server_run) after the last request was drained: it answers them.
 */
static int server_live(struct command_server *s, struct err *err)
{
    const struct command_process_options p = {
        .loop = s->loop, .spec = s->spec, .load_ms = s->o->load_ms, .grace_ms = END_MS
    };
    int64_t began = loop_now(s->loop);
    int r = access_log_open(&s->log, s->o->access_log, err);

    if (r == 0 && s->o->key_file)
        r = key_set_read(s->o->key_file, &s->keys, err);
    s->proxy.keyed = s->keys.n > 0;
    if (r == 0 && !s->o->late)
        r = server_listen(s, err);
    if (r == 0)
        r = command_process_start(&p, &s->process, err);
    if (r < 0)
        return r;
    s->proxy.process = s->process;
    if (!s->http)
        r = server_listen(s, err);
    if (r < 0)
        return r;
    server_tell_ready(s, began);
    r = server_wait(s);
    return r == -ECANCELED ? server_drain(s, err) : r;
}

int command_server_run(struct loop *l, const struct server_options *o, const struct command_spec *m,
                       struct err *err)
{
    struct command_server s = { .loop = l,
                                .o = o,
                                .spec = m,
                                .name = o->name ? o->name : m->name,
                                .log = { .fd = -1 },
                                .memory = { .max = o->memory_max },
                                .started_id = (uint64_t)loop_wall() ^ (uint64_t)getpid() << 44 };
    int r;

    s.proxy = (struct command_proxy){
        .loop = l, .memory = &s.memory, .body_max = o->body_max, .wait_ms = o->deadline_ms
    };
    metrics_init(&s.metrics);
    r = server_live(&s, err);
    fiber_shield(l, true);
    s.http = http_server_stop(s.http);
    command_proxy_done(&s.proxy);
    s.process = command_process_stop(s.process);
    fiber_shield(l, false);
    metrics_done(&s.metrics);
    access_log_close(&s.log);
    key_set_done(&s.keys);
    return r;
}
