/* gateway_apply.c - from a spec to a running HAProxy.
 *
 * Each process has a directory of its own with all that it reads, DIR/gN: a configuration that
 * HAProxy refuses changes nothing, and a process that still answers old requests keeps its files.
 *
 * Replicas, routes and shares change at run time. Anything else is a new process on the same
 * listening socket: it answers new connections, and the old one ends when it has answered what it
 * has. */
#include "base/path.h"
#include "serve/gateway/gateway_private.h"
#include "serve/gateway/haproxy_grpc.h"
#include "serve/gateway/haproxy_log.h"
#include "serve/key_file.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PEM_MAX MIB

/* ---- secrets ---- */

/* HAProxy compares hashes, and writes them in capitals: its file is of no use to others. */
static int apply_hash_key(void *user, const char *key, size_t n, struct err *err)
{
    struct buf *out = user;
    uint8_t sum[KEY_SUM];
    int r = key_sum(key, n, sum, err);

    for (unsigned i = 0; i < KEY_SUM && r == 0; i++)
        r = buf_printf(out, "%02X", sum[i]);
    if (r == 0)
        r = buf_add_str(out, "\n");
    return r < 0 ? err_oom(err) : 0;
}

/* The first of the file is shown to replicas, which may accept several. It stands in HAProxy's
 * configuration as it is. */
static int apply_replica_key(void *user, const char *key, size_t n, struct err *err)
{
    struct buf *out = user;

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)key[i]) && !strchr("-._~+/=", key[i]))
            return err_set(err, -EINVAL, "a key for replicas has letters, digits and -._~+/= only");
    if (out->len > 0)
        return 0;
    return buf_add(out, key, n) < 0 || !buf_text(out) ? err_oom(err) : 0; /* with its NUL */
}

static int apply_hash_buf(const struct buf *b, struct buf *out, struct err *err)
{
    return apply_hash_key(out, (const char *)b->data, b->len, err);
}

static int apply_tls(const struct gateway_spec *s, struct buf *out, struct err *err)
{
    int r = s->private_key ? path_read(s->certificate, out, err)
                           : secret_read(s->certificate, out, err);

    if (r == 0 && buf_add_str(out, "\n") < 0)
        r = err_set(err, -E2BIG, "'%s' is too large", s->certificate);
    return r < 0 || !s->private_key ? r : secret_read(s->private_key, out, err);
}

/* The files that the spec names are read once for each spec: HAProxy can be started again when they
 * are gone or wrong. */
static int apply_secrets_read(const struct gateway_spec *s, struct gateway_secrets *ret,
                              struct err *err)
{
    int r = 0;

    buf_init(&ret->keys, 4 * KEY_FILE_BYTES);
    buf_init(&ret->replica_key, KEY_FILE_BYTES);
    buf_init(&ret->tls, PEM_MAX);
    if (s->key_file)
        r = key_file_each(s->key_file, apply_hash_key, &ret->keys, err);
    if (r == 0 && s->replica_key_file)
        r = key_file_each(s->replica_key_file, apply_replica_key, &ret->replica_key, err);
    if (r == 0 && s->certificate)
        r = apply_tls(s, &ret->tls, err);
    return r;
}

void gateway_secrets_done(struct gateway_secrets *s)
{
    buf_wipe(&s->keys);
    buf_wipe(&s->replica_key);
    buf_wipe(&s->tls);
}

static void auto_secrets_(struct gateway_secrets *s)
{
    gateway_secrets_done(s);
}
#define AUTO_SECRETS AUTO(secrets) struct gateway_secrets

/* ---- files ---- */

static int apply_file(const char *dir, const char *name, const struct buf *b, struct err *err)
{
    AUTO_FREE char *path = path_join(dir, name);

    return path ? path_write_unflushed(path, b->data, b->len, 0600, err) : err_oom(err);
}

