/* api.c - the master's HTTP API: doc/reference/api.md, one row per path. */
#include "base/log.h"
#include "base/path.h"
#include "job/protocol.h"
#include "job/segment.h"
#include "loop/listen.h"
#include "master/api/api_log.h"
#include "master/master_private.h"

#include <string.h>

#define KV_WAIT_MAX_MS 40000
#define ANSWERED_MS 200 /* for who waits to be told that this master leaves */

/* ---- status ---- */

static bool flag(struct http_call *c, const char *name)
{
    const char *v = http_query(c, name);

    return v && !str_eq(v, "0");
}

static int get_job(struct master *m, struct http_call *c, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *tasks = http_query(c, "tasks");
    bool usage = flag(c, "usage");
    int r = usage ? usage_wait(m, err) : 0;

    if (r == 0)
        r = api_status(m, !str_eq(tasks, "0"), &v, err);
    if (r == 0 && usage)
        r = usage_add(m, v, err);
    return r < 0 ? r : http_reply_json(c, 200, v, err);
}

/* ---- streams ---- */

static int get_logs(struct master *m, struct http_call *c, struct err *err)
{
    const char *stream = http_query(c, "stream");
    struct follow_options o = {
        .tasks = http_query(c, "task"),
        .logs = true,
        .follow = flag(c, "follow"),
        .out = !stream || strstr(stream, "out"),
        .err = !stream || strstr(stream, "err"),
    };

    return hub_stream(m, c, &o, err);
}

static int get_attach(struct master *m, struct http_call *c, struct err *err)
{
    struct follow_options o = {
        .tasks = http_query(c, "task"),
        .logs = flag(c, "logs"),
        .follow = true,
        .out = true,
        .err = true,
        .events = true,
        .stop_when_gone = flag(c, "stop"),
    };

    return hub_stream(m, c, &o, err);
}

/* Lines of the journal that are asked for: those from record `from` on. */
static int reply_lines(struct http_call *c, const char *p, size_t n, uint64_t from, struct err *err)
{
    const char *at = segment_skip(p, n, from);

    n -= (size_t)(at - p);
    return n > 0 ? http_reply_write(c, at, n, err) : 0;
}

/* Records first, then lines that stand in no log, so that progress is never shown before the event
 * that it follows. `from` is translated once, with the first lines that are read, because a log may
 * begin with a summary (segment_want()). The wait is short, since a reader that has gone is only
 * noticed by asking. */
static int stream_events(struct master *m, struct http_call *c, uint64_t from, struct err *err)
{
    AUTO_BUF lines = { .max = JOURNAL_LINES_MAX };
    uint64_t at = 0, live_at = live_end(&m->live);
    bool follow = flag(c, "follow");
    int r = 0;

    while (r == 0) {
        bool first = at == 0;
        ssize_t n = journal_lines(&m->journal, &at, &lines);

        if (n < 0)
            return err_code(err, (int)n, "read the events log");
        if (first && n > 0)
            from = segment_want((char *)lines.data, (size_t)n, from);
        if (n == 0 && follow && live_read(&m->live, &live_at, &lines) < 0)
            return err_oom(err);
        if (lines.len > 0) {
            r = reply_lines(c, (char *)lines.data, lines.len, from, err);
            continue;
        }
        if (m->ended || !follow)
            break;
        r = cond_wait(m->loop, &m->journal.grown, loop_in(m->loop, 1000));
        if (r == -ETIMEDOUT)
            r = http_gone(c) ? -EPIPE : 0;
    }
    return r;
}

static int get_events(struct master *m, struct http_call *c, struct err *err)
{
    const char *from = http_query(c, "from");
    int64_t first = 0;
    int r = 0;

    if (from && str_to_i64(from, 0, INT64_MAX, &first) < 0)
        r = err_set(err, -EINVAL, "from='%s' is no number", from);
    if (r == 0)
        r = http_reply_begin(c, 200, "application/jsonl", err);
    m->live.watchers++;
    if (r == 0)
        r = stream_events(m, c, (uint64_t)first, err);
    m->live.watchers--;
    return r < 0 ? r : http_reply_end(c, err);
}

