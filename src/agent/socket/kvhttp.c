/* kvhttp.c - the job's key-value store by HTTP, on the same socket as the lines.
 *
 *     GET /v1/kv/KEY[?wait=MS]      the value; 404 when there is none (or not in time)
 *     PUT /v1/kv/KEY                the body becomes its value
 *     DELETE /v1/kv/KEY             404 when there was none
 *     POST /v1/kv/KEY?add=NUMBER    a counter; answers the sum
 *     GET /v1/kv[?prefix=TEXT]      keys, one on a line
 *     POST /v1/barrier/NAME[?count=N][&wait=MS]     408 when not all came in time
 *     POST /v1/note                 the body becomes a note in the job's events
 *     POST /v1/progress             {"step": 3, "total": 10, "metrics": {"loss": 0.5}}
 *
 * Values may be any bytes. */
#include "agent/socket/kvhttp.h"
#include "agent/agent_private.h"
#include "agent/link/kv_relay.h"
#include "agent/socket/kvline.h"
#include "base/json.h"
#include "wire/http_call.h"

#include <stdio.h>
#include <string.h>

#define VALUE_MAX MIB
#define METRICS_MAX 32

/* A request to the store being put together from texts that outlive it. */
struct ask {
    struct kvline_word words[KVLINE_WORDS];
    size_t n;
};

static void kvhttp_add(struct ask *q, const void *p, size_t n)
{
    if (q->n < KVLINE_WORDS)
        q->words[q->n++] = (struct kvline_word){ .p = p, .n = n };
}

static void kvhttp_add_text(struct ask *q, const char *s)
{
    kvhttp_add(q, s, strlen(s));
}

/* ---- answers ---- */

/* What the store's first word means here. */
static const struct {
    const char *word;
    int status;
} statuses[] = {
    { "ok", 200 }, { "value", 200 }, { "keys", 200 }, { "none", 404 }, { "timeout", 408 },
};

static int reply(struct http_call *c, const struct buf *answer, struct err *err)
{
    struct view v = view_of(answer->data, answer->len);
    AUTO_BUF body = { .max = 65 * MIB };
    struct kvline_word word = { 0 }, value = { 0 };
    int status = 400, r = 0;

    if (!relay_next(&v, &word))
        return err_set(err, -EBADMSG, "the master's answer makes no sense");
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        if (strlen(statuses[i].word) == word.n && memcmp(statuses[i].word, word.p, word.n) == 0)
            status = statuses[i].status;
    while (r == 0 && v.n > 0 && relay_next(&v, &value)) {
        r = buf_add(&body, value.p, value.n);
        if (r == 0 && word.n == 4 && memcmp(word.p, "keys", 4) == 0)
            r = buf_add_u8(&body, '\n');
    }
    if (r < 0)
        return err_oom(err);
    return http_reply(c, status, "application/octet-stream", body.data, body.len, err);
}

static int kvhttp_ask(struct agent_task *t, struct http_call *c, const struct ask *q,
                      struct err *err)
{
    AUTO_BUF answer = { .max = 65 * MIB };
    int r = relay_ask(t, q->words, q->n, &answer);

    return r < 0 ? err_code(err, r, "ask the job's master") : reply(c, &answer, err);
}

/* ---- requests ---- */

static int kvhttp_get_key(struct agent_task *t, struct http_call *c, const char *key,
                          struct err *err)
{
    const char *ms = http_query(c, "wait");
    struct ask q = { 0 };

    kvhttp_add_text(&q, ms ? "wait" : "get");
    kvhttp_add_text(&q, key);
    if (ms && *ms)
        kvhttp_add_text(&q, ms);
    return kvhttp_ask(t, c, &q, err);
}

static int kvhttp_put_key(struct agent_task *t, struct http_call *c, const char *key,
                          struct err *err)
{
    AUTO_BUF body = { .max = VALUE_MAX };
    struct ask q = { 0 };
    int r = http_body_all(c, &body, err);

