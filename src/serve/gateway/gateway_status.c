/* gateway_status.c - what `status` answers: for each version and replica its state, and what went
 * through it in the last minute. */
#include "serve/gateway/gateway_private.h"
#include "serve/gateway/haproxy_grpc.h"

#include <string.h>

#define ROUND_MS(us) ((double)((us) / 10) / 100.0)

static int status_traffic(struct gateway *g, const char *backend, const char *server, json_t *into,
                          struct err *err)
{
    AUTO_FREE struct traffic_sum *s = calloc(1, sizeof(*s));
    double seconds;
    json_t *v = NULL;
    int r;

    if (!s)
        return err_oom(err);
    (void)traffic_recent(g->traffic, backend, server, loop_now(g->loop), s);
    seconds = s->span_ms > 0 ? (double)s->span_ms / 1000.0 : 1.0;
    r = json_make(&v, err, "{s:I,s:I,s:I,s:f,s:f,s:f}", "requests", (json_int_t)s->requests,
                  "errors", (json_int_t)s->errors, "retried", (json_int_t)s->retried,
                  "requests_per_second", (double)s->requests / seconds, "p50_ms",
                  ROUND_MS(histogram_quantile(&s->times, 500)), "p99_ms",
                  ROUND_MS(histogram_quantile(&s->times, 990)));
    if (r == 0 && json_object_update(into, v) < 0)
        r = err_oom(err);
    json_decref(v);
    return r;
}

/*     absent       HAProxy has no server for it, or has it in maintenance: not yet, or no longer
 *     not ready    its health is asked for, and it does not say that it is ready
 *     ready        it gets requests
 *     draining     no new ones; it, or an old process of HAProxy, may have some still
 *     drained      nothing is left: it can be stopped */
static const char *status_state(const struct gateway *g, const struct haproxy_server *s)
{
    if (!s || s->maintenance)
        return "absent";
    if (s->draining)
        return s->in_use > 0 || g->n_leaving > 0 ? "draining" : "drained";
    return s->up ? "ready" : "not ready";
}

static int status_replica(struct gateway *g, const char *backend, const struct gateway_replica *x,
                          json_t *list, struct err *err)
{
    const struct haproxy_server *s = gateway_server(g, backend, x->address);
    AUTO_JSON *v = NULL;
    int r = json_make(&v, err, "{s:s,s:s,s:s,s:I}", "name", x->name, "address", x->address, "state",
                      status_state(g, s), "in_flight", s ? (json_int_t)s->in_use : (json_int_t)0);

    if (r == 0)
        r = status_traffic(g, backend, x->address, v, err);
    if (r == 0 && json_array_append(list, v) < 0)
        r = err_oom(err);
    return r;
}

/* Servers that are not in the spec any more, and not gone yet. */
static int status_leaving(struct gateway *g, const struct gateway_version *v, const char *backend,
                          json_t *list, struct err *err)
{
    for (size_t i = 0; i < g->view.n; i++) {
        const struct haproxy_server *s = &g->view.servers[i];
        bool known = !str_eq(s->backend, backend);
        json_t *one = NULL;
        int r;

        for (size_t k = 0; k < v->n && !known; k++)
            known = str_eq(v->replicas[k].address, s->name);
        if (known)
            continue;
        r = json_make(&one, err, "{s:s,s:s,s:s,s:I}", "name", s->name, "address", s->name, "state",
                      "leaving", "in_flight", (json_int_t)s->in_use);
        if (r < 0)
            return r;
        if (json_array_append_new(list, one) < 0)
            return err_oom(err);
    }
    return 0;
}

/* Requests for which no replica has room yet. */
static int64_t status_waiting(const struct gateway *g, const struct gateway_model *m,
                              const struct gateway_version *v)
{
    char backend[HAPROXY_BACKEND];
    int64_t n = haproxy_waiting(&g->view.stat, haproxy_backend(backend, m, v->number));

    if (v->grpc)
        n += haproxy_waiting(&g->view.stat, haproxy_grpc_backend(backend, m, v->number));
    return n;
}

static int status_version(struct gateway *g, const struct gateway_model *m,
                          const struct gateway_version *v, json_t *list, struct err *err)
{
    char backend[HAPROXY_BACKEND];
    AUTO_JSON *one = NULL;
    AUTO_JSON *replicas = json_array();
    int r;

    (void)haproxy_backend(backend, m, v->number);
    r = replicas ? json_make(&one, err, "{s:I,s:i,s:I}", "version", (json_int_t)v->number, "ready",
                             (int)gateway_up(g, m->name, v->number), "waiting",
                             (json_int_t)status_waiting(g, m, v))
                 : err_oom(err);
    if (r == 0)
        r = status_traffic(g, backend, "", one, err);
    for (size_t i = 0; i < v->n && r == 0; i++)
        r = status_replica(g, backend, &v->replicas[i], replicas, err);
    if (r == 0)
        r = status_leaving(g, v, backend, replicas, err);
    if (r == 0 &&
        (json_object_set(one, "replicas", replicas) < 0 || json_array_append(list, one) < 0))
        r = err_oom(err);
    return r;
}

static int status_model(struct gateway *g, size_t at, json_t *list, struct err *err)
{
    const struct gateway_model *m = &g->spec->models[at];
    const struct gateway_route *t = &g->routes[at];
    AUTO_JSON *one = NULL;
    AUTO_JSON *versions = json_array();
    int r = versions ? json_make(&one, err, "{s:s,s:I}", "name", m->name, "serves",
                                 (json_int_t)t->version)
                     : err_oom(err);

    for (size_t i = 0; i < m->n && r == 0; i++)
        r = status_version(g, m, &m->versions[i], versions, err);
    if (r == 0 && t->canary) {
        json_t *canary = NULL;

        r = json_make(&canary, err, "{s:I,s:f,s:s,s:s}", "version", (json_int_t)t->canary,
                      "percent", t->percent / 100.0, "state",
                      t->rolling ? rollout_state_name(t->rollout.state) : "manual", "why",
                      t->rolling ? t->rollout.why : "");
        if (r == 0 && json_object_set_new(one, "canary", canary) < 0)
            r = err_oom(err);
    }
    if (r == 0 &&
        (json_object_set(one, "versions", versions) < 0 || json_array_append(list, one) < 0))
        r = err_oom(err);
    return r;
}

/* `age_ms` says how old all this is: who decides by a status that HAProxy has not confirmed for
 * long would decide by a memory. */
int gateway_status_json(struct gateway *g, json_t **ret, struct err *err)
{
    AUTO_JSON *models = json_array();
    int r = models ? 0 : err_oom(err);

    for (size_t i = 0; i < g->spec->n && r == 0; i++)
        r = status_model(g, i, models, err);
    if (r < 0)
        return r;
    return json_make(ret, err, "{s:b,s:s,s:i,s:b,s:b,s:I,s:{s:i,s:i,s:i,s:i},s:O}", "ok", 1, "host",
                     g->spec->host, "port", g->port, "tls", g->spec->certificate != NULL, "settled",
                     (int)g->settled, "age_ms",
                     (json_int_t)(g->looked ? loop_now(g->loop) - g->looked : -1), "haproxy", "pid",
                     g->now.haproxy ? (int)haproxy_pid(g->now.haproxy) : 0, "restarts",
                     (int)g->restarts, "reloads", (int)g->reloads, "leaving", (int)g->n_leaving,
                     "models", models);
}
