/* gateway_routes.c - which version a model's requests go to.
 *
 * A version gets requests only while one of its replicas is up. A rollout decides over the canary's
 * share, and takes the place of the spec's own version when it is good. */
#include "serve/gateway/gateway_private.h"
#include "serve/gateway/haproxy_runtime.h"

#include <stdio.h>
#include <string.h>

#define LOST_MS 3000 /* without a replica: a restart in place is shorter */

const struct haproxy_server *gateway_server(const struct gateway *g, const char *backend,
                                            const char *address)
{
    for (size_t i = 0; i < g->view.n; i++)
        if (str_eq(g->view.servers[i].name, address) && str_eq(g->view.servers[i].backend, backend))
            return &g->view.servers[i];
    return NULL;
}

unsigned gateway_up(const struct gateway *g, const char *model, int64_t version)
{
    char backend[HAPROXY_BACKEND];
    unsigned n = 0;

    (void)snprintf(backend, sizeof(backend), "%s:%lld", model, (long long)version);
    for (size_t i = 0; i < g->view.n; i++)
        n += g->view.servers[i].up && !g->view.servers[i].draining &&
             g->view.servers[i].weight > 0 && str_eq(g->view.servers[i].backend, backend);
    return n;
}

/* ---- from a spec ---- */

/* What is remembered of a model over an `apply`: the version that answers now, and a rollout of the
 * same canary with all that was counted. A rollout of another version begins anew. */
static void routes_keep(struct gateway_route *t, const struct gateway_route *before,
                        const struct gateway_model *m)
{
    if (gateway_spec_version(m, before->version))
        t->version = before->version; /* until the one that is asked for is up */
    if (m->canary && m->canary == before->canary && before->rolling) {
        t->rolling = m->watch.automatic;
        t->rollout = before->rollout;
        t->rollout.percent = m->percent;
        t->before = before->before;
        t->before_refused = before->before_refused;
        t->lost_since = before->lost_since;
        t->percent = before->percent;
    }
}

int gateway_routes_make(const struct gateway *g, const struct gateway_spec *spec,
                        struct gateway_route **ret, struct err *err)
{
    AUTO_FREE struct gateway_route *v = calloc(spec->n + 1, sizeof(*v));

    if (!v)
        return err_oom(err);
    for (size_t i = 0; i < spec->n; i++) {
        const struct gateway_model *m = &spec->models[i];
        struct gateway_route *t = &v[i];

        memcpy(t->model, m->name, sizeof(t->model));
        t->version = m->serve;
        t->canary = m->canary;
        for (size_t k = 0; g->routes && k < g->spec->n; k++)
            if (str_eq(g->routes[k].model, m->name))
                routes_keep(t, &g->routes[k], m);
        if (m->canary && m->watch.automatic && !t->rolling) {
            rollout_begin(&t->rollout, m->percent);
            t->rolling = true;
        }
    }
    *ret = take(v);
    return 0;
}

/* ---- rollouts ---- */

static void routes_event(struct gateway *g, struct gateway_route *t, enum rollout_event e,
                         const char *why)
{
    struct err err = ERR_INIT;

    if (rollout_step(&t->rollout, e, why, &err) < 0) {
        trace(LOG_MAIN, "gateway: %s, ignoring", err.text);
        return;
    }
    gateway_note(g, "%s: version %lld is %s: %s", t->model, (long long)t->canary,
                 rollout_state_name(t->rollout.state), why);
}

static int64_t routes_in_use(const struct gateway *g, const char *backend)
{
    int64_t n = 0;

    for (size_t i = 0; i < g->view.n; i++)
        if (str_eq(g->view.servers[i].backend, backend))
            n += g->view.servers[i].in_use;
    return n;
}

/* Both versions are counted from the same moment on. */
static void routes_mark(struct gateway *g, const char *old_version, const char *new_version)
{
    int64_t now = loop_now(g->loop);

    traffic_mark(g->traffic, old_version, now);
    traffic_mark(g->traffic, new_version, now);
}

/* What clients did before: some of their requests are wrong at all times. */
static void routes_remember(struct gateway *g, struct gateway_route *t, const char *old_version)
{
    AUTO_FREE struct traffic_sum *s = calloc(1, sizeof(*s));

    if (!s || traffic_recent(g->traffic, old_version, "", loop_now(g->loop), s) < 0)
        return;
    t->before = s->requests;
    t->before_refused = s->refused;
}

/*     WATCHING   good ──► SHIFTED, and both are counted anew: the same number of requests
 *                         again, now with all of the load
 *     SHIFTED    good ──► DONE, but only when nothing is left on the old version and on
 *                         processes of earlier reloads, which may still use it
 *     both       bad  ──► RETURNED */
