/* haproxy_conf.c - the configuration: a global part, one frontend that finds out which backend a
 * request goes to, and a backend for each version.
 *
 * HAProxy listens on its standard input, a socket that the gateway bound: whoever dies, the port
 * stays, and a new process accepts what came meanwhile. Its log goes to standard output, a pipe. */
#include "serve/gateway/haproxy_conf.h"
#include "base/str.h"
#include "serve/gateway/haproxy_grpc.h"
#include "serve/gateway/haproxy_log.h"

#include <stdio.h>
#include <string.h>

bool haproxy_conf_dir_fits(const char *dir)
{
    if (*dir != '/')
        return false;
    for (; *dir; dir++)
        if (!((*dir >= 'a' && *dir <= 'z') || (*dir >= 'A' && *dir <= 'Z') ||
              (*dir >= '0' && *dir <= '9') || strchr("/._-+", *dir)))
            return false;
    return true;
}

const char *haproxy_backend(char out[HAPROXY_BACKEND], const struct gateway_model *m,
                            int64_t version)
{
    (void)snprintf(out, HAPROXY_BACKEND, "%s:%lld", m->name, (long long)version);
    return out;
}

/* A server that is added at run time does not get the default of pool-max-conn: without it, it
 * keeps no connection for the next request.
 *
 * Nor does it get anything of a `default-server` line, so that each server says all of it:
 *
 *     check inter 500ms           while it is up
 *     fastinter, downinter 100ms  while it is coming or down: a new replica gets its first
 *                                 request a tenth of a second after it is ready
 *     rise 1 fall 2               one good check is enough, one bad one is not
 *     observe layer4, error-limit 1, on-error mark-down
 *                                 a refused connection takes it out at once, before any check
 *     pool-purge-delay 1s         it cannot be deleted with idle connections: they end early */
int haproxy_server_words(struct buf *out, const struct gateway_model *m, const char *backend,
                         unsigned weight)
{
    int r = buf_printf(
        out,
        "%scheck inter 500ms fastinter 100ms downinter 100ms rise 1 fall 2 "
        "observe layer4 error-limit 1 on-error mark-down pool-purge-delay 1s pool-max-conn -1 "
        "weight %u",
        haproxy_grpc_beside(backend) ? HAPROXY_GRPC_WORDS : "", weight);

    if (r == 0 && m->in_flight)
        r = buf_printf(out, " maxconn %u", m->in_flight);
    return r;
}

/* What is not obvious in it:
 *
 *     no strict-limits        start with fewer descriptors than asked for, instead of not at all
 *     tune.bufsize            a request is kept for a second try only if it fits this buffer
 *     hard-stop-after         of a process that was told to end; 0 would mean never
 *     level admin             `add server`, `set server` and `del server` need it
 *     abortonclose            a client that hung up leaves the queue
 *     idle-close-on-response  a process that ends closes an idle connection behind its next
 *                             answer: closed before, a request may be on its way to it */
static int conf_global(const struct haproxy_conf *c, struct buf *out)
{
    const struct gateway_spec *s = c->spec;
    int r = buf_printf(out,
                       "global\n"
                       "    maxconn %u\n"
                       "    no strict-limits\n"
                       "    nbthread %u\n"
                       "    tune.bufsize %u\n"
                       "    tune.h2.max-concurrent-streams %u\n"
                       "    hard-stop-after %lldms\n"
                       "    stats socket %s mode 600 level admin\n"
                       "    stats timeout 10s\n"
                       "    log stdout format raw local0 info\n"
                       "    ssl-default-bind-options ssl-min-ver TLSv1.2\n",
                       s->connections,
                       s->threads          ? s->threads
                       : c->processors > 1 ? 2
                                           : 1,
                       HAPROXY_BUFFER, HAPROXY_STREAMS,
                       (long long)(s->drain_ms > 0 ? s->drain_ms : 1), c->socket);

    if (r == 0)
        r = buf_printf(out,
                       "defaults\n"
                       "    mode http\n"
                       "    timeout connect 1s\n"
                       "    timeout client %lldms\n"
                       "    timeout server %lldms\n"
                       "    timeout queue %lldms\n"
                       "    timeout check 2s\n"
                       "    timeout http-request 10s\n"
                       "    timeout http-keep-alive 60s\n"
                       "    option abortonclose\n"
                       "    option idle-close-on-response\n",
                       (long long)s->timeout_ms, (long long)s->timeout_ms, (long long)s->queue_ms);
    for (unsigned i = 0; r == 0; i++) {
        struct haproxy_error e;

        if (!haproxy_error_file(i, &e))
            break;
        r = buf_printf(out, "    errorfile %u %s/errors/%u.http\n", e.status, c->dir, e.status);
    }
    return r;
}