static int apply_errors(const char *dir, struct err *err)
{
    AUTO_FREE char *errors = path_join(dir, "errors");
    struct haproxy_error e;
    int r = errors ? path_mkdirs(errors, 0700, err) : err_oom(err);

    for (unsigned i = 0; r == 0 && haproxy_error_file(i, &e); i++) {
        AUTO_FREE char *path = str_printf("%s/%u.http", errors, e.status);

        r = path ? path_write_unflushed(path, e.text, strlen(e.text), 0600, err) : err_oom(err);
    }
    return r;
}

/* One file for each map of haproxy_conf.h. They are only how a process begins: from then on `set
 * map` changes its memory, not the files. */
static int apply_maps(const char *dir, const struct gateway_spec *s,
                      const struct gateway_route *routes, struct err *err)
{
    struct {
        const char *name;
        struct buf text;
    } maps[] = { { "route.map", { .max = MIB } },
                 { "canary.map", { .max = MIB } },
                 { "percent.map", { .max = MIB } },
                 { "versions.map", { .max = MIB } },
                 { "grpc.map", { .max = MIB } } };
    char backend[HAPROXY_BACKEND];
    int r = 0;

    for (size_t i = 0; i < s->n && r == 0; i++) {
        const struct gateway_route *t = &routes[i];
        const char *name = s->models[i].name;

        r = buf_printf(&maps[0].text, "%s %s:%lld\n", name, name, (long long)t->version);
        if (r == 0)
            r = buf_printf(&maps[1].text, "%s %s:%lld\n", name, name,
                           (long long)(t->canary ? t->canary : t->version));
        if (r == 0)
            r = buf_printf(&maps[2].text, "%s %u\n", name, t->percent);
        for (size_t k = 0; k < s->models[i].n && r == 0; k++) {
            long long number = (long long)s->models[i].versions[k].number;

            r = buf_printf(&maps[3].text, "%s:%lld %s:%lld\n", name, number, name, number);
            if (r == 0 && s->models[i].versions[k].grpc)
                r = buf_printf(&maps[4].text, "%s:%lld %s\n", name, number,
                               haproxy_grpc_backend(backend, &s->models[i], number));
        }
    }
    if (r < 0)
        r = err_oom(err);
    for (size_t i = 0; i < COUNT_OF(maps) && r == 0; i++)
        r = apply_file(dir, maps[i].name, &maps[i].text, err);
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        buf_done(&maps[i].text);
    return r;
}

/* For a new process beside a running one, what that one's servers are is known. The first process
 * has none to look at, and its owner may have asked the replicas itself. */
static bool apply_is_up(void *user, const char *backend, const char *address)
{
    const struct gateway *g = user;
    const struct haproxy_server *s = gateway_server(g, backend, address);

    if (g->looked == 0)
        return g->o.is_up && g->o.is_up(g->o.user, backend, address);
    return s && s->up && !s->draining && !gateway_is_drained(g, address);
}

static bool apply_none_up(void *user, const char *backend, const char *address)
{
    (void)user;
    (void)backend;
    (void)address;
    return false;
}

static int apply_write(const struct haproxy_conf *c, const struct gateway_route *routes,
                       const struct gateway_secrets *secrets, struct err *err)
{
    struct buf text = { .max = HAPROXY_CONF_MAX };
    int r = haproxy_conf_write(c, &text, err);

    if (r == 0)
        r = path_mkdirs(c->dir, 0700, err);
    if (r == 0)
        r = apply_errors(c->dir, err);
    if (r == 0)
        r = apply_maps(c->dir, c->spec, routes, err);
    if (r == 0 && c->keys)
        r = apply_file(c->dir, "keys", &secrets->keys, err);
    if (r == 0 && c->tls)
        r = apply_file(c->dir, "tls.pem", &secrets->tls, err);
    if (r == 0)
        r = apply_file(c->dir, "haproxy.cfg", &text, err);
    buf_wipe(&text); /* the key for replicas is in it */
    return r;
}

/* ---- processes ---- */

