/* controller_direct.c - a deployment without a gateway: clients know the replicas' addresses and
 * ask them. What a gateway would see of replicas is looked at here: whether they are ready. Who was
 * told of a version that leaves gets a while to be told of the other one; what its replicas have in
 * their hands then, they answer as they end.
 *
 * A gateway looks by itself, but for the first time: one that is started again must not refuse
 * requests until it knows which of its replicas are ready. */
#include "loop/fiber.h"
#include "serve/deployment/controller_private.h"
#include "serve/gateway/gateway_spec.h"
#include "serve/gateway/haproxy_conf.h"
#include "serve/key_file.h"
#include "wire/http.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS 500
#define LOOKS 32       /* at a time */
#define ANSWER_MS 2000 /* for one */
#define FIRST_MS 1000  /* for all of them, before there is a gateway */
#define LINGER_MS 5000 /* more than who watches the address needs to see that it changed */

/* ---- one replica ---- */

struct direct_look {
    struct loop *loop;
    char host[GATEWAY_ADDRESS], path[512], backend[HAPROXY_BACKEND];
    const char *address, *headers; /* borrowed */
    int64_t until;
    int port;
    bool ready;
};

static int direct_ask(struct direct_look *q, struct err *err)
{
    int64_t answer_by = loop_in(q->loop, ANSWER_MS);
    int64_t deadline = answer_by < q->until ? answer_by : q->until;
    const struct http_request request = { .method = "GET",
                                          .target = q->path,
                                          .headers = q->headers };
    AUTO(http_client) struct http_client *c = NULL;
    struct http_answer answer = { 0 };
    struct stream *stream = NULL;
    struct sock *sock = NULL;
    int r = sock_connect(q->loop, q->host, q->port, deadline, &sock, err);

    if (r == 0)
        r = stream_plain(sock, &stream, err);
    if (r == 0)
        r = http_client_new(q->loop, stream, q->address, NULL, &c, err);
    if (r == 0)
        r = http_ask(c, &request, deadline, &answer, err);
    q->ready = r == 0 && answer.status == 200;
    return r;
}

/* One that does not answer keeps nobody from looking at the others. */
static int direct_look(void *arg, struct err *err)
{
    int r = direct_ask(arg, err);

    if (r == -ECANCELED)
        return r;
    err_clear(err);
    return 0;
}

/* An address that another version has by now does not count: the path names model and version. */
static void direct_prepare(const struct gateway_model *m, const struct gateway_version *v,
                           const struct gateway_replica *p, const struct direct_look *like,
                           struct direct_look *ret)
{
    const char *here = strstr(m->health, GATEWAY_VERSION_HERE);
    const char *colon = strrchr(p->address, ':');
    int64_t port = 0;

    *ret = *like;
    ret->address = p->address;
    (void)haproxy_backend(ret->backend, m, v->number);
    (void)snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(colon - p->address), p->address);
    (void)str_to_i64(colon + 1, 1, UINT16_MAX, &port);
    ret->port = (int)port;
    if (here)
        (void)snprintf(ret->path, sizeof(ret->path), "%.*s%lld%s", (int)(here - m->health),
                       m->health, (long long)v->number, here + strlen(GATEWAY_VERSION_HERE));
    else
        (void)snprintf(ret->path, sizeof(ret->path), "%s", m->health);
}

/* ---- all of them ---- */

static size_t direct_count(const struct gateway_spec *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->models[i].n; k++)
            n += s->models[i].versions[k].n;
    return n;
}

static int direct_look_at(struct controller *x, struct direct_look *v, size_t n, struct err *err)
{
    struct group g;
    int r = 0, ended;

    group_init(&g, x->o->loop, LOOKS);
    for (size_t i = 0; i < n && r == 0; i++)
        r = group_go(&g, direct_look, &v[i], err);
    if (r < 0)
        group_cancel(&g);
    ended = group_wait(&g, r < 0 ? NULL : err);
    return r < 0 ? r : ended;
}

/* "MODEL:VERSION ADDRESS": the address of a replica that is gone may be another version's. */
static char *direct_name(const char *backend, const char *address)
{
    return str_printf("%s %s", backend, address);
}

bool controller_direct_is_up(const struct controller *x, const char *backend, const char *address)
{
    AUTO_FREE char *name = direct_name(backend, address);

    return name && strs_has(&x->up, name);
}

/* What is ready takes the place of what was. */
static int direct_keep(struct controller *x, const struct direct_look *v, size_t n, struct err *err)
{
    struct strs up = { 0 };

    for (size_t i = 0; i < n; i++)
        if (v[i].ready && strs_take(&up, direct_name(v[i].backend, v[i].address)) < 0) {
            strs_done(&up);
            return err_oom(err);
        }
    strs_done(&x->up);
    x->up = up;
    return 0;
}