/* The request's id is the client's, when it is one that can be printed, or a new one.
 *
 * The three times of a log line are taken here and in the log's format, because HAProxy's own
 * timers count milliseconds. */
static int conf_ids(struct buf *out)
{
    return buf_add_str(out, "    http-request set-var(txn.began) date(0,us)\n"
                            "    http-request set-header X-Request-Id %[uuid()] "
                            "unless { req.hdr(X-Request-Id) -m reg ^[A-Za-z0-9._:-]{1,128}$ }\n"
                            "    http-request set-var(txn.id) req.hdr(X-Request-Id)\n"
                            "    http-request del-header X-Forwarded-For\n"
                            "    http-request set-header X-Forwarded-For %[src]\n"
                            "    http-response set-var(txn.answered) date(0,us)\n"
                            "    http-after-response set-header X-Request-Id %[var(txn.id)]\n");
}

/* In place of whatever a client says. */
static int conf_replica_key(const struct haproxy_conf *c, struct buf *out)
{
    return c->replica_key
               ? buf_printf(out, "    http-request set-header Authorization \"Bearer %s\"\n",
                            c->replica_key)
               : 0;
}

/* Questions whether the gateway is there, by load balancers, and by `ydl serve deploy` until it is.
 */
#define HEALTH_PATHS                                                                               \
    "/v2/health/live /v2/health/ready /inference.GRPCInferenceService/ServerLive "                 \
    "/inference.GRPCInferenceService/ServerReady"

/* They are no requests to a model: what is not in the log is counted nowhere, so that a version
 * is not blamed for what was asked before it was ready. */
static int conf_uncounted(struct buf *out)
{
    return buf_add_str(out, "    http-request set-log-level silent if { path " HEALTH_PATHS " }\n");
}

#define KEY_WANTED "A key is needed: send the header 'Authorization: Bearer KEY'."

static int conf_key(const struct haproxy_conf *c, struct buf *out)
{
    int r;

    if (!c->keys)
        return 0;
    r = buf_printf(out,
                   "    acl open path " HEALTH_PATHS "\n"
                   "    acl known http_auth_bearer,sha2(256),hex -m str -f %s/keys\n",
                   c->dir);
    if (r == 0 && haproxy_grpc_is_wanted(c->spec))
        r = haproxy_grpc_key(out, KEY_WANTED);
    return r < 0
               ? r
               : buf_add_str(out,
                             "    http-request return status 401 content-type application/json "
                             "hdr WWW-Authenticate Bearer string \"{\\\"error\\\": \\\"" KEY_WANTED
                             "\\\"}\\n\" unless open or known\n"
                             "    http-request del-header Authorization\n");
}

/* HAProxy's own numbers, where it was built with them; to whoever may ask the models, too. */
static int conf_metrics(struct buf *out)
{
    return buf_add_str(out, ".if feature(PROMEX)\n"
                            "    http-request use-service prometheus-exporter "
                            "if { path /metrics } { method GET HEAD }\n"
                            ".endif\n");
}

/* /v1/models/NAME and /v2/models/NAME name a model, with /versions/N a version; anything else goes
 * to the first model. */
static int conf_names(const struct haproxy_conf *c, struct buf *out)
{
    int r = buf_printf(
        out,
        "    acl named path_beg /v1/models/ /v2/models/\n"
        "    acl versioned path,field(5,/) -m str versions\n"
        "    http-request set-var(txn.model) str(%s)\n"
        "    http-request set-var(txn.model) path,field(4,/),url_dec,field(1,:) if named\n"
        "    http-request set-var(txn.version) path,field(6,/),url_dec,field(1,:) "
        "if named versioned\n",
        c->spec->models[0].name);

    return r == 0 && haproxy_grpc_is_wanted(c->spec) ? haproxy_grpc_names(c->dir, out) : r;
}

/* The order of these rules is the decision, and later ones win:
 *
 *     1. the version that is served                   route.map
 *     2. the canary, if the draw is below its share   percent.map, canary.map
 *     3. the version that the request itself names    versions.map
 *
 * A draw of 0 to 9999 is below `percent` hundredths of a percent as often as it should be. ':'
 * cannot be the name of a backend, and stands for a version that is not there: with `found` alone
 * it could not be told from a model that is not there, whose 404 has other words.
 *
 * All of them are maps, because `set map` changes an entry at once in the running process, and no
 * request sees half of a change. */