void gateway_process_end(struct gateway *g, struct gateway_process *p)
{
    (void)g;
    p->haproxy = haproxy_free(p->haproxy);
    if (p->dir)
        (void)path_remove(p->dir, NULL);
    free(take(p->dir));
}

static void apply_on_line(void *user, const char *line, size_t n)
{
    struct gateway *g = user;
    struct haproxy_request q;

    if (haproxy_log_parse(line, n, &q) == 0)
        traffic_count(g->traffic, &q, loop_now(g->loop));
    else
        trace(LOG_MAIN, "haproxy: %.*s", (int)(n < 300 ? n : 300), line);
}

static int apply_launch(struct gateway *g, const struct haproxy_conf *c,
                        const struct gateway_route *routes, const struct gateway_secrets *secrets,
                        struct gateway_process *ret, struct err *err)
{
    AUTO_FREE char *conf = path_join(c->dir, "haproxy.cfg");
    struct haproxy_options o = {
        .loop = g->loop,
        .program = g->o.program,
        .conf = conf,
        .socket = c->socket,
        .listen_fd = g->listen_fd,
        .on_line = apply_on_line,
        .on_end = gateway_wake,
        .user = g,
    };
    int r = conf ? apply_write(c, routes, secrets, err) : err_oom(err);

    return r < 0 ? r : haproxy_start(&o, &ret->haproxy, err);
}

static unsigned apply_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) < 0 ? 2 : (unsigned)CPU_COUNT(&set);
}

int gateway_launch(struct gateway *g, const struct gateway_spec *spec,
                   const struct gateway_route *routes, const struct gateway_secrets *secrets,
                   struct gateway_process *ret, struct err *err)
{
    AUTO_FREE char *socket = NULL;
    struct haproxy_conf c = {
        .spec = spec, .processors = apply_processors(), .up = apply_is_up, .user = g
    };
    int r;

    *ret = (struct gateway_process){ .dir = str_printf("%s/g%u", g->o.dir, ++g->generation) };
    socket = ret->dir ? path_join(ret->dir, "api.sock") : NULL;
    c.dir = ret->dir;
    c.socket = socket;
    c.replica_key = secrets->replica_key.len > 0 ? (const char *)secrets->replica_key.data : NULL;
    c.keys = secrets->keys.len > 0;
    c.tls = secrets->tls.len > 0;
    r = socket ? apply_launch(g, &c, routes, secrets, ret, err) : err_oom(err);
    if (r < 0)
        gateway_process_end(g, ret);
    return r;
}

/* What cannot be changed in a running process, as one text.
 *
 * It is the configuration without servers, with the same directory each time, and hashes of the
 * secrets, which are no part of its text: if two specs have the same, the run-time API is enough to
 * get from one to the other, and otherwise there is a new process. */
static int apply_core(const struct gateway_spec *spec, const struct gateway_secrets *secrets,
                      struct buf *out, struct err *err)
{
    struct haproxy_conf c = { .spec = spec,
                              .dir = "/",
                              .socket = "/",
                              .processors = apply_processors(),
                              .up = apply_none_up };
    int r;

    c.keys = secrets->keys.len > 0;
    c.tls = secrets->tls.len > 0;
    r = haproxy_conf_write(&c, out, err);
    if (r == 0 && (buf_add(out, secrets->keys.data, secrets->keys.len) < 0 ||
                   apply_hash_buf(&secrets->replica_key, out, err) < 0 ||
                   apply_hash_buf(&secrets->tls, out, err) < 0))
        r = err_oom(err);
    return r;
}

