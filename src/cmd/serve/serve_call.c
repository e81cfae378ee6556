/* serve_call.c - a deployment is a job that runs, of the framework `serve`: found by its name among
 * those, and asked through its gateway's port. See serve_call.h. */
#include "cmd/serve/serve_call.h"
#include "base/name_lock.h"
#include "base/path.h"
#include "base/sha256.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define READY_MS 2000
#define CONNECT_MS 5000 /* a machine that is gone does not even refuse */

struct serve_search {
    const char *name;
    char *id;
};

/* The first one, which is the newest. */
static int serve_look_at(void *arg, struct client *c, struct err *err)
{
    struct serve_search *s = arg;
    AUTO_JSON *status = NULL;
    int r = s->id ? 0 : client_summary(c, &status, err);

    if (r < 0 || s->id || !str_eq(format_text(status, "framework"), SERVE_FRAMEWORK) ||
        (!str_eq(format_text(status, "name"), s->name) && !str_eq(client_id(c), s->name)))
        return r;
    s->id = strdup(client_id(c));
    return s->id ? 0 : err_oom(err);
}

int serve_running(struct job_call *x, const char *name, char **ret, struct err *err)
{
    struct serve_search s = { .name = name };
    int r = job_each(x, JOB_EACH_RUNNING, SIZE_MAX, serve_look_at, &s, err);

    if (r < 0) {
        free(s.id);
        return r;
    }
    *ret = s.id;
    return s.id != NULL;
}

/* By the directory that this user's jobs are in, and the name. 0 and *ret -1: somebody has it. */
static int claim_lock(const char *name, int *ret, struct err *err)
{
    AUTO_SHA256 *sum = NULL;
    AUTO_FREE char *state = NULL;
    AUTO_FREE char *lock = NULL;
    char hex[SHA256_TEXT];
    int r = path_xdg(PATH_STATE, "ydl", &state, err);

    if (r == 0)
        r = sha256_new(&sum, err);
    if (r == 0)
        r = sha256_add(sum, state, strlen(state) + 1, err);
    if (r == 0)
        r = sha256_add(sum, name, strlen(name), err);
    if (r == 0)
        r = sha256_end(sum, hex, err);
    if (r < 0)
        return r;
    lock = str_printf("ydl-deploy-%s", hex);
    if (!lock)
        return err_oom(err);
    *ret = name_lock(lock);
    if (*ret >= 0 || *ret == -EADDRINUSE)
        return 0;
    return err_code(err, *ret, "claim the name '%s'", name);
}

/* Two of one name could not be told apart. One that has just been found is said to be there; of
 * another command that has not come so far, the name is known alone. */
int serve_claim(struct job_call *x, const struct job_where *where, const char *name, int *ret,
                struct err *err)
{
    const struct cli *own = x->cli;
    struct cli cli = *own;
    AUTO_FREE char *id = NULL;
    int r = claim_lock(name, ret, err);

    if (r < 0)
        return r;
    cli.args = (void *)where;
    x->cli = &cli;
    r = serve_running(x, name, &id, err);
    x->cli = own;
    if (r < 0 || (r == 0 && *ret >= 0))
        return r;
    if (id)
        err_set(err, -EEXIST, "there is a deployment '%s' already (%s)", name, id);
    else
        err_set(err, -EEXIST, "another 'ydl serve deploy' is just starting a deployment '%s'",
                name);
    err_hint(err, "stop it with 'ydl serve stop %s', or choose another name with --name", name);
    return -EEXIST;
}

int serve_find(struct job_call *x, json_t **ret_status, struct err *err)
{
    return serve_find_named(x, x->cli->operands[0], ret_status, err);
}