static int direct_look_all(struct controller *x, const char *headers, int64_t until,
                           struct err *err)
{
    const struct direct_look like = { .loop = x->o->loop, .headers = headers, .until = until };
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    AUTO_FREE struct direct_look *v = NULL;
    size_t n = 0;
    int r = gateway_spec_parse("the plan", x->text, strlen(x->text), &s, err);

    if (r < 0)
        return r;
    v = calloc(direct_count(s) + 1, sizeof(*v));
    if (!v)
        return err_oom(err);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->models[i].n; k++)
            for (size_t j = 0; j < s->models[i].versions[k].n; j++)
                direct_prepare(&s->models[i], &s->models[i].versions[k],
                               &s->models[i].versions[k].replicas[j], &like, &v[n++]);
    r = direct_look_at(x, v, n, err);
    return r < 0 ? r : direct_keep(x, v, n, err);
}

/* The key that replicas take from the deployment itself. */
static int direct_headers(struct controller *x, char **ret, struct err *err)
{
    AUTO_BUF key = { .max = KEY_FILE_BYTES };
    int r = secret_read(x->key_file, &key, err);

    if (r == 0 &&
        (!buf_text(&key) || !(*ret = str_printf("Authorization: Bearer %s\r\n", buf_text(&key)))))
        r = err_oom(err);
    buf_wipe(&key);
    return r;
}

/* Who hangs is none that is ready. */
int controller_direct_once(struct controller *x, struct err *err)
{
    AUTO_FREE char *headers = NULL;
    int r = direct_headers(x, &headers, err);

    return r < 0 ? r : direct_look_all(x, headers, loop_in(x->o->loop, FIRST_MS), err);
}

int controller_direct_run(void *arg, struct err *err)
{
    struct controller *x = arg;
    AUTO_FREE char *headers = NULL;
    int r = direct_headers(x, &headers, err);

    x->ready = r == 0;
    while (r == 0) {
        r = direct_look_all(x, headers, LOOP_NEVER, err);
        if (r == 0)
            r = fiber_sleep(x->o->loop, LOOK_MS);
    }
    x->gone = true;
    return r;
}

/* ---- what a gateway would report ---- */

static json_t *direct_replicas(const struct controller *x, const struct gateway_model *m,
                               const struct gateway_version *v, int *ret_ready)
{
    AUTO_JSON *list = json_array();
    char backend[HAPROXY_BACKEND];

    (void)haproxy_backend(backend, m, v->number);
    for (size_t i = 0; list && i < v->n; i++) {
        bool ready = controller_direct_is_up(x, backend, v->replicas[i].address);

        *ret_ready += ready;
        if (json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", v->replicas[i].name,
                                                  "address", v->replicas[i].address, "state",
                                                  ready ? "ready" : "not ready")) < 0)
            return NULL;
    }
    return take(list);
}

static json_t *direct_model(const struct controller *x, const struct gateway_model *m)
{
    AUTO_JSON *versions = json_array();
    AUTO_JSON *model = NULL;

    for (size_t i = 0; versions && i < m->n; i++) {
        int ready = 0;
        json_t *replicas = direct_replicas(x, m, &m->versions[i], &ready);

        if (json_array_append_new(versions, json_pack("{s:I, s:o, s:i}", "version",
                                                      (json_int_t)m->versions[i].number, "replicas",
                                                      replicas, "ready", ready)) < 0)
            return NULL;
    }
    model = json_pack("{s:s, s:I, s:O}", "name", m->name, "serves", (json_int_t)m->serve,
                      "versions", versions);
    /* Nobody moves requests, so that there is nothing to wait for. */
    if (model && m->canary &&
        json_object_set_new(model, "canary",
                            json_pack("{s:I, s:s, s:s}", "version", (json_int_t)m->canary, "state",
                                      "done", "why", "all its replicas are ready")) < 0)
        return NULL;
    return take(model);
}

int controller_direct_report(const struct controller *x, char **ret, struct err *err)
{
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    AUTO_JSON *models = json_array();
    AUTO_JSON *doc = NULL;
    int r = gateway_spec_parse("the plan", x->text, strlen(x->text), &s, err);

    for (size_t i = 0; r == 0 && i < s->n; i++)
        if (json_array_append_new(models, direct_model(x, &s->models[i])) < 0)
            r = err_oom(err);
    if (r == 0)
        r = json_make(&doc, err, "{s:b, s:b, s:b, s:O}", "ok", 1, "direct", 1, "tls", 0, "models",
                      models);
    if (r < 0)
        return r;
    *ret = json_dumps(doc, JSON_COMPACT);
    return *ret ? 0 : err_oom(err);
}

bool controller_direct_lingers(const struct controller *x, const json_t *model)
{
    const json_t *update = json_object_get(model, "update");

    return deployment_is_direct(x->plan) &&
           loop_wall() - json_int_or(update, "since", 0) < LINGER_MS;
}
