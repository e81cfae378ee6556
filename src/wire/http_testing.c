/* http_testing.c - see http_testing.h */
#include "wire/http_testing.h"
#include "loop/listen.h"

#include <string.h>

#define ANSWER_MAX (32 * MIB)

/* ---- the handler ---- */

static int64_t number(struct http_call *c, const char *name)
{
    const char *text = http_query(c, name);
    int64_t n = 0;

    return text && str_to_i64(text, 0, INT32_MAX, &n) == 0 ? n : 0;
}

static int hello(struct http_world *w, struct http_call *c, struct err *err)
{
    (void)w;
    return http_reply(c, 200, "text/plain", "hello\n", 6, err);
}

static int echo(struct http_world *w, struct http_call *c, struct err *err)
{
    char piece[8 * KIB];
    ssize_t n = 0;
    int r = 0;

    (void)w;
    if (http_header(c, "X-Begin")) /* before the body is read */
        r = http_reply_begin(c, 200, "text/plain", err);
    while (r == 0 && (n = http_body(c, piece, sizeof(piece), err)) > 0) {
        if (!http_header(c, "X-Begin") && http_reply_header(c, "X-First", "yes", NULL) == 0)
            r = http_reply_begin(c, 200, "text/plain", err);
        if (r == 0)
            r = http_reply_write(c, piece, (size_t)n, err);
    }
    if (r < 0 || n < 0)
        return r < 0 ? r : (int)n;
    /* Nothing came: nothing was begun. */
    r = http_reply_end(c, NULL);
    return r < 0 ? http_reply(c, 200, "text/plain", NULL, 0, err) : 0;
}

static int big(struct http_world *w, struct http_call *c, struct err *err)
{
    size_t n = (size_t)number(c, "n");
    AUTO_FREE char *data = malloc(n + 1);

    (void)w;
    if (!data)
        return err_oom(err);
    memset(data, 'b', n);
    return http_reply(c, 200, "application/octet-stream", data, n, err);
}

static int stream(struct http_world *w, struct http_call *c, struct err *err)
{
    int64_t n = number(c, "n");
    int r = http_reply_begin(c, 200, "text/plain", err);

    (void)w;
    for (int64_t i = 0; i < n && r == 0; i++) {
        char line[32];

        snprintf(line, sizeof(line), "chunk %d\n", (int)i);
        r = http_reply_write(c, line, strlen(line), err);
    }
    return r < 0 ? r : http_reply_end(c, err);
}

static int say(struct http_world *w, struct http_call *c, struct err *err)
{
    const char *name = http_query(c, "name");
    AUTO_JSON *v = NULL;
    int r = json_make(&v, err, "{s:o,s:s}", "name", json_text(name), "method", http_method(c));

    (void)w;
    return r < 0 ? r : http_reply_json(c, 200, v, err);
}

static int unread(struct http_world *w, struct http_call *c, struct err *err)
{
    (void)w;
    return http_reply(c, 200, "text/plain", "not read\n", 9, err);
}

static int fail_so(struct http_world *w, struct http_call *c, struct err *err)
{
    int code = -(int)number(c, "code");

    (void)w;
    (void)http_reply_header(c, "X-Lost", "with the answer", NULL);
    (void)err_set(err, code, "it failed with '\xff' in it");
    err_hint(err, "try \"again\"");
    return code;
}

static int half(struct http_world *w, struct http_call *c, struct err *err)
{
    int r = http_reply_begin(c, 200, "text/plain", err);

    (void)w;
    if (r == 0)
        r = http_reply_write(c, "half", 4, err);
    return r < 0 ? r : err_set(err, -EIO, "and no more");
}

static int silent(struct http_world *w, struct http_call *c, struct err *err)
{
    (void)w;
    (void)c;
    (void)err;
    return 0;
}

static int wait_until_gone(struct http_world *w, struct http_call *c, struct err *err)
{
    while (!http_gone(c)) {
        int r = fiber_sleep(w->loop, 1);

        if (r < 0)
            return err_set(err, r, "interrupted");
    }
    w->gone++;
    return http_reply(c, 200, "text/plain", NULL, 0, err);
}

static int never(struct http_world *w, struct http_call *c, struct err *err)
{
    (void)c;
    return err_set(err, fiber_sleep(w->loop, 3600000), "interrupted");
}

