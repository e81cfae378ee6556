/* client.c - requests and documents for both kinds of client. A request waits for a master that
 * is being replaced; a status falls back to the job's files when no master answers. See client.h.
 */
#include "client/client.h"
#include "base/str.h"
#include "client/client_private.h"
#include "job/protocol.h"
#include "loop/fiber.h"
#include "terminal/format.h"
#include "wire/http.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_MS 10000
#define READ_BYTES (64 * KIB)

struct client_stream {
    struct http_client *http;
};

/* ---- life ---- */

static void note_on_stderr(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "ydl: %s\n", text);
}

int client_init(struct client *c, struct loop *l, const struct client_ops *ops, const char *id,
                struct err *err)
{
    c->ops = ops;
    c->loop = l;
    c->patience = CLIENT_SHORT_MS;
    c->connect_ms = CONNECT_MS;
    c->note = note_on_stderr;
    c->id = strdup(id);
    return c->id ? 0 : err_oom(err);
}

struct client *client_free(struct client *c)
{
    if (!c)
        return NULL;
    c->ops->free(c);
    free(c->id);
    free(c->home);
    free(c->logs);
    free(c);
    return NULL;
}

struct loop *client_loop(const struct client *c)
{
    return c->loop;
}

const char *client_where(const struct client *c)
{
    return c->ops->where;
}

const char *client_id(const struct client *c)
{
    return c->id;
}

/* Where files are is found out when somebody wants to know. */
static const char *client_place(struct client *c, char *const *what)
{
    struct past p = { .id = c->id };

    if (!*what)
        (void)c->ops->past(c, &p, NULL);
    return *what ? *what : "";
}

const char *client_home(struct client *c)
{
    return client_place(c, &c->home);
}

const char *client_logs(struct client *c)
{
    return client_place(c, &c->logs);
}

void client_set_note(struct client *c, client_note_fn *fn, void *user)
{
    c->note = fn;
    c->note_user = user;
}

void client_set_patience(struct client *c, int64_t ms)
{
    c->patience = ms;
}

void client_set_connect(struct client *c, int64_t ms)
{
    c->connect_ms = ms;
}

void client_say(struct client *c, const char *fmt, ...)
{
    char text[480], clean[1024];
    va_list ap;

    if (!c->note)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    str_clean(clean, sizeof(clean), text); /* parts of it come from others */
    c->note(c->note_user, clean);
}

int client_alive(struct client *c, struct err *err)
{
    return c->ops->alive(c, err);
}

/* 0 is an end where more was to come: a stream that stopped. None of these says whether the request
 * was carried out. */
bool client_broken(int r)
{
    static const int broken[] = { 0,          -ENOTCONN,     -ECONNRESET,   -EPIPE,
                                  -ENODATA,   -ECONNABORTED, -ECONNREFUSED, -EHOSTUNREACH,
                                  -ETIMEDOUT, -ENETUNREACH,  -EHOSTDOWN,    -ENETDOWN };

    for (size_t i = 0; i < COUNT_OF(broken); i++)
        if (r == broken[i])
            return true;
    return false;
}

/* After a broken connection the platform says whether there is, or will be, a master to ask: 1 yes,
 * 0 the job has ended, negative when nobody can tell. A refusal is final, except by a master here
 * that is just ending. */
int client_again(struct client *c, int r, struct err *err)
{
    bool ours = r == -ENOMEM || r == -ECANCELED;
    int now;

    if (!client_broken(r)) /* one that ends refuses this and that */
        now = !ours && c->ops->here && c->ops->alive(c, NULL) == 0 ? 0 : r;
    else
        now = c->ops->again(c, r, err);
    if (now >= 0)
        err_clear(err);
    return now;
}

void client_settle(struct client *c)
{
    c->ops->settle(c);
}

/* ---- asking ---- */

enum ask { ASK_NOW, ASK_PATIENTLY };

/* A connection; with patience for a master that is being replaced.
 *
 * For a job on this machine connecting itself waits for as long as its master lives
 * (client_local.c). */