static int conf_routes(const struct haproxy_conf *c, struct buf *out)
{
    const char *dir = c->dir;
    int r = conf_names(c, out);

    if (r == 0)
        r = buf_printf(
            out,
            "    http-request set-var(txn.draw) rand(%d)\n"
            "    http-request set-var(txn.backend) var(txn.model),map_str(%s/route.map)\n"
            "    http-request set-var(txn.left) "
            "var(txn.model),map_str_int(%s/percent.map,0),sub(txn.draw)\n"
            "    http-request set-var(txn.backend) var(txn.model),map_str(%s/canary.map) "
            "if { var(txn.left) -m int gt 0 }\n",
            GATEWAY_HUNDRED, dir, dir, dir);
    if (r == 0)
        r = buf_printf(out,
                       "    http-request set-var(txn.backend) "
                       "var(txn.model),concat(:,txn.version,),map_str(%s/versions.map,:) "
                       "if { var(txn.version) -m len gt 0 }\n",
                       dir);
    if (r == 0 && haproxy_grpc_is_wanted(c->spec))
        r = haproxy_grpc_no_version(out);
    if (r == 0)
        r = buf_add_str(
            out,
            "    http-request return status 404 content-type application/json "
            "lf-string \"{\\\"error\\\": \\\"There is no model %[var(txn.model),json(utf8s)] here"
            ".\\\"}\\n\" unless { var(txn.backend) -m found }\n"
            "    http-request return status 404 content-type application/json "
            "lf-string \"{\\\"error\\\": \\\"Version %[var(txn.version),json(utf8s)] of model "
            "%[var(txn.model),json(utf8s)] is not served here.\\\"}\\n\" "
            "if { var(txn.backend) -m str : }\n");
    if (r == 0 && haproxy_grpc_is_wanted(c->spec))
        r = haproxy_grpc_choose(dir, out);
    return r < 0 ? r : buf_add_str(out, "    use_backend %[var(txn.backend)]\n");
}

static int conf_frontend(const struct haproxy_conf *c, struct buf *out)
{
    int r = buf_printf(out,
                       "frontend gateway\n"
                       "    bind fd@0%s%s%s\n"
                       "    log global\n",
                       c->tls ? " ssl crt " : "", c->tls ? c->dir : "",
                       c->tls ? "/tls.pem alpn h2,http/1.1" : "");

    if (r == 0)
        r = buf_add_str(out, "    log-format \"" HAPROXY_LOG_FORMAT "\"\n");
    if (r == 0)
        r = conf_ids(out);
    if (r == 0)
        r = conf_uncounted(out);
    if (r == 0 && haproxy_grpc_is_wanted(c->spec))
        r = haproxy_grpc_calls(out);
    if (r == 0)
        r = conf_key(c, out);
    if (r == 0)
        r = conf_metrics(out);
    if (r == 0)
        r = conf_replica_key(c, out);
    if (r == 0)
        r = buf_printf(out, "    http-request deny deny_status 413 if { req.body_size gt %llu }\n",
                       (unsigned long long)c->spec->body_max);
    return r < 0 ? r : conf_routes(c, out);
}

/* An address that another version has by now does not pass. */
static int conf_check(const struct haproxy_conf *c, const struct gateway_model *m,
                      const struct gateway_version *v, struct buf *out)
{
    const char *path = m->health, *at;
    int r = buf_add_str(out, "    http-check send meth GET uri ");

    while (r == 0 && (at = strstr(path, GATEWAY_VERSION_HERE))) {
        r = buf_printf(out, "%.*s%lld", (int)(at - path), path, (long long)v->number);
        path = at + strlen(GATEWAY_VERSION_HERE);
    }
    if (r == 0)
        r = buf_printf(out, "%s ver HTTP/1.1 hdr Host gateway", path);
    if (r == 0 && c->replica_key)
        r = buf_printf(out, " hdr Authorization \"Bearer %s\"", c->replica_key);
    return r < 0 ? r : buf_add_str(out, "\n");
}

static int conf_not_ready(const struct gateway_model *m, int64_t version, bool grpc,
                          struct buf *out)
{
    if (grpc)
        return haproxy_grpc_not_ready(m->name, version, out);
    return buf_printf(out,
                      "    http-request return status 503 content-type application/json "
                      "hdr Retry-After 1 string \"{\\\"error\\\": \\\"No replica of %s, version "
                      "%lld, is ready.\\\"}\\n\" if { nbsrv eq 0 } !{ stopping }\n",
                      m->name, (long long)version);
}

