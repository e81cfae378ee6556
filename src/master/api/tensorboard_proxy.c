/* tensorboard_proxy.c - the way to a job's TensorBoard through its master, for browsers that reach
 * the master and not the node it runs on.
 *
 * Whoever comes through YARN's proxy comes with GET alone; TensorBoard's own page asks by POST and
 * falls back to GET only when its address says that it is in a notebook: the links here do. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define ROLE "tensorboard"
#define PREFIX "/tensorboard"
#define ASK_MS 60000 /* the proxy does not wait longer either */
#define BODY_MAX (16 * MIB)
#define PIECE (16 * KIB)
#define PASS_MAX 64 /* requests at the same time */

/* The task that runs it, once it can be asked; NULL: none. */
static const struct task *find_task(const struct master *m)
{
    const struct task *t = NULL;

    while ((t = engine_next_in_gang(m->engine, t)))
        if (str_eq(m->spec.roles[t->role].name, ROLE) && t->state == TASK_RUNNING && t->n_ports > 0)
            break;
    return t;
}

static const char *host_of(struct master *m, const struct task *t)
{
    const struct agent_conn *a = agents_get(m, t->agent);

    return a && *a->host ? a->host : NULL;
}

int tensorboard_url(struct master *m, char **ret, struct err *err)
{
    const struct task *t = m->spec.tensorboard ? find_task(m) : NULL;
    const char *host = t ? host_of(m, t) : NULL;

    *ret = NULL;
    if (!host)
        return 0;
    *ret = str_printf(strchr(host, ':') ? "http://[%s]:%u/" : "http://%s:%u/", host, t->port[0]);
    return *ret ? 0 : err_oom(err);
}

static int tensorboard_dial(struct master *m, struct http_client **ret, struct err *err)
{
    const struct task *t = find_task(m);
    const char *found = t ? host_of(m, t) : NULL;
    AUTO_FREE char *host = found ? strdup(found) : NULL; /* its agent may go while we wait */
    struct stream *stream = NULL;
    struct sock *s = NULL;
    int r;

    if (!found)
        return err_set(err, -ENOENT, "no TensorBoard runs in this job now");
    if (!host)
        return err_oom(err);
    r = sock_connect(m->loop, host, t->port[0], loop_in(m->loop, ASK_MS), &s, err);
    if (r == 0)
        r = stream_plain(s, &stream, err);
    if (r == 0)
        r = http_client_new(m->loop, stream, "localhost", NULL, ret, err);
    return r < 0 ? err_wrap(err, r, "TensorBoard does not answer yet") : 0;
}

/* What tells a browser how to read what it gets. */
static int pass_headers(struct http_client *from, struct http_call *c, struct err *err)
{
    static const char *const names[] = { "Content-Encoding", "Cache-Control", "Location",
                                         "Content-Disposition" };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(names) && r == 0; i++) {
        const char *value = http_answer_header(from, names[i]);

        if (value)
            r = http_reply_header(c, names[i], value, err);
    }
    return r;
}

static int pass_answer(struct master *m, struct http_client *from, const struct http_answer *a,
                       struct http_call *c, struct err *err)
{
    const char *type = http_answer_header(from, "Content-Type");
    AUTO_FREE char *piece = malloc(PIECE);
    int r = piece ? pass_headers(from, c, err) : err_oom(err);
    ssize_t n = 0;

    if (r == 0)
        r = http_reply_begin(c, a->status, type ? type : "application/octet-stream", err);
    while (r == 0 && (n = http_read(from, piece, PIECE, loop_in(m->loop, ASK_MS), err)) > 0)
        r = http_reply_write(c, piece, (size_t)n, err);
    if (r < 0 || n < 0)
        return r < 0 ? r : (int)n;
    return http_reply_end(c, err);
}

static ssize_t next_piece(void *user, void *p, size_t n, struct err *err)
{
    return http_body(user, p, n, err);
}

/* Only bodies whose length is known are passed on: the other side is told it before the first byte.
 */
static int pass_request(struct master *m, struct http_client *to, struct http_call *c,
                        struct err *err)
{
    struct http_request q = { .method = http_method(c),
                              .target = http_raw(c) + strlen(PREFIX),
                              .type = http_header(c, "Content-Type"),
                              .user = c };
    uint64_t size = http_body_size(c);
    struct http_answer answer = { 0 };
    int r;

    if (size == UINT64_MAX)
        return err_set(err, -EINVAL, "a request's body needs a Content-Length here");
    if (size > BODY_MAX)
        return err_set(err, -E2BIG, "a body of more than %zu bytes", (size_t)BODY_MAX);
    q.next = size > 0 ? next_piece : NULL;
    q.size = size;
    r = http_ask(to, &q, loop_in(m->loop, ASK_MS), &answer, err);
    return r < 0 ? r : pass_answer(m, to, &answer, c, err);
}

/* A request's body is taken from the client only as TensorBoard takes it: nothing is kept here, and
 * nothing at all is read where there is none. */
int tensorboard_pass(struct master *m, struct http_call *c, struct err *err)
{
    AUTO(http_client) struct http_client *client = NULL;
    const char *raw = http_raw(c);
    int r;

    if (!str_starts(raw, PREFIX "/"))
        return err_set(err, -EINVAL, "'%.200s' is not written plainly", raw);
    if (m->api.n_passed >= PASS_MAX)
        return err_set(err, -EAGAIN, "too many ask for TensorBoard at the same time");
    m->api.n_passed++;
    r = tensorboard_dial(m, &client, err);
    if (r == 0)
        r = pass_request(m, client, c, err);
    m->api.n_passed--;
    return r;
}
