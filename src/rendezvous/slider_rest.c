/* slider_rest.c - Slider's REST addresses: documents about the job, for its tasks and for tools
 * that knew Slider's own master.
 *
 *     GET /ws/v1/slider/PATH      200 and what the job says of PATH, as JSON, or 404
 *
 * Nothing can be changed here: whoever may reach the port may read it, and it says nothing but
 * where things are. */
#include "loop/listen.h"
#include "rendezvous/servers.h"
#include "wire/http.h"

#include <string.h>

#define BASE "/ws/v1/slider"

struct slider {
    const struct rendezvous_options *opt;
    struct http_server *http;
};

/* The path after the base, without slashes around it; *ret is the caller's. */
static int document_path(const char *path, char **ret, struct err *err)
{
    size_t n = strlen(BASE);

    if (strncmp(path, BASE, n) != 0 || (path[n] && path[n] != '/'))
        return err_set(err, -ENOENT, "there is nothing at '%s'", path);
    path += n;
    path += strspn(path, "/");
    n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    *ret = strndup(path, n);
    return *ret ? 0 : err_oom(err);
}

static int slider_rest_on_call(void *user, struct http_call *c, struct err *err)
{
    const struct rendezvous_options *opt = ((struct slider *)user)->opt;
    AUTO_FREE char *path = NULL;
    AUTO_JSON *v = NULL;
    int r = document_path(http_path(c), &path, err);

    if (r == 0 && strcmp(http_method(c), "GET") != 0)
        return http_reply(c, 405, "text/plain", NULL, 0, err);
    if (r == 0)
        r = opt->document ? opt->document(opt->user, path, &v, err)
                          : err_set(err, -ENOENT, "there is nothing at '%s'", http_path(c));
    return r < 0 ? r : http_reply_json(c, 200, v, err);
}

/* ---- life ---- */

static struct slider *slider_free(struct slider *s)
{
    if (s->http)
        s->http = http_server_stop(s->http);
    free(s);
    return NULL;
}
AUTO_DEFINE(slider, struct slider *, slider_free);

static int slider_rest_on_start(const struct rendezvous_options *opt, void **ret, int *ret_port,
                                struct err *err)
{
    AUTO(slider) struct slider *s = calloc(1, sizeof(*s));
    struct http_server_options o = {
        .loop = opt->loop,
        .limits = { .body_max = 64 * KIB },
        .name = "slider",
        .strangers = true,
        .handler = slider_rest_on_call,
        .user = s,
    };
    int r;

    if (!s)
        return err_oom(err);
    s->opt = opt;
    r = listen_tcp(opt->host, opt->port_low, opt->port_high, &o.fd, ret_port, err);
    if (r == 0)
        r = http_server_start(&o, &s->http, err);
    if (r < 0)
        return r;
    *ret = take(s);
    return 0;
}

static void slider_rest_on_stop(void *server)
{
    (void)slider_free(server);
}

const struct server_row server_slider = { .bit = 8,
                                          .name = "slider",
                                          .lasts = true,
                                          .start = slider_rest_on_start,
                                          .stop = slider_rest_on_stop };
