/* page.c - the first page of a job: what the tracking URL leads to, and behind it its TensorBoard.
 * Read-only, plain HTTP, for YARN's proxy and nobody else. */
#include "base/listen.h"
#include "base/log.h"
#include "base/resolve.h"
#include "hadoop/conf/cluster.h"
#include "master/master_private.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define PROXIES_MAX 16
#define RESOLVE_MS 5000
/* Relative, for we are behind a proxy; its end makes TensorBoard ask by GET (tensorboard.c). */
#define TENSORBOARD "tensorboard/?tensorboardColab=true"

struct page {
    struct http_server *server;
    char proxies[PROXIES_MAX][INET6_ADDRSTRLEN];
    size_t n_proxies;
};

/* ---- who may look ---- */

static void add_proxy(struct master *m, struct page *p, const char *host)
{
    struct resolve_addrs found = { 0 };

    if (resolve_host(m->loop, host, 0, loop_in(m->loop, RESOLVE_MS), &found, NULL) < 0)
        return;
    for (int i = 0; i < found.n && p->n_proxies < PROXIES_MAX; i++)
        (void)resolve_text(&found.v[i], p->proxies[p->n_proxies++]);
}

/* The proxy is a daemon of its own where one is configured, else part of the ResourceManagers. */
static void find_proxies(struct master *m, struct page *p)
{
    const struct conf *conf = session_conf(m->opt->container->session);
    AUTO_HOSTS rms = { 0 };
    AUTO_FREE char *own = NULL;
    char *colon;

    if (conf_str(conf, "yarn.web-proxy.address", &own, NULL) == 0 && own && *own) {
        colon = strrchr(own, ':');
        if (colon)
            *colon = '\0';
        add_proxy(m, p, own);
    }
    if (conf_resourcemanagers(conf, RM_WEBAPP, &rms, NULL) == 0)
        for (size_t i = 0; i < rms.n; i++)
            add_proxy(m, p, rms.v[i].host);
}

static bool is_proxy(void *user, int fd)
{
    const struct master *m = user;
    const struct page *p = m->page;
    union resolve_addr peer = { 0 };
    socklen_t n = sizeof(peer);
    char text[INET6_ADDRSTRLEN] = "";

    if (getpeername(fd, &peer.sa, &n) < 0)
        return false;
    (void)resolve_text(&peer, text);
    /* A proxy on this machine reaches us from the address that it reaches. */
    if (str_eq(text, m->opt->container->host))
        return true;
    for (size_t i = 0; p && i < p->n_proxies; i++)
        if (str_eq(p->proxies[i], text))
            return true;
    return false;
}

/* ---- the page ---- */

static int add_text(struct buf *out, const char *s)
{
    int r = 0;

    for (; *s && r == 0; s++) {
        const char *as = *s == '<'   ? "&lt;"
                         : *s == '>' ? "&gt;"
                         : *s == '&' ? "&amp;"
                         : *s == '"' ? "&quot;"
                                     : NULL;

        r = as ? buf_add(out, as, strlen(as)) : buf_add(out, s, 1);
    }
    return r;
}