static int connect_master(struct client *c, enum ask how, struct http_client **ret, struct err *err)
{
    struct stream *stream = NULL;
    int r = c->ops->connect(c, &stream, err);

    while (r < 0 && how == ASK_PATIENTLY && !c->ops->here) {
        int now = client_again(c, r, err);

        if (now <= 0)
            return now < 0 ? now : err_set(err, -ENOTCONN, "%s has ended", c->id);
        r = c->ops->connect(c, &stream, err);
    }
    return r < 0 ? r : http_client_new(c->loop, stream, "localhost", NULL, ret, err);
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
static int client_refused(struct client *c, struct http_client *http, int status, struct err *err)
{
    static const struct {
        int status, code;
    } rows[] = {
        { 400, -EINVAL },     { 403, -EACCES }, { 404, -ENOENT },
        { 405, -EOPNOTSUPP }, { 409, -EBUSY },  { 426, -EPROTONOSUPPORT },
        { 501, -EOPNOTSUPP }, { 503, -EAGAIN }, { 504, -ETIME },
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
    if (*format_text(error, "text"))
        err_set(err, code, "%s", format_text(error, "text"));
    else
        err_set(err, code, "the master of %s answered %d", c->id, status);
    if (*format_text(error, "hint"))
        err_hint(err, "%s", format_text(error, "hint"));
    return code;
}

static int client_ask(struct client *c, enum ask how, const struct http_request *request,
                      struct http_client **ret, struct err *err)
{
    AUTO(http_client) struct http_client *http = NULL;
    struct http_request numbered = *request;
    struct http_answer answer;
    int r = connect_master(c, how, &http, err);

    if (r < 0)
        return r;
    numbered.headers = protocol_header();
    r = http_ask(http, &numbered, loop_in(c->loop, CLIENT_ANSWER_MS), &answer, err);
    if (r < 0)
        return err_wrap(err, r, "ask the master of %s", c->id);
    if (answer.status != 426) /* its own words are better */
        r = protocol_check_answer(http_answer_header(http, PROTOCOL_HEADER), err);
    if (r < 0)
        return err_wrap(err, r, "%s", c->id);
    if (answer.status >= 400)
        return client_refused(c, http, answer.status, err);
    *ret = take(http);
    return 0;
}

static int client_get_as(struct client *c, enum ask how, const char *target, struct buf *ret,
                         struct err *err)
{
    const struct http_request request = { .method = "GET", .target = target };
    AUTO(http_client) struct http_client *http = NULL;
    int r = client_ask(c, how, &request, &http, err);

    return r < 0 ? r : all_of(c, http, ret, err);
}

int client_get(struct client *c, const char *target, struct buf *ret, struct err *err)
{
    return client_get_as(c, ASK_PATIENTLY, target, ret, err);
}

static int client_put_as(struct client *c, enum ask how, const char *target, struct err *err)
{
    const struct http_request request = { .method = "PUT", .target = target };
    AUTO(http_client) struct http_client *http = NULL;

    return client_ask(c, how, &request, &http, err);
}

int client_put(struct client *c, const char *target, struct err *err)
{
    return client_put_as(c, ASK_PATIENTLY, target, err);
}

int client_put_now(struct client *c, const char *target, const void *p, size_t n, struct err *err)
{
    const struct http_request request = {
        .method = "PUT", .target = target, .type = "application/octet-stream", .body = p, .size = n
    };
    AUTO(http_client) struct http_client *http = NULL;

    return client_ask(c, ASK_NOW, &request, &http, err);
}

/* Whom a request that ends the job cannot reach: it does not answer, is of another version of ydl,
 * or is about to leave. */
static bool is_deaf(int r)
{
    return client_broken(r) || r == -EPROTONOSUPPORT || r == -EAGAIN;
}

/* A job whose master has not started yet, or with `force` one that does not answer or understand,
 * is ended through YARN, which needs no master.
 *
 *     r of the request       what it does
 *     0                      nothing: the master ends the job
 *     refused                that is the answer
 *     cannot be reached      kills it through YARN when there was no master yet, or with `force`
 *     too old or too new     the same, with `force` only */
int client_end(struct client *c, const char *target, bool force, struct err *err)
{
    struct err why = ERR_INIT;
    int r = client_put_as(c, ASK_NOW, target, &why);
    bool unborn = r < 0 && client_broken(r) && c->ops->kill && c->ops->unborn(c);

    if (r == 0 || !(unborn || (force && c->ops->kill && is_deaf(r)))) {
        if (r < 0 && err)
            *err = why;
        return r;
    }
    if (!unborn && client_alive(c, NULL) == 0)
        return 0; /* it has ended just now */
    if (!unborn)
        client_say(c, "%s: killing it through YARN", why.text);
    return c->ops->kill(c, err);
}

/* ---- streams ---- */

int client_open(struct client *c, const char *target, struct client_stream **ret, struct err *err)
{
    const struct http_request request = { .method = "GET", .target = target };
    AUTO_CLIENT_STREAM *s = calloc(1, sizeof(*s));
    int r = s ? client_ask(c, ASK_PATIENTLY, &request, &s->http, err) : err_oom(err);

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

/* Does not wait for a master that is away: the files know enough. */
#define STATUS "/v1/job"
#define SUMMARY "/v1/job?tasks=0"
#define USAGE "/v1/job?usage=1"
static int ask_status(struct client *c, const char *target, json_t **ret, struct err *err)
{
    AUTO_BUF body = { .max = CLIENT_BODY_MAX };
    int r = client_get_as(c, ASK_NOW, target, &body, err);

    if (r < 0)
        return r;
    return json_parse("the master's answer", body.data ? body.data : (uint8_t *)"", body.len, ret,
                      err);
}

static int from_files(struct client *c, bool tasks, json_t **ret, struct err *err)
{
    struct past p = { .id = c->id };
    int r = c->ops->past(c, &p, err);

    if (r == 0)
        r = past_status(&p, tasks, ret, err);
    return r < 0 || !c->ops->add ? r : c->ops->add(c, *ret, err);
}

/* The master's own document, or -ENOTCONN when only the files are left to ask.
 * Asked once: a status must not hang while a master is being replaced, and the files know nearly as
 * much. */
static int from_master(struct client *c, const char *target, json_t **ret, struct err *err)
{
    int r = client_alive(c, err), now;

    if (r <= 0)
        return r < 0 ? r : -ENOTCONN;
    r = ask_status(c, target, ret, err);
    if (r == 0 || !client_broken(r))
        return r;
    /* It may have ended between the look and the question. */
    now = c->ops->here ? client_again(c, r, err) : 0;
    return now == 0 ? -ENOTCONN : now < 0 ? now : r;
}

static int client_status_at(struct client *c, const char *target, bool tasks, json_t **ret,
                            struct err *err)
{
    int r = from_master(c, target, ret, err);

    if (r != -ENOTCONN)
        return r;
    err_clear(err);
    return from_files(c, tasks, ret, err);
}

int client_status(struct client *c, bool tasks, json_t **ret, struct err *err)
{
    return client_status_at(c, tasks ? STATUS : SUMMARY, tasks, ret, err);
}

int client_usage(struct client *c, json_t **ret, struct err *err)
{
    return client_status_at(c, USAGE, true, ret, err);
}

int client_summary(struct client *c, json_t **ret, struct err *err)
{
    struct past p = { .id = c->id };
    int r = from_master(c, SUMMARY, ret, err);

    if (r == 0 || r == -ENOMEM || r == -ECANCELED)
        return r;
    err_clear(err); /* when it does not answer, its files know the most */
    r = c->ops->past(c, &p, err);
    if (r == 0)
        r = past_summary(&p, ret, err);
    return r < 0 || !c->ops->add ? r : c->ops->add(c, *ret, err);
}