/* ---- actions ---- */

/* The job is stopped as if its user had asked for it; that happens once, however many ways it is
 * noticed. */
void api_client_gone(struct master *m)
{
    struct err err = ERR_INIT;

    if (m->client.gone)
        return;
    m->client.gone = true;
    if (engine_stop(m->engine, "the client, which went away", master_now(m), &err) < 0)
        master_fault(m, &err);
    agents_client_gone(m);
    master_wake(m);
}

/* All actions end here: 200 means that the log has it (api_log.c). `n_asking` lets a master that
 * leaves wait for those it still owes an answer. */
static int done(struct master *m, struct http_call *c, int r, struct err *err)
{
    AUTO_JSON *v = NULL;

    master_wake(m);
    m->api.n_asking++;
    if (r == 0)
        r = api_await_log(m, err);
    m->api.n_asking--;
    if (r == 0)
        r = json_make(&v, err, "{s:s}", "state", job_state_name(engine_state(m->engine)));
    return r < 0 ? r : http_reply_json(c, 200, v, err);
}

static int api_put_stop(struct master *m, struct http_call *c, struct err *err)
{
    const char *grace = http_query(c, "grace_ms");
    int64_t ms = 0;

    if (grace && str_to_i64(grace, 0, INT64_MAX / 2, &ms) < 0)
        return err_set(err, -EINVAL, "grace_ms='%s' is no number of milliseconds", grace);
    if (grace)
        engine_set_grace(m->engine, ms);
    return done(m, c, engine_stop(m->engine, m->facts.user, master_now(m), err), err);
}

static int put_kill(struct master *m, struct http_call *c, struct err *err)
{
    return done(m, c, engine_kill(m->engine, m->facts.user, master_now(m), err), err);
}

static int put_restart(struct master *m, struct http_call *c, struct err *err)
{
    const char *name = http_query(c, "task");
    uint32_t task = UINT32_MAX;
    int r = name ? engine_find_task(m->engine, name, &task, err) : 0;

    if (r == 0)
        r = engine_restart(m->engine, task, m->facts.user, master_now(m), err);
    return done(m, c, r, err);
}

static int put_scale(struct master *m, struct http_call *c, struct err *err)
{
    const char *role = http_query(c, "role"), *count = http_query(c, "count");
    int64_t n = 0;

    if (!role || !count || str_to_i64(count, 0, SPEC_TASKS_MAX, &n) < 0)
        return err_set(err, -EINVAL, "role and count are wanted, count from 0 to %d",
                       SPEC_TASKS_MAX);
    return done(m, c, engine_scale(m->engine, role, (unsigned)n, m->facts.user, master_now(m), err),
                err);
}

/* Where the agent beside the client is to dial. */
static int get_join(struct master *m, struct http_call *c, struct err *err)
{
    const char *address = NULL;
    AUTO_JSON *v = NULL;
    int r = m->ops->join_address(m, &address, err);

    if (r == 0 && !m->platform) /* it would be sent away */
        r = err_set(err, -EAGAIN, "nobody is expected yet");
    if (r == 0)
        r = json_make(&v, err, "{s:s}", "address", address);
    return r < 0 ? r : http_reply_json(c, 200, v, err);
}

static int api_put_tokens(struct master *m, struct http_call *c, struct err *err)
{
    return m->ops->put_tokens(m, c, err);
}

/* ---- the cluster specification ---- */

static int get_spec(struct master *m, struct http_call *c, struct err *err)
{
    const char *format = http_query(c, "format");
    AUTO_BUF text = { .max = 64 * MIB };
    const char *type = "text/plain; charset=utf-8";
    int r;

    if (!m->form.text)
        return err_set(err, -EAGAIN, "the job has not been formed yet");
    if (!format || str_eq(format, "json")) {
        /* A copy: sending may wait, and the gang may be formed anew meanwhile. */
        type = "application/json";
        r = buf_add_str(&text, m->form.text) < 0 ? err_oom(err) : 0;
    } else {
        r = specs_render(&m->form.cluster, format, &text, err);
    }
    return r < 0 ? r : http_reply(c, 200, type, text.data, text.len, err);
}

