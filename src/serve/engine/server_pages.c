/* server_pages.c - what the server has besides the protocols: a page to try the model by hand, and
 * its metrics. The page brings all that it needs, and may ask nobody but this server. */
#include "serve/engine/server_private.h"
#include "serve/engine/try_page.h"

#include <string.h>

#define METRICS_MAX (256 * KIB)
#define POLICY                                                                                     \
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "                  \
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "                     \
    "frame-ancestors 'none'"

static int metrics_page(struct server *s, struct http_call *c, struct err *err)
{
    const struct metrics_now now = {
        .model = s->served_model.name,
        .backend = s->source.ops ? s->source.ops->name : NULL,
        .library = s->library_version,
        .version = s->served_model.version,
        .ready = s->served.ready,
        .waiting = s->batcher ? batcher_waiting(s->batcher) : 0,
        .running = s->batcher ? batcher_running(s->batcher) : 0,
        .connections = http_server_open(s->http),
        .body_bytes = s->memory.used,
        .lost_lines = s->log.lost,
        .joins = s->batcher && batcher_joins(s->batcher),
    };
    AUTO_BUF out = { .max = METRICS_MAX };
    int r = metrics_print(&s->metrics, &now, &out);

    if (r < 0)
        return err_set(err, r, "the metrics have no room");
    return http_reply(c, 200, "text/plain; version=0.0.4; charset=utf-8", out.data, out.len, err);
}

static int try_page(struct server *s, struct http_call *c, struct err *err)
{
    int r = http_reply_header(c, "Content-Security-Policy", POLICY, err);

    (void)s;
    if (r == 0)
        r = http_reply_header(c, "X-Content-Type-Options", "nosniff", err);
    return r < 0 ? r
                 : http_reply(c, 200, "text/html; charset=utf-8", try_page_files[0].data,
                              try_page_files[0].size, err);
}

static const struct {
    const char *path;
    int (*fn)(struct server *s, struct http_call *c, struct err *err);
} pages[] = {
    { "/", try_page },
    { "/metrics", metrics_page },
    { "/monitoring/prometheus/metrics", metrics_page }, /* where TensorFlow Serving has them */
};

bool server_page(struct server *s, struct http_call *c, int *ret_status, int *ret, struct err *err)
{
    static const char text[] = "{\"error\": \"this page can only be read\"}\n";
    const char *method = http_method(c);

    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        if (strcmp(http_path(c), pages[i].path) != 0)
            continue;
        *ret_status = 200;
        if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) {
            *ret = pages[i].fn(s, c, err);
            return true;
        }
        *ret_status = 405;
        *ret = http_reply_header(c, "Allow", "GET, HEAD", err);
        if (*ret == 0)
            *ret = http_reply(c, 405, "application/json", text, sizeof(text) - 1, err);
        return true;
    }
    return false;
}

/* Only what changes is written: a server that drains is not ready, whatever its model is. */
void server_look(struct server *s)
{
    bool was = s->served_model.state == MODEL_AVAILABLE, is;

    if (!s->served_model.signatures_n || !s->source.ops->ready)
        return;
    is = s->source.ops->ready(s->model);
    if (is == was)
        return;
    s->served_model.state = is ? MODEL_AVAILABLE : MODEL_LOADING;
    s->served_model.reason = is ? NULL : "no worker of the handler is ready";
    s->served.ready = is;
}
