/* client.c - see client.h */
#include "cmd/job/client.h"
#include "base/fiber.h"
#include "base/listen.h"
#include "base/str.h"
#include "cmd/job/past.h"
#include "cmd/job/words.h"
#include "wire/http.h"

#include <string.h>

#define CONNECT_MS 10000
#define READ_BYTES (64 * KIB)
#define GONE_MS 20
#define GONE_TRIES 100

struct client {
    struct loop *loop;
    struct job_dir dir;
    char *logs;
};

struct client_stream {
    struct http_client *http;
};

/* ---- life ---- */

int client_new(struct loop *l, struct job_dir *d, struct client **ret, struct err *err)
{
    AUTO_CLIENT *c = calloc(1, sizeof(*c));

    if (!c)
        return err_oom(err);
    c->dir = (struct job_dir)JOB_DIR_INIT;
    c->logs = path_join(d->path, "logs");
    if (!c->logs)
        return err_oom(err);
    c->loop = l;
    c->dir = *d;
    *d = (struct job_dir)JOB_DIR_INIT;
    *ret = take(c);
    return 0;
}

int client_find(struct loop *l, const char *what, struct client **ret, struct err *err)
{
    AUTO_FREE char *state = NULL;
    AUTO_JOB_DIR d = JOB_DIR_INIT;
    int r = jobs_state_dir(&state, err);

    if (r == 0)
        r = jobs_find(state, what, &d, err);
    return r < 0 ? r : client_new(l, &d, ret, err);
}

struct client *client_free(struct client *c)
{
    if (!c)
        return NULL;
    job_dir_done(&c->dir);
    free(c->logs);
    free(c);
    return NULL;
}

struct loop *client_loop(const struct client *c)
{
    return c->loop;
}

const struct job_dir *client_dir(const struct client *c)
{
    return &c->dir;
}

const char *client_id(const struct client *c)
{
    return c->dir.id;
}

const char *client_logs(const struct client *c)
{
    return c->logs;
}

bool client_alive(struct client *c)
{
    return jobs_alive(&c->dir);
}

bool client_gone(struct client *c, int r)
{
    static const int broken[] = { -ENOTCONN, -ECONNRESET, -EPIPE, -ENODATA, -ECONNABORTED, 0 };
    bool wait = false;

    for (size_t i = 0; i < COUNT_OF(broken); i++)
        wait = wait || r == broken[i];
    for (int i = 0; client_alive(c); i++)
        if (!wait || i == GONE_TRIES || fiber_sleep(c->loop, GONE_MS) < 0)
            return false;
    return true;
}

/* ---- asking ---- */

static int no_master(struct client *c, struct err *err)
{
    err_clear(err);
    err_set(err, -ENOTCONN, "the master of %s cannot be reached: it is gone", c->dir.id);
    err_hint(err, "'ydl status %s' says how far it came; %s/master.log may say why", c->dir.id,
             c->dir.path);
    return -ENOTCONN;
}

static int connect_master(struct client *c, struct http_client **ret, struct err *err)
{
    AUTO_FREE char *path = c->dir.run ? path_join(c->dir.run, "api.sock") : NULL;
    AUTO_STREAM *stream = NULL;
    struct sock *sock = NULL;
    int r;

    if (!c->dir.run)
        return no_master(c, err);
    if (!path)
        return err_oom(err);
    r = sock_connect_unix(c->loop, path, loop_in(c->loop, CONNECT_MS), &sock, err);
    if (r == -ENOENT || r == -ECONNREFUSED)
        return no_master(c, err);
    if (r == 0)
        r = stream_plain(sock, &stream, err);
    if (r == 0)
        r = http_client_new(c->loop, take(stream), "localhost", NULL, ret, err);
    return r;
}

static int all_of(struct client *c, struct http_client *http, struct buf *ret, struct err *err)
{
    int64_t deadline = loop_in(c->loop, CLIENT_ANSWER_MS);

    for (;;) {
        uint8_t *room;
        ssize_t n;

        if (buf_room(ret, READ_BYTES, &room) < 0)
            return err_set(err, -E2BIG, "the master's answer is too long");
        n = http_read(http, room, READ_BYTES, deadline, err);
        if (n <= 0)
            return (int)n;
        ret->len += (size_t)n;
    }
}