static int get_exports(struct master *m, struct http_call *c, struct err *err)
{
    const char *group = http_path(c) + strlen("/v1/exports");
    AUTO_JSON *v = NULL;
    int r = exports_json(m, *group ? group + 1 : NULL, &v, err);

    return r < 0 ? r : http_reply_json(c, 200, v, err);
}

/* ---- the store ---- */

/* A request over HTTP that waits for its answer: on the stack of the connection's fiber, and in the
 * master's list, so that an answer that comes too late finds nobody instead of a stack that is
 * gone. */
struct kv_wait {
    struct kv_wait *next;
    uint64_t id;
    struct cond done;
    struct buf value;
    bool answered, there;
};

void api_kv_reply(struct master *m, uint64_t id, const struct kv_word *words, size_t n)
{
    struct kv_wait *w = m->api.kv_waits;

    while (w && w->id != id)
        w = w->next;
    if (!w)
        return;
    w->answered = true;
    w->there = n > 0 && (words[0].n == 2 || words[0].n == 5); /* ok, value */
    if (n > 1 && buf_add(&w->value, words[1].p, words[1].n) < 0)
        w->there = false;
    cond_wake_all(&w->done);
}

static void forget_wait(struct master *m, struct kv_wait *w)
{
    struct kv_wait **at = &m->api.kv_waits;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
}

/* The store answers a wait itself when its time is over, so the deadline here is a second later and
 * is met only when the request was dropped. */
static int ask_store(struct master *m, const struct kv_word *words, size_t n, struct kv_wait *w,
                     struct err *err)
{
    struct kv_ask ask = { MASTER_API_TASK, ++m->api.kv_last_id, words, n, master_now(m) };
    int64_t deadline = loop_in(m->loop, KV_WAIT_MAX_MS + 1000);
    int r;

    w->id = ask.id;
    w->next = m->api.kv_waits;
    m->api.kv_waits = w;
    r = kv_request(m->kv, &ask, err);
    master_wake(m);
    m->api.n_asking++;
    while (r == 0 && !w->answered && !m->left)
        r = cond_wait(m->loop, &w->done, deadline);
    m->api.n_asking--;
    forget_wait(m, w);
    if (r == 0 && !w->answered)
        return api_is_leaving(err);
    return r == -ETIMEDOUT ? 0 : r; /* dropped by a new generation: there is no such key */
}

/* "ok" and "value" are the good answers, told apart from "no" by their length (api_kv_reply()); an
 * error has its sentence in the second word. */
static int kv_path(struct master *m, struct http_call *c, struct err *err)
{
    const char *key = http_path(c) + strlen("/v1/kv/"), *wait = http_query(c, "wait");
    struct kv_wait w = { .value = { .max = 2 * MIB } };
    AUTO_BUF body = { .max = 1 * MIB };
    struct kv_word put[] = { { "put", 3 }, { key, strlen(key) }, { NULL, 0 } };
    struct kv_word get[] = { { wait ? "wait" : "get", wait ? 4 : 3 },
                             { key, strlen(key) },
                             { wait, wait ? strlen(wait) : 0 } };
    int64_t ms = 0;
    int r = 0;

    if (wait && str_to_i64(wait, 0, KV_WAIT_MAX_MS, &ms) < 0)
        return err_set(err, -EINVAL, "wait='%s': milliseconds up to %d", wait, KV_WAIT_MAX_MS);
    if (str_eq(http_method(c), "PUT")) {
        r = http_body_all(c, &body, err);
        put[2] = (struct kv_word){ body.data, body.len };
        r = r < 0 ? r : ask_store(m, put, 3, &w, err);
    } else {
        r = ask_store(m, get, wait ? 3 : 2, &w, err);
    }
    if (r == 0 && !w.there)
        r = err_set(err, w.value.len ? -EINVAL : -ENOENT, "%s",
                    w.value.len ? buf_text(&w.value) : "there is no such key");
    if (r == 0)
        r = http_reply(c, 200, "application/octet-stream", w.value.data, w.value.len, err);
    buf_done(&w.value);
    return r;
}

