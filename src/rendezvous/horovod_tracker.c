/* horovod_tracker.c - the HTTP key-value server that Horovod's gloo workers find each other with.
 *
 *     PUT    /SCOPE/KEY   body: the value    200
 *     GET    /SCOPE/KEY                      200 and the value, or 404: ask again
 *     DELETE /SCOPE/KEY                      200: this worker is done with the scope
 *
 * A worker asks again every 10 ms, on a new connection each time. */
#include "loop/listen.h"
#include "rendezvous/horovod_store.h"
#include "rendezvous/servers.h"
#include "wire/http.h"

#include <string.h>

#define TYPE "application/octet-stream"

struct horovod {
    const struct rendezvous_options *opt;
    struct horovod_store *store;
    struct http_server *http;
};

/* "/SCOPE/KEY" in two. *ret_scope is the caller's, the key lies in it. */
static int split_path(const char *path, char **ret_scope, const char **ret_key, struct err *err)
{
    AUTO_FREE char *scope = NULL;
    char *slash;

    if (path[0] != '/')
        return err_set(err, -EINVAL, "a path is /SCOPE/KEY");
    scope = strdup(path + 1);
    if (!scope)
        return err_oom(err);
    slash = strchr(scope, '/');
    if (!slash)
        return err_set(err, -EINVAL, "a path is /SCOPE/KEY");
    *slash = 0;
    *ret_key = slash + 1;
    *ret_scope = take(scope);
    return 0;
}

static int horovod_tracker_on_put(struct horovod *h, struct http_call *c, const char *scope,
                                  const char *key, struct err *err)
{
    AUTO_BUF body = { .max = HOROVOD_VALUE_MAX };
    int r = http_body_all(c, &body, err);

    if (r == 0)
        r = horovod_put(h->store, scope, key, body.data, body.len, err);
    return r < 0 ? r : http_reply(c, 200, TYPE, NULL, 0, err);
}

static int horovod_tracker_on_get(struct horovod *h, struct http_call *c, const char *scope,
                                  const char *key, struct err *err)
{
    /* A copy: sending may wait, and the value may be replaced meanwhile. */
    AUTO_BUF value = { .max = HOROVOD_VALUE_MAX };
    int r = horovod_get(h->store, scope, key, &value, err);

    if (r == -ENOENT)
        return http_reply(c, 404, TYPE, NULL, 0, err);
    return r < 0 ? r : http_reply(c, 200, TYPE, value.data, value.len, err);
}

static int on_delete(struct horovod *h, struct http_call *c, const char *scope, const char *key,
                     struct err *err)
{
    int r = horovod_finish(h->store, scope, key, err);

    return r < 0 ? r : http_reply(c, 200, TYPE, NULL, 0, err);
}

static const struct {
    const char *method;
    int (*fn)(struct horovod *h, struct http_call *c, const char *scope, const char *key,
              struct err *err);
} methods[] = { { "PUT", horovod_tracker_on_put },
                { "GET", horovod_tracker_on_get },
                { "DELETE", on_delete } };

static int horovod_tracker_on_call(void *user, struct http_call *c, struct err *err)
{
    AUTO_FREE char *scope = NULL;
    const char *key = NULL;
    int r = split_path(http_path(c), &scope, &key, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (strcmp(http_method(c), methods[i].method) == 0)
            return methods[i].fn(user, c, scope, key, err);
    }
    return http_reply(c, 405, TYPE, NULL, 0, err);
}

static bool horovod_tracker_check_peer(void *user, int fd)
{
    const struct rendezvous_options *opt = ((struct horovod *)user)->opt;

    return !opt->check || opt->check(opt->user, fd);
}

static bool horovod_tracker_vouch_for_peer(void *user, int fd)
{
    const struct rendezvous_options *opt = ((struct horovod *)user)->opt;

    return !opt->vouch || opt->vouch(opt->user, fd);
}

/* ---- life ---- */

static struct horovod *horovod_free(struct horovod *h)
{
    if (h->http)
        h->http = http_server_stop(h->http);
    h->store = horovod_store_free(h->store);
    free(h);
    return NULL;
}
AUTO_DEFINE(horovod, struct horovod *, horovod_free);

/* A connection for each question: so there are many more than workers, most of them about to end.
 * Nobody is turned away before there are four for each. */
static int horovod_start(const struct rendezvous_options *opt, void **ret, int *ret_port,
                         struct err *err)
{
    AUTO(horovod) struct horovod *h = calloc(1, sizeof(*h));
    struct http_server_options o = {
        .loop = opt->loop,
        .limits = { .body_max = HOROVOD_VALUE_MAX, .connections_max = 4 * (size_t)opt->world + 64 },
        .name = "horovod",
        .check = horovod_tracker_check_peer,
        .vouch = horovod_tracker_vouch_for_peer,
        .handler = horovod_tracker_on_call,
        .user = h,
    };
    int r;

    if (!h)
        return err_oom(err);
    h->opt = opt;
    r = horovod_store_new(opt->world, horovod_budget(opt->world), &h->store, err);
    if (r == 0)
        r = listen_tcp(opt->host, opt->port_low, opt->port_high, &o.fd, ret_port, err);
    if (r == 0)
        r = http_server_start(&o, &h->http, err);
    if (r < 0)
        return r;
    *ret = take(h);
    return 0;
}

static void horovod_stop(void *server)
{
    (void)horovod_free(server);
}

const struct server_row server_horovod = {
    .bit = 4, .name = "horovod", .start = horovod_start, .stop = horovod_stop
};