    if (r < 0)
        return r;
    kvhttp_add_text(&q, "put");
    kvhttp_add_text(&q, key);
    kvhttp_add(&q, body.data, body.len);
    return kvhttp_ask(t, c, &q, err);
}

static int delete_key(struct agent_task *t, struct http_call *c, const char *key, struct err *err)
{
    struct ask q = { 0 };

    kvhttp_add_text(&q, "del");
    kvhttp_add_text(&q, key);
    return kvhttp_ask(t, c, &q, err);
}

static int add_to_key(struct agent_task *t, struct http_call *c, const char *key, struct err *err)
{
    const char *by = http_query(c, "add");
    struct ask q = { 0 };

    if (!by)
        return err_set(err, -EINVAL, "how much? add=NUMBER is missing");
    kvhttp_add_text(&q, "add");
    kvhttp_add_text(&q, key);
    kvhttp_add_text(&q, by);
    return kvhttp_ask(t, c, &q, err);
}

static int kvhttp_list_keys(struct agent_task *t, struct http_call *c, const char *rest,
                            struct err *err)
{
    const char *prefix = http_query(c, "prefix");
    struct ask q = { 0 };

    (void)rest;
    kvhttp_add_text(&q, "list");
    if (prefix && *prefix)
        kvhttp_add_text(&q, prefix);
    return kvhttp_ask(t, c, &q, err);
}

static int barrier(struct agent_task *t, struct http_call *c, const char *name, struct err *err)
{
    const char *count = http_query(c, "count"), *ms = http_query(c, "wait");
    struct ask q = { 0 };

    if (ms && !count)
        return err_set(err, -EINVAL, "wait= needs count=");
    kvhttp_add_text(&q, "barrier");
    kvhttp_add_text(&q, name);
    if (count)
        kvhttp_add_text(&q, count);
    if (ms)
        kvhttp_add_text(&q, ms);
    return kvhttp_ask(t, c, &q, err);
}

/* "NAME=NUMBER" for each metric; anything but a number is refused. */
static int add_metrics(struct ask *q, const json_t *metrics, struct strs *texts, struct err *err)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)metrics, name, v)
    {
        if (!json_is_number(v) || strpbrk(name, " =\n") || texts->n == METRICS_MAX)
            return err_set(err, -EINVAL, "at most %d metrics", METRICS_MAX);
        if (strs_take(texts, str_printf("%s=%.17g", name, json_number_value(v))) < 0)
            return err_oom(err);
        kvhttp_add_text(q, texts->v[texts->n - 1]);
    }
    return 0;
}

/* Turned into the words of the line "progress STEP TOTAL NAME=NUMBER …", so that there is one way
 * to report progress, whatever language it came in. The texts live until the answer, as the request
 * borrows them. */
static int progress(struct agent_task *t, struct http_call *c, const char *rest, struct err *err)
{
    AUTO_BUF body = { .max = 64 * KIB };
    AUTO_JSON *v = NULL;
    AUTO_STRS texts = { 0 };
    json_t *metrics = NULL;
    json_int_t step = 0, total = 0;
    char numbers[2][24];
    struct ask q = { 0 };
    int r = http_body_all(c, &body, err);

    (void)rest;
    if (r == 0)
        r = json_parse("the report", body.data, body.len, &v, err);
    if (r < 0)
        return r;
    if (json_unpack(v, "{s:I, s?I, s?o}", "step", &step, "total", &total, "metrics", &metrics) < 0)
        return err_set(err, -EINVAL,
                       "a progress report needs a step; total and metrics are optional");
    snprintf(numbers[0], sizeof(numbers[0]), "%lld", (long long)step);
    snprintf(numbers[1], sizeof(numbers[1]), "%lld", (long long)total);
    kvhttp_add_text(&q, "progress");
    kvhttp_add_text(&q, numbers[0]);
    kvhttp_add_text(&q, numbers[1]);
    r = add_metrics(&q, metrics, &texts, err);
    return r < 0 ? r : kvhttp_ask(t, c, &q, err);
}