/* ---- the table ---- */

/* clang-format off */
static const struct {
    const char *method, *path; /* a path that ends in a slash stands for all below it */
    int (*run)(struct master *m, struct http_call *c, struct err *err);
} routes[] = {
    { "GET", "/v1/job",     get_job },
    { "GET", "/v1/events",  get_events },
    { "GET", "/v1/logs",    get_logs },
    { "GET", "/v1/attach",  get_attach },
    { "GET", "/v1/join",    get_join },
    { "GET", "/v1/spec",    get_spec },
    { "GET", "/v1/exports", get_exports },
    { "GET", "/v1/exports/", get_exports },
    { "GET", "/v1/kv/",     kv_path },
    { "PUT", "/v1/kv/",     kv_path },
    { "PUT", "/v1/stop",    api_put_stop },
    { "PUT", "/v1/kill",    put_kill },
    { "PUT", "/v1/restart", put_restart },
    { "PUT", "/v1/scale",   put_scale },
    { "PUT", "/v1/signal",  signal_request_put },
    { "PUT", "/v1/tokens",  api_put_tokens },
    { "GET", "/tensorboard/", tensorboard_pass },
    { "PUT", "/tensorboard/", tensorboard_pass },
    { "POST", "/tensorboard/", tensorboard_pass },
};
/* clang-format on */

static bool path_fits(const char *route, const char *path)
{
    size_t n = strlen(route);

    return route[n - 1] == '/' ? strncmp(route, path, n) == 0 : str_eq(route, path);
}

static int api_handle(void *user, struct http_call *c, struct err *err)
{
    struct master *m = user;
    bool path_known = false;
    int r = protocol_check_request(http_header(c, PROTOCOL_HEADER), err);

    if (r < 0)
        return r;
    trace(LOG_MASTER, "%s %s", http_method(c), http_path(c));
    if (m->left && !str_eq(http_method(c), "GET"))
        return api_is_leaving(err);
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (!path_fits(routes[i].path, http_path(c)))
            continue;
        path_known = true;
        if (str_eq(routes[i].method, http_method(c)))
            return routes[i].run(m, c, err);
    }
    if (path_known)
        return err_set(err, -EINVAL, "%s cannot be used on '%s'", http_method(c), http_path(c));
    return err_set(err, -ENOENT, "there is nothing at '%s'", http_path(c));
}

int api_start(struct master *m, struct err *err)
{
    struct http_server_options o = {
        .loop = m->loop, .headers = protocol_header(), .handler = api_handle, .user = m
    };
    int r = m->ops->listen_api(m, &o, err);

    /* A reader that stands still is not cut off: it slows nobody (hub.c). */
    o.limits.write_ms = INT64_MAX / 4;
    return r < 0 ? r : http_server_start(&o, &m->api.server, err);
}

void api_stop(struct master *m)
{
    m->api.server = m->api.server ? http_server_stop(m->api.server) : NULL;
}

/* Those who ask are answered, but for those who wait for the end of the log.
 * Streams are not among them: they break, and their readers continue at the next master. */
static void answer_all(struct master *m)
{
    int64_t until = loop_in(m->loop, ANSWERED_MS);

    cond_wake_all(&m->api.logged);
    for (struct kv_wait *w = m->api.kv_waits; w; w = w->next)
        cond_wake_all(&w->done);
    while (m->api.n_asking > (m->api.log_ended ? 0 : m->api.n_logging) && loop_now(m->loop) < until)
        (void)fiber_yield(m->loop);
    if (m->api.n_logging == 0)
        api_stop(m);
}

/* Nothing that is asked from here on would be in the log. Streams go on at the next master. */
void api_hand_over(struct master *m)
{
    answer_all(m);
}

void api_handed_over(struct master *m, bool log_kept)
{
    m->api.log_kept = log_kept;
    m->api.log_ended = true;
    answer_all(m);
}