/* A server in the configuration counts as up until its first check fails, and would get requests at
 * once. So only those stand here that are known to be up; all others are added by the run-time API,
 * which lets them begin as down. */
static int conf_servers(const struct haproxy_conf *c, const struct gateway_model *m,
                        const struct gateway_version *v, const char *backend, struct buf *out)
{
    char name[HAPROXY_BACKEND];
    int r = 0;

    (void)haproxy_backend(name, m, v->number);
    for (size_t i = 0; r == 0 && i < v->n; i++) {
        const struct gateway_replica *x = &v->replicas[i];

        if (!c->up(c->user, name, x->address))
            continue;
        r = buf_printf(out, "    server %s %s ", x->address, x->address);
        if (r == 0)
            r = haproxy_server_words(out, m, backend, x->weight);
        if (r == 0)
            r = buf_add_str(out, "\n");
    }
    return r;
}

/* HAProxy keeps a request to send it again only when it has all of it before it sends anything.
 * Many clients send head and body by two calls, and without this it is chance whether both are
 * there. What does not fit the buffer goes on when that is full. Calls of gRPC may be streams that
 * do not end. */
static int conf_whole(const struct haproxy_conf *c, struct buf *out)
{
    return buf_printf(out, "    http-request wait-for-body time %lldms\n",
                      (long long)c->spec->timeout_ms);
}

/* A replica may end a kept connection just when the next request is sent on it: so connections are
 * kept only where a request may be sent again.
 *
 * A process that stops counts no servers as usable, and uses them for what it still answers.
 *
 * A connection of HTTP/2 has several requests at a time: those that are on their way are counted,
 * as connections are. */
static int conf_backend(const struct haproxy_conf *c, const struct gateway_model *m,
                        const struct gateway_version *v, const char *name, struct buf *out)
{
    bool grpc = haproxy_grpc_beside(name) > 0;
    int r = buf_printf(out,
                       "backend %s\n"
                       "    balance leastconn\n"
                       "    option httpchk\n",
                       name);

    if (r == 0)
        r = conf_check(c, m, v, out);
    if (r == 0)
        r = buf_printf(out,
                       "    http-check expect status 200\n"
                       "    option redispatch 1\n"
                       "    retries 3\n"
                       "    http-reuse %s\n"
                       "    retry-on conn-failure%s\n",
                       m->retry ? "always" : "never", m->retry ? " empty-response 503" : "");
    if (r == 0)
        r = conf_not_ready(m, v->number, grpc, out);
    if (r == 0 && m->retry && !grpc)
        r = conf_whole(c, out);
    if (r == 0)
        r = buf_printf(out,
                       "    http-request deny deny_status 503 if { queue(%s) ge %u }\n"
                       "    http-request deny deny_status 503 if { be_conn gt %u }\n",
                       name, m->queue, c->spec->connections);
    return r < 0 ? r : conf_servers(c, m, v, name, out);
}

static int conf_version(const struct haproxy_conf *c, const struct gateway_model *m,
                        const struct gateway_version *v, struct buf *out)
{
    char name[HAPROXY_BACKEND];
    int r = conf_backend(c, m, v, haproxy_backend(name, m, v->number), out);

    return r < 0 || !v->grpc ? r
                             : conf_backend(c, m, v, haproxy_grpc_backend(name, m, v->number), out);
}

int haproxy_conf_write(const struct haproxy_conf *c, struct buf *out, struct err *err)
{
    int r = haproxy_conf_dir_fits(c->dir) && haproxy_conf_dir_fits(c->socket) ? 0 : -EINVAL;

    if (r < 0)
        return err_set(err, r,
                       "the directory '%s' cannot stand in HAProxy's configuration: it must be "
                       "absolute, of letters, digits and ._-+",
                       c->dir);
    r = conf_global(c, out);
    if (r == 0)
        r = conf_frontend(c, out);
    for (size_t i = 0; r == 0 && i < c->spec->n; i++)
        for (size_t k = 0; r == 0 && k < c->spec->models[i].n; k++)
            r = conf_version(c, &c->spec->models[i], &c->spec->models[i].versions[k], out);
    return r == -E2BIG ? err_set(err, r, "HAProxy's configuration would be too large")
           : r < 0     ? err_oom(err)
                       : 0;
}
