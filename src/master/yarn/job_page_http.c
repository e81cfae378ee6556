/* job_page_http.c - the first page of a job: what the tracking URL leads to, and behind it its
 * TensorBoard. Read-only, plain HTTP, for YARN's proxy and whom it may show it to (page_access.h).
 */
#include "master/yarn/job_page_http.h"
#include "base/log.h"
#include "loop/listen.h"
#include "loop/resolve.h"
#include "master/yarn/master_yarn_private.h"
#include "master/yarn/page_access.h"

#include <stdio.h>
#include <string.h>

#define GROUPS_MS 60000
#define CONNECTIONS_MAX 64    /* anybody may ask YARN's proxy to connect */
#define LOGS_TAIL (256 * KIB) /* of the output that is shown */
/* Relative, for we are behind a proxy; its end makes TensorBoard ask by GET (tensorboard_proxy.c).
 */
#define TENSORBOARD "tensorboard/?tensorboardColab=true"

struct page {
    struct http_server *server;
    struct page_access access;
    /* Whose groups were asked for last, and how long the answer counts. */
    char *asked;
    struct strs groups;
    int64_t groups_until;
};

/* ---- who may look ---- */

static bool is_proxy(void *user, int fd)
{
    const struct master *m = user;
    union resolve_addr peer = { 0 };
    socklen_t n = sizeof(peer);
    char text[INET6_ADDRSTRLEN] = "";

    if (!yarn_of(m)->page || getpeername(fd, &peer.sa, &n) < 0)
        return false;
    (void)resolve_text(&peer, text);
    return page_access_from(&yarn_of(m)->page->access, text);
}

/* The name is copied before the call: it belongs to a request, and another request may ask for
 * another user while this one waits for the NameNode. */
static int learn_groups(struct master *m, const char *user, struct err *err)
{
    struct page *p = yarn_of(m)->page;
    AUTO_FREE char *name = strdup(user);
    AUTO_STRS now = { 0 };
    int r = name ? fs_groups(yarn_of(m)->container->fs, user, &now, err) : err_oom(err);

    if (r < 0)
        return r;
    free(p->asked);
    p->asked = take(name);
    strs_done(&p->groups);
    p->groups = now;
    now = (struct strs){ 0 };
    p->groups_until = loop_in(m->loop, GROUPS_MS);
    return 0;
}

/* A page asks many times when it is opened: what was said last counts for a while. */
static int ask_groups(void *arg, const char *user, struct strs *ret, struct err *err)
{
    struct master *m = arg;
    struct page *p = yarn_of(m)->page;
    bool known = str_eq(p->asked, user) && loop_now(m->loop) < p->groups_until;
    int r = known ? 0 : learn_groups(m, user, err);

    for (size_t i = 0; i < p->groups.n && r == 0; i++)
        r = strs_add(ret, p->groups.v[i]) < 0 ? err_oom(err) : 0;
    return r;
}

/* ---- the page ---- */

static int page_add_text(struct buf *out, const char *s)
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
        r = page_add_text(out, text ? text : "");
    return r < 0 ? r : buf_add(out, "</td>", 5);
}

static const char *page_text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

/* Relative too: a page of ours below a path that we do not know. */
static int page_add_logs(struct buf *out, const char *task)
{
    static const char *const streams[] = { "out", "err" };
    int r = buf_add_str(out, "<td>");

    for (size_t i = 0; i < COUNT_OF(streams) && r == 0; i++) {
        r = buf_add_str(out, "<a href=\"logs?task=");
        if (r == 0)
            r = http_quote(out, task);
        if (r == 0)
            r = buf_printf(out, "&amp;stream=%s\">%s</a> ", streams[i], streams[i]);
    }
    return r < 0 ? r : buf_add_str(out, "</td>");
}

static int page_add_task(struct buf *out, const json_t *t)
{
    char attempt[32];
    int r = buf_add(out, "<tr>", 4);

    (void)snprintf(attempt, sizeof(attempt), "%lld",
                   (long long)json_integer_value(json_object_get(t, "attempt")));
    if (r == 0)
        r = add_cell(out, page_text_of(t, "task"));
    if (r == 0)
        r = add_cell(out, page_text_of(t, "state"));
    if (r == 0)
        r = add_cell(out, page_text_of(t, "node"));
    if (r == 0)
        r = add_cell(out, attempt);
    if (r == 0)
        r = page_add_logs(out, page_text_of(t, "task"));
    return r < 0 ? r : buf_add(out, "</tr>\n", 6);
}

static int page_add_head(struct buf *out, const json_t *job)
{
    static const char head[] = "<!doctype html><meta charset=\"utf-8\"><style>"
                               "body{font:14px sans-serif;margin:2em}td,th{padding:.2em 1em;"
                               "text-align:left;border-bottom:1px solid #ddd}</style>\n<h1>";
    int r = buf_add(out, head, sizeof(head) - 1);

    if (r == 0)
        r = page_add_text(out, page_text_of(job, "name"));
    if (r == 0)
        r = buf_add(out, ": ", 2);
    if (r == 0)
        r = page_add_text(out, page_text_of(job, "state"));
    if (r == 0)
        r = buf_add(out, "</h1><p>", 8);
    if (r == 0)
        r = page_add_text(out, page_text_of(job, "waiting"));
    return r;
}