/* What the master refused, in its own words. */
static int refused(struct client *c, struct http_client *http, int status, struct err *err)
{
    static const struct {
        int status, code;
    } rows[] = {
        { 400, -EINVAL }, { 403, -EACCES },     { 404, -ENOENT }, { 405, -EOPNOTSUPP },
        { 409, -EBUSY },  { 501, -EOPNOTSUPP }, { 503, -EAGAIN }, { 504, -ETIME },
    };
    AUTO_BUF body = { .max = 256 * KIB };
    AUTO_JSON *v = NULL;
    const json_t *error = NULL;
    int code = -EIO;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].status == status)
            code = rows[i].code;
    if (all_of(c, http, &body, NULL) == 0 &&
        json_parse("answer", body.data ? body.data : (uint8_t *)"", body.len, &v, NULL) == 0)
        error = json_object_get(v, "error");
    if (*words_text(error, "text"))
        err_set(err, code, "%s", words_text(error, "text"));
    else
        err_set(err, code, "the master of %s answered %d", c->dir.id, status);
    if (*words_text(error, "hint"))
        err_hint(err, "%s", words_text(error, "hint"));
    return code;
}

static int ask(struct client *c, const char *method, const char *target, struct http_client **ret,
               struct err *err)
{
    AUTO(http_client) struct http_client *http = NULL;
    const struct http_request request = { .method = method, .target = target };
    struct http_answer answer;
    int r = connect_master(c, &http, err);

    if (r < 0)
        return r;
    r = http_ask(http, &request, loop_in(c->loop, CLIENT_ANSWER_MS), &answer, err);
    if (r < 0)
        return err_wrap(err, r, "ask the master of %s", c->dir.id);
    if (answer.status >= 400)
        return refused(c, http, answer.status, err);
    *ret = take(http);
    return 0;
}

int client_get(struct client *c, const char *target, struct buf *ret, struct err *err)
{
    AUTO(http_client) struct http_client *http = NULL;
    int r = ask(c, "GET", target, &http, err);

    return r < 0 ? r : all_of(c, http, ret, err);
}

int client_put(struct client *c, const char *target, struct err *err)
{
    AUTO(http_client) struct http_client *http = NULL;

    return ask(c, "PUT", target, &http, err);
}

/* ---- streams ---- */

int client_open(struct client *c, const char *target, struct client_stream **ret, struct err *err)
{
    AUTO_CLIENT_STREAM *s = calloc(1, sizeof(*s));
    int r = s ? ask(c, "GET", target, &s->http, err) : err_oom(err);

    if (r < 0)
        return r;
    *ret = take(s);
    return 0;
}

ssize_t client_read(struct client_stream *s, void *p, size_t n, struct err *err)
{
    return http_read(s->http, p, n, LOOP_NEVER, err);
}

struct client_stream *client_close(struct client_stream *s)
{
    if (!s)
        return NULL;
    http_client_free(s->http);
    free(s);
    return NULL;
}

/* ---- what is known ---- */

int client_status(struct client *c, bool tasks, json_t **ret, struct err *err)
{
    AUTO_BUF body = { .max = CLIENT_BODY_MAX };
    int r = -ENOTCONN;

    if (client_alive(c))
        r = client_get(c, tasks ? "/v1/job" : "/v1/job?tasks=0", &body, err);
    if (r == 0)
        return json_parse("the master's answer", body.data ? body.data : (uint8_t *)"", body.len,
                          ret, err);
    /* It may have ended between the look and the question. */
    if (!client_gone(c, r))
        return r;
    err_clear(err);
    return past_status(&c->dir, tasks, ret, err);
}

/* ---- events ---- */

static int read_events(struct client_stream *s, int (*fn)(void *arg, const char *line, size_t n),
                       void *arg, struct err *err)
{
    AUTO_BUF b = { .max = MIB + READ_BYTES };
    int r = 0;

    while (r == 0) {
        const char *at, *end, *nl;
        uint8_t *room;
        ssize_t n;

        if (buf_room(&b, READ_BYTES, &room) < 0)
            return err_set(err, -EPROTO, "the master's events have a line without an end");
        n = client_read(s, room, READ_BYTES, err);
        if (n <= 0)
            return (int)n;
        b.len += (size_t)n;
        at = (char *)b.data;
        end = at + b.len;
        for (; r == 0 && (nl = memchr(at, '\n', (size_t)(end - at))) != NULL; at = nl + 1)
            r = fn(arg, at, (size_t)(nl - at));
        buf_eat(&b, (size_t)(at - (char *)b.data));
    }
    return r;
}

int client_events(struct client *c, bool follow, int (*fn)(void *arg, const char *line, size_t n),
                  void *arg, struct err *err)
{
    AUTO_CLIENT_STREAM *s = NULL;
    int r;

    if (!follow || !client_alive(c)) /* the log is a file of ours either way */
        return past_events(&c->dir, fn, arg, err);
    r = client_open(c, "/v1/events?follow=1", &s, err);
    if (r == 0)
        return read_events(s, fn, arg, err);
    if (!client_gone(c, r))
        return r;
    err_clear(err);
    return past_events(&c->dir, fn, arg, err);
}