static const struct {
    const char *path;
    int (*fn)(struct http_world *w, struct http_call *c, struct err *err);
} routes[] = {
    { "/hello", hello },
    { "/echo", echo },
    { "/big", big },
    { "/stream", stream },
    { "/say", say },
    { "/unread", unread },
    { "/fail", fail_so },
    { "/half", half },
    { "/never", never },
    { "/silent", silent },
    { "/gone", wait_until_gone },
};

static int handle(void *user, struct http_call *c, struct err *err)
{
    struct http_world *w = user;

    w->requests++;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        int r;

        if (strcmp(http_path(c), routes[i].path) != 0)
            continue;
        r = routes[i].fn(w, c, err);
        w->cancelled += r == -ECANCELED;
        w->failed += r < 0;
        return r;
    }
    return err_set(err, -ENOENT, "there is no '%s'", http_path(c));
}

/* ---- the world ---- */

struct task {
    struct http_world *w;
    int (*fn)(void *w);
};

static int beside_a_server(void *arg)
{
    struct task *t = arg;
    struct http_world *w = t->w;
    struct http_server_options o = {
        .loop = w->loop,
        .fd = -1,
        .key = w->key,
        .limits = w->limits,
        .once = w->once,
        .check = w->check,
        .handler = handle,
        .user = w,
    };
    struct err err = ERR_INIT;
    int r;

    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &o.fd, &w->port, &err), 0);
    assert_int_equal(http_server_start(&o, &w->server, &err), 0);
    r = t->fn(w);
    w->server = http_server_stop(w->server);
    return r;
}

void http_world_run(struct http_world *w, int (*fn)(void *w))
{
    struct task t = { .w = w, .fn = fn };

    on_a_loop(&w->loop, beside_a_server, &t);
}

void http_world_await(struct http_world *w, const unsigned *counter)
{
    int64_t deadline = loop_in(w->loop, TEST_MS);

    while (*counter == 0 && loop_now(w->loop) < deadline)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_not_equal(*counter, 0);
}

struct sock *http_world_connect(struct http_world *w)
{
    struct sock *s = NULL;

    assert_int_equal(
        sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, TEST_MS), &s, NULL), 0);
    return s;
}

struct sock *http_world_guest(struct http_world *w)
{
    static const char ask[] = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";
    struct sock *s = http_world_connect(w);
    char c;

    assert_int_equal(sock_write(s, ask, strlen(ask), loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(sock_read(s, &c, 1, loop_in(w->loop, TEST_MS)), 1);
    return s;
}

char *http_world_ask(struct http_world *w, const char *request)
{
    AUTO_BUF b = { .max = ANSWER_MAX };
    struct sock *s = http_world_connect(w);
    ssize_t n = sock_write(s, request, strlen(request), loop_in(w->loop, TEST_MS));

    assert_int_equal(n, 0);
    do {
        uint8_t *room = NULL;

        assert_int_equal(buf_room(&b, 4 * KIB, &room), 0);
        n = sock_read(s, room, 4 * KIB, loop_in(w->loop, TEST_MS));
        b.len += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    sock_close(s);
    assert_int_equal(n, 0);
    assert_non_null(buf_text(&b));
    return (char *)take(b.data);
}

struct http_client *http_world_client(struct http_world *w)
{
    struct sock *s = http_world_connect(w);
    struct stream *stream = NULL;
    struct http_client *c = NULL;
    int r = w->key ? stream_tls_client(s, w->key, loop_in(w->loop, TEST_MS), &stream, NULL)
                   : stream_plain(s, &stream, NULL);

    assert_int_equal(r, 0);
    assert_int_equal(http_client_new(w->loop, stream, "localhost", NULL, &c, NULL), 0);
    return c;
}

char *http_world_read(struct http_world *w, struct http_client *c)
{
    AUTO_BUF b = { .max = ANSWER_MAX };
    ssize_t n;

    do {
        char piece[8 * KIB];

        n = http_read(c, piece, sizeof(piece), loop_in(w->loop, TEST_MS), NULL);
        if (n > 0)
            assert_int_equal(buf_add(&b, piece, (size_t)n), 0);
    } while (n > 0);
    if (n < 0 || !buf_text(&b))
        return NULL;
    return (char *)take(b.data);
}