static int add_cell(struct buf *out, const char *text)
{
    int r = buf_add(out, "<td>", 4);

    if (r == 0)
        r = add_text(out, text ? text : "");
    return r < 0 ? r : buf_add(out, "</td>", 5);
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static int add_task(struct buf *out, const json_t *t)
{
    char attempt[32];
    int r = buf_add(out, "<tr>", 4);

    (void)snprintf(attempt, sizeof(attempt), "%lld",
                   (long long)json_integer_value(json_object_get(t, "attempt")));
    if (r == 0)
        r = add_cell(out, text_of(t, "task"));
    if (r == 0)
        r = add_cell(out, text_of(t, "state"));
    if (r == 0)
        r = add_cell(out, text_of(t, "node"));
    if (r == 0)
        r = add_cell(out, attempt);
    return r < 0 ? r : buf_add(out, "</tr>\n", 6);
}

static int add_head(struct buf *out, const json_t *job)
{
    static const char head[] = "<!doctype html><meta charset=\"utf-8\"><style>"
                               "body{font:14px sans-serif;margin:2em}td,th{padding:.2em 1em;"
                               "text-align:left;border-bottom:1px solid #ddd}</style>\n<h1>";
    int r = buf_add(out, head, sizeof(head) - 1);

    if (r == 0)
        r = add_text(out, text_of(job, "name"));
    if (r == 0)
        r = buf_add(out, ": ", 2);
    if (r == 0)
        r = add_text(out, text_of(job, "state"));
    if (r == 0)
        r = buf_add(out, "</h1><p>", 8);
    if (r == 0)
        r = add_text(out, text_of(job, "waiting"));
    return r;
}

static int add_page(struct buf *out, const json_t *job)
{
    static const char table[] = "</p>\n<table><tr><th>task<th>state<th>node<th>restarts</tr>\n",
                      end[] = "</table>\n<p>Output: <code>ydl logs ";
    const json_t *tasks = json_object_get(job, "tasks");
    int r = add_head(out, job);

    if (r == 0)
        r = buf_add(out, table, sizeof(table) - 1);
    for (size_t i = 0; r == 0 && i < json_array_size(tasks); i++)
        r = add_task(out, json_array_get(tasks, i));
    if (r == 0)
        r = buf_add(out, end, sizeof(end) - 1);
    if (r == 0)
        r = add_text(out, text_of(job, "job"));
    if (r == 0)
        r = buf_add(out, "</code></p>\n", 12);
    if (r == 0 && json_object_get(job, "tensorboard"))
        r = buf_add_str(out, "<p><a href=\"" TENSORBOARD "\">TensorBoard</a></p>\n");
    return r;
}

static int send_page(struct master *m, struct http_call *c, struct err *err)
{
    AUTO_BUF out = { .max = 16 * MIB };
    AUTO_JSON *job = NULL;
    int r = api_status(m, true, &job, err);

    if (r < 0)
        return r;
    if (add_page(&out, job) < 0)
        return err_oom(err);
    return http_reply(c, 200, "text/html; charset=utf-8", out.data, out.len, err);
}

static int send_status(struct master *m, struct http_call *c, struct err *err)
{
    AUTO_JSON *job = NULL;
    int r = api_status(m, true, &job, err);

    return r < 0 ? r : http_reply_json(c, 200, job, err);
}

/* Links of the page that follows are relative to where it says it is. */
static int lead_to_tensorboard(struct http_call *c, struct err *err)
{
    static const char text[] =
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=" TENSORBOARD
        "\"><a href=\"" TENSORBOARD "\">TensorBoard</a>\n";

    return http_reply(c, 200, "text/html; charset=utf-8", text, sizeof(text) - 1, err);
}

static int send_first(struct master *m, struct http_call *c, struct err *err)
{
    AUTO_FREE char *url = NULL;
    int r = m->spec.tensorboard_first > 0 ? tensorboard_url(m, &url, err) : 0;

    if (r < 0)
        return r;
    return url ? lead_to_tensorboard(c, err) : send_page(m, c, err);
}

static int handle(void *user, struct http_call *c, struct err *err)
{
    struct master *m = user;
    const char *path = http_path(c);

    if (str_starts(path, "/tensorboard/"))
        return tensorboard_pass(m, c, err);
    if (!str_eq(http_method(c), "GET"))
        return err_set(err, -EACCES, "this page is for reading only");
    if (str_eq(path, "/"))
        return send_first(m, c, err);
    if (str_eq(path, "/job"))
        return send_page(m, c, err);
    if (str_eq(path, "/v1/job"))
        return send_status(m, c, err);
    if (str_eq(path, "/tensorboard"))
        return lead_to_tensorboard(c, err);
    return err_set(err, -ENOENT, "there is nothing at '%s'", path);
}

/* ---- life ---- */

int page_start(struct master *m, struct err *err)
{
    struct http_server_options o = {
        .loop = m->loop, .check = is_proxy, .handler = handle, .user = m
    };
    int port = 0, r;

    m->page = calloc(1, sizeof(*m->page));
    if (!m->page)
        return err_oom(err);
    r = listen_tcp("0.0.0.0", 0, 0, &o.fd, &port, err);
    if (r == 0)
        r = http_server_start(&o, &m->page->server, err);
    if (r < 0)
        return r;
    m->page_url = str_printf("http://%s:%d/", m->opt->container->host, port);
    return m->page_url ? 0 : err_oom(err);
}

void page_find_proxies(struct master *m)
{
    if (m->page)
        find_proxies(m, m->page);
}

void page_stop(struct master *m)
{
    if (m->page)
        m->page->server = http_server_stop(m->page->server);
    free(take(m->page));
}