/* Requests must not lose the version that answers them now. */
static int apply_check(const struct gateway *g, const struct gateway_spec *spec, struct err *err)
{
    for (size_t i = 0; i < (g->now.haproxy ? g->spec->n : 0); i++) {
        const struct gateway_route *t = &g->routes[i];
        const struct gateway_model *m = gateway_spec_model(spec, t->model);

        if (m && t->version && !gateway_spec_version(m, t->version) &&
            gateway_up(g, t->model, t->version) > 0 && gateway_up(g, t->model, m->serve) == 0) {
            err_set(err, -EBUSY,
                    "version %lld of '%s' is in use, and version %lld has no replica that is ready",
                    (long long)t->version, t->model, (long long)m->serve);
            err_hint(err, "keep both versions in the spec until the new one is ready");
            return -EBUSY;
        }
    }
    if (g->now.haproxy && (strcmp(spec->host, g->spec->host) != 0 || spec->port != g->spec->port)) {
        err_set(err, -EINVAL, "\"listen\" cannot change while the gateway runs");
        err_hint(err, "start another gateway with this spec");
        return -EINVAL;
    }
    return 0;
}

/* The process before goes on with what it has.
 *
 * The new one answers the run-time API before the old one is told to accept no more: for a moment
 * both accept on the one socket, and no connection is refused. haproxy_retire() waits until the old
 * one has said that it stopped; a connection that it took later would still be answered by the old
 * rules, for one with a key that was withdrawn. */
static int apply_process(struct gateway *g, const struct gateway_spec *spec,
                         const struct gateway_route *routes, const struct gateway_secrets *secrets,
                         struct err *err)
{
    struct gateway_process fresh = { 0 };
    int r;

    if (g->n_leaving == GATEWAY_LEAVING)
        return err_set(err, -EAGAIN, "%d reloads are still in progress; try again",
                       GATEWAY_LEAVING);
    r = gateway_launch(g, spec, routes, secrets, &fresh, err);
    if (r < 0)
        return r;
    if (g->now.haproxy) {
        haproxy_retire(g->now.haproxy);
        g->leaving[g->n_leaving++] = g->now;
        g->reloads++;
    }
    g->now = fresh;
    return 0;
}

/* An address that comes back later belongs to another replica. */
static void apply_undrain(struct gateway *g)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->drained.n; i++)
        if (gateway_replica(g, g->drained.v[i]))
            g->drained.v[kept++] = g->drained.v[i];
        else
            free(g->drained.v[i]);
    g->drained.n = kept;
    if (g->drained.v)
        g->drained.v[kept] = NULL;
}

/* From here on the new spec counts; nothing of it can fail any more. */
static void apply_take(struct gateway *g, struct gateway_spec *spec, struct gateway_route *routes,
                       struct gateway_secrets *secrets, struct buf *core)
{
    gateway_spec_free(g->spec);
    g->spec = spec;
    free(g->routes);
    g->routes = routes;
    gateway_secrets_done(&g->secrets);
    g->secrets = *secrets;
    *secrets = (struct gateway_secrets){ 0 };
    buf_done(&g->core);
    g->core = *core;
    *core = (struct buf){ 0 };
    apply_undrain(g);
    g->settled = false;
    gateway_wake(g);
}

/* All that can fail comes first, and apply_take() last: a spec that is refused changes nothing. */
int gateway_apply(struct gateway *g, const char *path, struct err *err)
{
    AUTO(gateway_spec) struct gateway_spec *spec = NULL;
    AUTO_FREE struct gateway_route *routes = NULL;
    AUTO_SECRETS secrets = { 0 };
    AUTO_BUF core = { .max = HAPROXY_CONF_MAX };
    int r = gateway_spec_read(path, &spec, err);

    if (r == 0)
        r = apply_check(g, spec, err);
    if (r == 0)
        r = apply_secrets_read(spec, &secrets, err);
    if (r == 0)
        r = apply_core(spec, &secrets, &core, err);
    if (r == 0)
        r = gateway_routes_make(g, spec, &routes, err);
    if (r == 0 && (!g->now.haproxy || core.len != g->core.len ||
                   memcmp(core.data, g->core.data, core.len) != 0))
        r = apply_process(g, spec, routes, &secrets, err);
    if (r == 0)
        apply_take(g, take(spec), take(routes), &secrets, &core);
    return r;
}
