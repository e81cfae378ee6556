/* gateway_servers.c - HAProxy's servers are made to be those of the spec, by its run-time API. */
#include "base/array.h"
#include "serve/gateway/gateway_private.h"
#include "serve/gateway/haproxy_grpc.h"
#include "serve/gateway/haproxy_runtime.h"
#include "serve/gateway/reconcile.h"

#include <string.h>

/* ---- looking ---- */

static int servers_table(struct gateway *g, const char *command, char separator,
                         struct haproxy_table *ret, struct err *err)
{
    AUTO_BUF text = { .max = HAPROXY_ANSWER_MAX };
    int r = haproxy_ask(g->loop, haproxy_socket(g->now.haproxy), command, &text, err);

    return r < 0 ? r : haproxy_table_parse(text.data, text.len, separator, ret, err);
}

int gateway_look(struct gateway *g, struct err *err)
{
    struct gateway_view v = { 0 };
    int r = servers_table(g, "show servers state", ' ', &v.state, err);

    if (r == 0)
        r = servers_table(g, "show stat", ',', &v.stat, err);
    if (r == 0)
        r = haproxy_servers(&v.state, &v.stat, &v.servers, &v.n, err);
    if (r == 0) {
        struct gateway_view before = g->view;

        haproxy_servers_join(v.servers, v.n);
        g->view = v;
        g->looked = loop_now(g->loop);
        v = before;
    }
    haproxy_table_done(&v.state);
    haproxy_table_done(&v.stat);
    free(v.servers);
    return r;
}

bool gateway_is_drained(const struct gateway *g, const char *address)
{
    return strs_has(&g->drained, address);
}

/* ---- what there should be ---- */

/* A version has one for HTTP/1.1, and may have one for gRPC. */
#define MOST_BACKENDS (2 * GATEWAY_MODELS * GATEWAY_VERSIONS)

struct wanted {
    struct reconcile_wanted *v;
    size_t n;
    char (*backends)[HAPROXY_BACKEND];
};

static int servers_of(struct gateway *g, struct gateway_model *m, const struct gateway_version *v,
                      const char *backend, struct wanted *w)
{
    int r = 0;

    for (size_t j = 0; j < v->n && r == 0; j++) {
        const struct gateway_replica *x = &v->replicas[j];

        r = ARRAY_ADD(w->v, w->n,
                      (struct reconcile_wanted){
                          .backend = backend,
                          .name = x->address,
                          .weight = x->weight,
                          .drain = gateway_is_drained(g, x->address),
                          .owner = m,
                      });
    }
    return r;
}

static int servers_list(struct gateway *g, struct wanted *w)
{
    size_t backends = 0;
    int r = 0;

    w->backends = calloc(MOST_BACKENDS, sizeof(*w->backends));
    if (!w->backends)
        return -ENOMEM;
    for (size_t i = 0; i < g->spec->n; i++)
        for (size_t k = 0; k < g->spec->models[i].n && r == 0; k++) {
            struct gateway_model *m = &g->spec->models[i];
            const struct gateway_version *v = &m->versions[k];

            r = servers_of(g, m, v, haproxy_backend(w->backends[backends++], m, v->number), w);
            if (r == 0 && v->grpc)
                r = servers_of(g, m, v, haproxy_grpc_backend(w->backends[backends++], m, v->number),
                               w);
        }
    return r;
}

/* Series of what left the spec are dropped: a replica's, and with an empty name a version's own. */
static int servers_is_wanted(void *user, const char *backend, const char *server)
{
    const struct wanted *w = user;

    for (size_t i = 0; i < w->n; i++)
        if (str_eq(w->v[i].backend, backend) && str_eq(w->v[i].name, server))
            return 1;
    if (!*server)
        for (size_t i = 0; i < MOST_BACKENDS && w->backends[i][0]; i++)
            if (str_eq(w->backends[i], backend))
                return 1;
    return 0;
}

static int servers_count(struct gateway *g, struct wanted *w)
{
    int64_t now = loop_now(g->loop);
    int r = 0;

    traffic_keep(g->traffic, servers_is_wanted, w);
    for (size_t i = 0; i < MOST_BACKENDS && w->backends[i][0] && r == 0; i++)
        if (!haproxy_grpc_beside(w->backends[i]))
            r = traffic_declare(g->traffic, w->backends[i], "", now);
    for (size_t i = 0; i < w->n && r == 0; i++)
        if (!haproxy_grpc_beside(w->v[i].backend))
            r = traffic_declare(g->traffic, w->v[i].backend, w->v[i].name, now);
    return r;
}