int serve_find_named(struct job_call *x, const char *name, json_t **ret_status, struct err *err)
{
    AUTO_FREE char *id = NULL;
    int r = serve_running(x, name, &id, err);

    if (r < 0)
        return r;
    if (r == 0 && x->without_yarn < 0)
        return err_set(err, x->without_yarn,
                       "there is no deployment '%s' on this machine, and the cluster could not be "
                       "asked",
                       name);
    if (r == 0) {
        err_set(err, -ENOENT, "there is no deployment '%s'", name);
        err_hint(err, "'ydl serve list' shows those there are");
        return -ENOENT;
    }
    r = job_find(x, id, &x->client, err);
    return r < 0 ? r : client_status(x->client, true, ret_status, err);
}

const char *serve_host(const json_t *plan)
{
    static const unsigned char all[sizeof(struct in6_addr)];
    const char *host =
        json_string_value(json_object_get(json_object_get(plan, SERVE_GATEWAY), "host"));
    unsigned char binary[sizeof(all)] = { 0 };
    int family = host && strchr(host, ':') ? AF_INET6 : AF_INET;

    return host && inet_pton(family, host, binary) == 1 && memcmp(binary, all, sizeof(all)) != 0
               ? host
               : NULL;
}

/* Of a task, where it is a gateway that has been somewhere. On YARN the address is for people and
 * programs of other machines, who know nodes by their names. */
static bool url_of(const json_t *status, const json_t *task, const json_t *plan,
                   char out[SERVE_URL])
{
    json_int_t port = json_integer_value(json_array_get(json_object_get(task, "ports"), 0));
    bool named = str_eq(format_text(status, "platform"), "yarn");
    const char *host = json_string_value(json_object_get(task, named ? "node" : "host"));
    const char *only = serve_host(plan);
    const char *scheme = json_is_object(json_object_get(plan, "tls")) ? "https" : "http";

    if (!str_eq(format_text(task, "role"), SERVE_GATEWAY) || !host || port <= 0)
        return false;
    if (only)
        host = only;
    (void)snprintf(out, SERVE_URL, strchr(host, ':') ? "%s://[%s]:%d" : "%s://%s:%d", scheme, host,
                   (int)port);
    return true;
}

bool serve_url(const json_t *status, const json_t *plan, char out[SERVE_URL])
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        if (url_of(status, t, plan, out))
            return true;
    }
    return false;
}

json_t *serve_urls(const json_t *status, const json_t *plan)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    AUTO_JSON *list = json_array();
    char url[SERVE_URL];
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        if (url_of(status, t, plan, url) && json_array_append_new(list, json_string(url)) < 0)
            return NULL;
    }
    return take(list);
}

json_t *serve_groups(const json_t *status)
{
    AUTO_JSON *groups = json_array();
    const json_t *roles = json_object_get(status, "roles"), *role;
    size_t i;

    json_array_foreach(roles, i, role)
    {
        const char *name = format_text(role, "name");

        if (groups && !str_eq(name, SERVE_GATEWAY) && !str_eq(name, SERVE_CONTROLLER) &&
            json_array_append_new(groups, json_pack("{s:s, s:O}", "group", name, "count",
                                                    json_object_get(role, "count"))) < 0)
            return NULL;
    }
    return take(groups);
}

json_t *serve_report(struct job_call *x, int wait)
{
    return serve_report_of(x->client, wait);
}

json_t *serve_report_of(struct client *c, int wait)
{
    AUTO_FREE char *target = str_printf("/v1/kv/" DEPLOYMENT_STATUS "?wait=%d", wait);
    AUTO_BUF text = { .max = CLIENT_BODY_MAX };
    json_t *v = NULL;

    if (!target || client_get(c, target, &text, NULL) < 0 || text.len == 0)
        return NULL;
    (void)json_parse("the gateway's report", text.data, text.len, &v, NULL);
    return v;
}

/* ---- asking a deployment ---- */