static void routes_judge(struct gateway *g, struct gateway_route *t, const struct gateway_model *m)
{
    char old_version[HAPROXY_BACKEND], new_version[HAPROXY_BACKEND], why[160] = "";
    int64_t now = loop_now(g->loop);
    enum rollout_state state = t->rollout.state;
    enum rollout_event e = ROLLOUT_BAD;
    AUTO_FREE struct traffic_sum *o = calloc(2, sizeof(*o));
    const struct rollout_numbers x = { o, o + 1, t->before, t->before_refused };

    (void)haproxy_backend(old_version, m, m->serve);
    (void)haproxy_backend(new_version, m, m->canary);
    if (!o || traffic_marked(g->traffic, old_version, now, &o[0]) < 0 ||
        traffic_marked(g->traffic, new_version, now, &o[1]) < 0 ||
        !rollout_judge(&m->watch, &x, &e, why))
        return;
    if (state == ROLLOUT_SHIFTED && e == ROLLOUT_GOOD) {
        if (routes_in_use(g, old_version) == 0 && g->n_leaving == 0)
            routes_event(g, t, ROLLOUT_DRAINED, why);
        return;
    }
    routes_event(g, t, e, why);
    routes_mark(g, old_version, new_version);
}

static void routes_roll(struct gateway *g, struct gateway_route *t, const struct gateway_model *m)
{
    char old_version[HAPROXY_BACKEND], new_version[HAPROXY_BACKEND];
    int64_t now = loop_now(g->loop);
    bool up = gateway_up(g, t->model, t->canary) > 0;

    if (rollout_over(&t->rollout))
        return;
    if (up)
        t->lost_since = 0;
    else if (t->lost_since == 0)
        t->lost_since = now;
    if (t->rollout.state == ROLLOUT_WARMING) {
        if (!up && now - t->lost_since >= m->watch.ready_ms)
            routes_event(g, t, ROLLOUT_LOST, "no replica of it was ready within ready_time");
        if (!up)
            return;
        routes_remember(g, t, haproxy_backend(old_version, m, m->serve));
        routes_mark(g, old_version, haproxy_backend(new_version, m, m->canary));
        routes_event(g, t, ROLLOUT_READY, "a replica is ready");
        return;
    }
    if (!up && now - t->lost_since >= LOST_MS)
        routes_event(g, t, ROLLOUT_LOST, "it has no replica that is ready any more");
    else
        routes_judge(g, t, m);
}

/* ---- choosing ---- */

/* A version that is SHIFTED or DONE has the place of the served one, and no share: requests come to
 * it by route.map. It takes that place only if one of its replicas is up, or nothing else is: then
 * it does not matter, and the 503 names the version that was asked for. */
static void routes_choose(struct gateway *g, struct gateway_route *t, const struct gateway_model *m)
{
    unsigned share = t->rolling ? rollout_share(&t->rollout) : m->percent;
    int64_t version = m->serve;
    bool canary_up = t->canary && gateway_up(g, t->model, t->canary) > 0;

    if (t->rolling && share == GATEWAY_HUNDRED && t->rollout.state != ROLLOUT_WATCHING) {
        version = t->canary;
        share = 0;
    }
    if (version == t->version || gateway_up(g, t->model, version) > 0 ||
        gateway_up(g, t->model, t->version) == 0)
        t->version = version;
    t->percent = canary_up ? share : 0;
}

void gateway_routes_step(struct gateway *g)
{
    for (size_t i = 0; i < g->spec->n; i++) {
        if (g->routes[i].rolling)
            routes_roll(g, &g->routes[i], &g->spec->models[i]);
        routes_choose(g, &g->routes[i], &g->spec->models[i]);
    }
}

static int routes_set(struct gateway *g, const struct gateway_route *t, const char *map,
                      int64_t version, struct err *err)
{
    return haproxy_tell(g->loop, haproxy_socket(g->now.haproxy), err,
                        "set map %s/%s.map %s %s:%lld", g->now.dir, map, t->model, t->model,
                        (long long)version);
}

/* The maps of a new process say something else than those of the one before, so each look compares
 * with what HAProxy itself was told.
 *
 * The share comes last. A share above 0 must find its canary in the map; and when a new version has
 * become the served one, a share that is set to 0 before the route would send requests back to the
 * old one for a moment. */
static int routes_tell(struct gateway *g, struct gateway_route *t, struct err *err)
{
    int64_t canary = t->canary ? t->canary : t->version;
    int r = 0;

    if (t->told_canary != canary) {
        r = routes_set(g, t, "canary", canary, err);
        t->told_canary = r == 0 ? canary : 0;
    }
    if (r == 0 && t->told_version != t->version) {
        r = routes_set(g, t, "route", t->version, err);
        t->told_version = r == 0 ? t->version : 0;
    }
    if (r == 0 && t->told_percent != t->percent + 1) {
        r = haproxy_tell(g->loop, haproxy_socket(g->now.haproxy), err,
                         "set map %s/percent.map %s %u", g->now.dir, t->model, t->percent);
        t->told_percent = r == 0 ? t->percent + 1 : 0; /* 0: it may have anything */
    }
    return r;
}

int gateway_routes_tell(struct gateway *g, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < g->spec->n && r == 0; i++)
        r = routes_tell(g, &g->routes[i], err);
    return r;
}