static int servers_declare(struct gateway *g, struct wanted *w, struct err *err)
{
    int r = servers_list(g, w);

    if (r == 0)
        r = servers_count(g, w);
    return r < 0 ? err_oom(err) : 0;
}

int gateway_declare(struct gateway *g, struct err *err)
{
    struct wanted w = { 0 };
    int r = servers_declare(g, &w, err);

    free(w.v);
    free(w.backends);
    return r;
}

/* ---- doing it ---- */

/* It comes into service with the weight 0 and as not healthy, so that it gets its first request
 * when its first check says that it is ready, and not before. */
#define READY                                                                                      \
    "enable health %s/%s; set server %s/%s state ready; set server %s/%s health down; "            \
    "set server %s/%s weight %u"

static int servers_ready(struct gateway *g, const struct reconcile_step *s, const char *words,
                         struct err *err)
{
    const char *socket = haproxy_socket(g->now.haproxy), *b = s->backend, *n = s->name;
    unsigned weight = s->wanted->drain ? 0 : s->wanted->weight;

    if (words)
        return haproxy_tell(g->loop, socket, err, "add server %s/%s %s %s; " READY, b, n, n, words,
                            b, n, b, n, b, n, b, n, weight);
    return haproxy_tell(g->loop, socket, err, READY, b, n, b, n, b, n, b, n, weight);
}

/* Each step is one line of commands, and HAProxy does the rest of a line when one of them failed.
 * The next look starts from what it finds then: a server that was added and not enabled is in
 * maintenance, which is RECONCILE_READY's case.
 *
 * A server is deleted only in maintenance, where HAProxy's idle connections to it are closed too.
 * `del server` is refused until they are gone. */
static int servers_step(struct gateway *g, const struct reconcile_step *s, struct err *err)
{
    const char *socket = haproxy_socket(g->now.haproxy), *b = s->backend, *n = s->name;
    AUTO_BUF words = { .max = KIB };

    switch (s->action) {
    case RECONCILE_ADD:
        if (haproxy_server_words(&words, s->wanted->owner, b, 0) < 0 || !buf_text(&words))
            return err_oom(err);
        return servers_ready(g, s, buf_text(&words), err);
    case RECONCILE_READY:
        return servers_ready(g, s, NULL, err);
    case RECONCILE_WEIGHT:
        return haproxy_tell(g->loop, socket, err, "set server %s/%s weight %u", b, n,
                            s->wanted->weight);
    case RECONCILE_DRAIN:
        return haproxy_tell(g->loop, socket, err, "set server %s/%s state drain", b, n);
    case RECONCILE_UNDRAIN:
        return haproxy_tell(g->loop, socket, err, "set server %s/%s state ready", b, n);
    case RECONCILE_CUT:
        return haproxy_tell(g->loop, socket, err, "shutdown sessions server %s/%s", b, n);
    default:
        return haproxy_tell(g->loop, socket, err, "set server %s/%s state maint; del server %s/%s",
                            b, n, b, n);
    }
}

static const char *const action_names[RECONCILE_ACTIONS_] = {
    "add", "start", "weigh", "drain", "undrain", "cut off", "delete",
};

static int servers_do(struct gateway *g, const struct reconcile_step *steps, size_t n,
                      struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct err why = ERR_INIT;
        int r = servers_step(g, &steps[i], &why);

        trace(LOG_MAIN, "gateway: %s %s/%s: %s", action_names[steps[i].action], steps[i].backend,
              steps[i].name, r < 0 ? why.text : "done");
        /* Refused for now, as is a server whose idle connections are not closed yet: the next look
         * tries again. */
        if (r < 0 && r != -EREMOTEIO) {
            *err = why;
            return r;
        }
    }
    return 0;
}

int gateway_servers(struct gateway *g, struct err *err)
{
    AUTO_FREE struct reconcile_step *steps = NULL;
    struct wanted w = { 0 };
    struct reconcile_input in = { .found = g->view.servers,
                                  .n_found = g->view.n,
                                  .drain_ms = g->spec->drain_ms };
    bool waiting = false;
    size_t n = 0;
    int r = servers_declare(g, &w, err);

    in.wanted = w.v;
    in.n_wanted = w.n;
    if (r == 0)
        r = reconcile(&in, &steps, &n, &waiting, err);
    if (r == 0)
        r = servers_do(g, steps, n, err);
    if (r == 0)
        g->settled = n == 0 && !waiting && g->n_leaving == 0;
    free(w.v);
    free(w.backends);
    return r;
}