/* "http://HOST:PORT" taken apart. */
static int split_url(const char *url, char host[SERVE_URL], int *ret_port, struct err *err)
{
    const char *at = str_starts(url, "http://")    ? url + strlen("http://")
                     : str_starts(url, "https://") ? url + strlen("https://")
                                                   : NULL;
    const char *colon = at ? strrchr(at, ':') : NULL;
    size_t n = colon ? (size_t)(colon - at) : 0;
    int64_t port = 0;

    if (n == 0 || n >= SERVE_URL || str_to_i64(colon + 1, 1, 65535, &port) < 0)
        return err_set(err, -EINVAL, "'%s' is not http://HOST:PORT", url);
    if (at[0] == '[' && at[n - 1] == ']') {
        at++;
        n -= 2;
    }
    memcpy(host, at, n);
    host[n] = '\0';
    *ret_port = (int)port;
    return 0;
}

int serve_read(struct http_client *c, int64_t deadline, struct buf *ret, struct err *err)
{
    ssize_t n = 1;

    while (n > 0) {
        uint8_t *room;

        if (buf_room(ret, 64 * KIB, &room) < 0)
            return err_set(err, -E2BIG, "the answer is larger than %zu bytes", ret->max);
        n = http_read(c, room, 64 * KIB, deadline, err);
        if (n < 0)
            return (int)n;
        ret->len += (size_t)n;
    }
    return 0;
}

/* Takes over `sock`. */
static int start_tls(struct sock *sock, const struct serve_trust *trust, const char *host,
                     int64_t deadline, struct stream **ret, struct err *err)
{
    static const struct serve_trust nothing_said = { 0 };
    const struct serve_trust *t = trust ? trust : &nothing_said;
    AUTO(stream_tls) struct stream_tls *tls = NULL;
    int r = stream_tls_trust(t->ca, t->any_name ? NULL : t->name ? t->name : host, &tls, err);

    if (r < 0) {
        sock_close(sock);
        return r;
    }
    r = stream_tls_start(tls, sock, deadline, ret, err);
    if (r == -EACCES)
        err_hint(err, "--ca FILE names the certificate, or its issuer's; --server-name NAME the "
                      "name that it is for");
    return r;
}

/* Connecting has its own, shorter time: of several addresses the next one may answer, and nothing
 * comes back from a machine that is gone. */
int serve_connect(struct loop *l, const char *url, const struct serve_trust *trust,
                  int64_t deadline, struct http_client **ret, struct err *err)
{
    struct stream *stream = NULL;
    struct sock *sock = NULL;
    char host[SERVE_URL];
    int64_t by = loop_in(l, CONNECT_MS);
    int port = 0, r = split_url(url, host, &port, err);

    if (by > deadline)
        by = deadline;
    if (r == 0)
        r = sock_connect(l, host, port, by, &sock, err);
    if (r == 0)
        r = str_starts(url, "https://") ? start_tls(sock, trust, host, by, &stream, err)
                                        : stream_plain(sock, &stream, err);
    return r == 0 ? http_client_new(l, stream, host, NULL, ret, err) : r;
}

int serve_ask(struct loop *l, const struct serve_request *q, struct buf *ret, struct err *err)
{
    const struct http_request request = { .method = q->method,
                                          .target = q->path,
                                          .body = q->body,
                                          .size = q->size,
                                          .headers = q->headers };
    int64_t deadline = loop_in(l, q->timeout);
    AUTO(http_client) struct http_client *c = NULL;
    struct http_answer answer = { 0 };
    int r = serve_connect(l, q->url, q->trust, deadline, &c, err);

    if (r == 0)
        r = http_ask(c, &request, deadline, &answer, err);
    if (r == 0)
        r = serve_read(c, deadline, ret, err);
    return r < 0 ? r : answer.status;
}

bool serve_is_ready(struct loop *l, const char *url, const struct serve_trust *trust)
{
    const struct serve_request q = {
        .method = "GET", .url = url, .path = "/v2/health/ready", .timeout = READY_MS, .trust = trust
    };
    AUTO_BUF body = { .max = MIB };

    return serve_ask(l, &q, &body, NULL) == 200;
}