static int add_page(struct buf *out, const json_t *job)
{
    static const char table[] = "</p>\n<table><tr><th>task<th>state<th>node<th>restarts<th>output"
                                "</tr>\n",
                      end[] = "</table>\n<p>All of the output: <code>ydl logs ";
    const json_t *tasks = json_object_get(job, "tasks");
    int r = page_add_head(out, job);

    if (r == 0)
        r = buf_add(out, table, sizeof(table) - 1);
    for (size_t i = 0; r == 0 && i < json_array_size(tasks); i++)
        r = page_add_task(out, json_array_get(tasks, i));
    if (r == 0)
        r = buf_add(out, end, sizeof(end) - 1);
    if (r == 0)
        r = page_add_text(out, page_text_of(job, "job"));
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

/* The end of what a task has written, as it is: a browser must not find anything in it but text. */
static int send_logs(struct master *m, struct http_call *c, struct err *err)
{
    const char *task = http_query(c, "task"), *stream = http_query(c, "stream");
    char name[ENGINE_NAME_MAX];
    struct follow_options o = { .tasks = name,
                                .logs = true,
                                .out = !stream || str_eq(stream, "out"),
                                .err = str_eq(stream, "err"),
                                .plain = true,
                                .tail = LOGS_TAIL };
    uint32_t id = 0;
    int r;

    if (!task || (!o.out && !o.err))
        return err_set(err, -EINVAL, "logs?task=ROLE:RANK&stream=out, or err, was expected");
    r = engine_find_task(m->engine, task, &id, err);
    if (r == 0)
        r = http_reply_header(c, "X-Content-Type-Options", "nosniff", err);
    if (r < 0)
        return r;
    (void)engine_task_name(m->engine, id, name);
    return hub_stream(m, c, &o, err);
}

/* Links of the page that follows are relative to where it says it is. */
static int lead_to_tensorboard(struct master *m, struct http_call *c, struct err *err)
{
    static const char text[] =
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=" TENSORBOARD
        "\"><a href=\"" TENSORBOARD "\">TensorBoard</a>\n";

    (void)m;
    return http_reply(c, 200, "text/html; charset=utf-8", text, sizeof(text) - 1, err);
}

static int page_send_first(struct master *m, struct http_call *c, struct err *err)
{
    AUTO_FREE char *url = NULL;
    int r = m->spec.tensorboard_first > 0 ? tensorboard_url(m, &url, err) : 0;

    if (r < 0)
        return r;
    return url ? lead_to_tensorboard(m, c, err) : send_page(m, c, err);
}

/* clang-format off */
static const struct {
    const char *path;
    int (*run)(struct master *m, struct http_call *c, struct err *err);
} routes[] = {
    { "/",            page_send_first },
    { "/job",         send_page },
    { "/logs",        send_logs },
    { "/v1/job",      send_status },
    { "/tensorboard", lead_to_tensorboard },
};
/* clang-format on */

/* Access is checked for every request, whatever it asks for; only TensorBoard takes other methods
 * than GET, because its own page needs them. */
static int page_handle(void *user, struct http_call *c, struct err *err)
{
    struct master *m = user;
    const char *path = http_path(c);
    int r = page_access_check(&yarn_of(m)->page->access, http_header(c, "Cookie"), err);

    if (r < 0)
        return r;
    if (str_starts(path, "/tensorboard/"))
        return tensorboard_pass(m, c, err);
    if (!str_eq(http_method(c), "GET"))
        return err_set(err, -EACCES, "this page is for reading only");
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (str_eq(routes[i].path, path))
            return routes[i].run(m, c, err);
    return err_set(err, -ENOENT, "there is nothing at '%s'", path);
}

/* ---- life ---- */

int page_start(struct master *m, struct err *err)
{
    struct http_server_options o = {
        .loop = m->loop,
        .name = "page",
        .check = is_proxy,
        .handler = page_handle,
        .user = m,
        /* YARN's proxy opens a connection for every request, and closes it only when its JVM
         * collects garbage. Connections that it keeps open would use up the limit. */
        .once = true,
        .limits = { .connections_max = CONNECTIONS_MAX },
    };
    int port = 0, r;

    yarn_of(m)->page = calloc(1, sizeof(*yarn_of(m)->page));
    if (!yarn_of(m)->page)
        return err_oom(err);
    yarn_of(m)->page->access =
        (struct page_access){ .owner = m->facts.user,
                              .view = m->spec.acl.view,
                              .host = yarn_of(m)->container->host,
                              .secure = session_secure(yarn_of(m)->container->session),
                              .groups = ask_groups,
                              .arg = m };
    r = listen_tcp("0.0.0.0", 0, 0, &o.fd, &port, err);
    if (r == 0)
        r = http_server_start(&o, &yarn_of(m)->page->server, err);
    if (r < 0)
        return r;
    yarn_of(m)->page_url = str_printf("http://%s:%d/", yarn_of(m)->container->host, port);
    return yarn_of(m)->page_url ? 0 : err_oom(err);
}

void page_find_proxies(struct master *m)
{
    if (yarn_of(m)->page)
        page_access_find(&yarn_of(m)->page->access, m->loop,
                         session_conf(yarn_of(m)->container->session));
}

void page_stop(struct master *m)
{
    if (!yarn_of(m)->page)
        return;
    yarn_of(m)->page->server = http_server_stop(yarn_of(m)->page->server);
    free(yarn_of(m)->page->asked);
    strs_done(&yarn_of(m)->page->groups);
    free(take(yarn_of(m)->page));
}