static int kvhttp_note(struct agent_task *t, struct http_call *c, const char *rest, struct err *err)
{
    AUTO_BUF body = { .max = 64 * KIB };
    struct ask q = { 0 };
    int r = http_body_all(c, &body, err);

    (void)rest;
    if (r < 0)
        return r;
    kvhttp_add_text(&q, "note");
    kvhttp_add(&q, body.data, body.len);
    return kvhttp_ask(t, c, &q, err);
}

/* A path that ends with a slash goes on: what follows is the name. */
static const struct {
    const char *method, *path;
    int (*fn)(struct agent_task *t, struct http_call *c, const char *rest, struct err *err);
} routes[] = {
    { "GET", "/v1/kv/", kvhttp_get_key },  { "PUT", "/v1/kv/", kvhttp_put_key },
    { "DELETE", "/v1/kv/", delete_key },   { "POST", "/v1/kv/", add_to_key },
    { "GET", "/v1/kv", kvhttp_list_keys }, { "POST", "/v1/barrier/", barrier },
    { "PUT", "/v1/barrier/", barrier },    { "POST", "/v1/progress", progress },
    { "PUT", "/v1/progress", progress },   { "POST", "/v1/note", kvhttp_note },
};

static int kvhttp_handle(struct agent_task *t, struct http_call *c, struct err *err)
{
    const char *path = http_path(c), *method = http_method(c);
    bool known = false;

    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        size_t n = strlen(routes[i].path);
        bool whole = routes[i].path[n - 1] != '/';

        if (strncmp(path, routes[i].path, n) != 0 || (path[n] == '\0') != whole)
            continue;
        known = true;
        if (str_eq(method, routes[i].method))
            return routes[i].fn(t, c, path + n, err);
    }
    if (known)
        return err_set(err, -EINVAL, "method %s is not allowed for '%s'", method, path);
    return err_set(err, -ENOENT, "there is nothing at '%s'", path);
}

/* ---- the connection ---- */

/* Returns whether another request may follow.
 * A body that the handler did not read is read and dropped: the next request begins behind it. */
static bool serve_one(struct agent_task *t, struct http_conn *conn)
{
    struct err err = ERR_INIT;
    struct http_call c;
    char dropped[KIB];
    bool more = false;
    int r;

    http_call_init(&c, conn);
    r = http_conn_head(conn, LOOP_NEVER, &err); /* the task's end ends it */
    if (r > 0) {
        r = http_call_open(&c, &err);
        if (r == 0)
            r = kvhttp_handle(t, &c, &err);
        if (r < 0)
            r = http_reply_error(&c, r, &err, NULL);
        more = r >= 0 && !c.last;
        while (more && http_conn_body(conn, dropped, sizeof(dropped), LOOP_NEVER, NULL) > 0)
            ;
        more = more && conn->in.stage == HTTP_AT_END;
    } else if (r < 0 && conn->in.status) {
        c.last = true;
        c.status = conn->in.status;
        (void)http_reply_error(&c, r, &err, NULL);
    }
    http_call_done(&c);
    http_parse_next(&conn->in);
    return more;
}

void kvhttp_serve(struct agent_task *t, struct sock *s, const struct buf *in)
{
    struct http_limits limits = { .body_max = VALUE_MAX };
    struct stream *stream = NULL;
    struct http_conn conn;

    http_limits_fill(&limits);
    if (stream_plain(s, &stream, NULL) < 0)
        return;
    http_conn_init(&conn, t->agent->loop, stream, false, &limits);
    if (buf_add(&conn.raw, in->data, in->len) == 0)
        while (serve_one(t, &conn))
            ;
    http_conn_done(&conn);
}
