/* grpc_testing.c - see grpc_testing.h. */
#include "wire/grpc/grpc_testing.h"
#include "base/auto.h"

#include <string.h>

static struct grpc_world *world_of(void *user)
{
    return user;
}

static struct grpc_reply *answer_of(void *user, int32_t id)
{
    struct grpc_world *w = user;

    assert_true(id > 0 && id / 2 < GRPC_REPLIES);
    return &w->answers[id / 2];
}

/* ---- the client ---- */

static int client_header(nghttp2_session *h2, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                         nghttp2_rcbuf *value, uint8_t flags, void *user)
{
    struct grpc_reply *a = answer_of(user, frame->hd.stream_id);
    nghttp2_vec n = nghttp2_rcbuf_get_buf(name), v = nghttp2_rcbuf_get_buf(value);
    const struct {
        const char *name;
        char *to;
        size_t size;
    } rows[] = { { ":status", a->http, sizeof(a->http) },
                 { "grpc-status", a->status, sizeof(a->status) },
                 { "grpc-accept-encoding", a->accepts, sizeof(a->accepts) },
                 { "grpc-message", a->text, sizeof(a->text) } };

    (void)h2;
    (void)flags;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp((const char *)n.base, rows[i].name) == 0)
            snprintf(rows[i].to, rows[i].size, "%s", (const char *)v.base);
    return 0;
}

static int client_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                       void *user)
{
    struct grpc_reply *a = answer_of(user, id);
    size_t some = n < sizeof(a->body) - a->n ? n : sizeof(a->body) - a->n;

    (void)h2;
    (void)flags;
    memcpy(a->body + a->n, p, some);
    a->n += some;
    a->total += n;
    return 0;
}

static int client_close(nghttp2_session *h2, int32_t id, uint32_t error, void *user)
{
    struct grpc_reply *a = answer_of(user, id);

    (void)h2;
    a->closed = true;
    a->error = error;
    return 0;
}

static int client_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *user)
{
    struct grpc_world *w = user;

    (void)h2;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        w->left = true;
        w->goaway = frame->goaway.error_code;
    }
    return 0;
}

static ssize_t client_read(nghttp2_session *h2, int32_t id, uint8_t *p, size_t cap, uint32_t *flags,
                           nghttp2_data_source *source, void *user)
{
    struct grpc_world *w = user;
    size_t n = w->n_send - w->at_send < cap ? w->n_send - w->at_send : cap;

    (void)h2;
    (void)id;
    (void)source;
    if (n == 0 && w->open_end)
        return NGHTTP2_ERR_DEFERRED;
    memcpy(p, w->send + w->at_send, n);
    w->at_send += n;
    if (w->at_send == w->n_send && !w->open_end)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static void client_new(struct grpc_world *w)
{
    nghttp2_session_callbacks *c;

    assert_int_equal(nghttp2_session_callbacks_new(&c), 0);
    nghttp2_session_callbacks_set_on_header_callback2(c, client_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, client_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, client_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, client_frame);
    assert_int_equal(nghttp2_session_client_new(&w->client, c, w), 0);
    nghttp2_session_callbacks_del(c);
    assert_int_equal(nghttp2_submit_settings(w->client, NGHTTP2_FLAG_NONE, NULL, 0), 0);
}

/* ---- the server ---- */

int grpc_world_echo(struct grpc_call *c, struct err *err)
{
    struct view v = grpc_message(c);
    struct buf b = { .max = 64 * MIB };

    assert_int_equal(buf_add(&b, v.p, v.n), 0);
    return grpc_answer(c, &b, err);
}

static int big(struct grpc_call *c, struct err *err)
{
    struct buf b = { .max = 64 * MIB };
    uint8_t *room = NULL;

    assert_int_equal(buf_room(&b, MIB, &room), 0);
    memset(room, 0, MIB);
    b.len = MIB;
    return grpc_answer(c, &b, err);
}

static int on_call(void *user, struct grpc_call *c, struct err *err)
{
    struct grpc_world *w = user;
    struct err why = ERR_INIT;
    int r;

    (void)err;
    if (w->keep) {
        w->running[w->n_running++] = c;
        return 0;
    }
    r = strcmp(grpc_path(c), "/t.T/Big") == 0 ? big(c, &why) : grpc_world_echo(c, &why);
    grpc_session_ran(c, r, &why);
    return 0;
}

static void on_gone(void *user, struct grpc_call *c)
{
    (void)c;
    world_of(user)->gone++;
}

static int never_called(void *user, struct grpc_call *c, struct err *err)
{
    (void)user;
    (void)c;
    (void)err;
    fail();
    return 0;
}

static const struct grpc_method methods[] = { { "/t.T/Echo", never_called },
                                              { "/t.T/Big", never_called },
                                              { 0 } };

void grpc_world_open(struct grpc_world *w)
{
    static const char *const kept[] = { "x-request-id", NULL };
    struct grpc_hooks hooks = { .on_call = on_call, .on_gone = on_gone, .user = w };

    w->o.methods = methods;
    w->o.metadata = kept;
    grpc_limits_fill(&w->o.limits);
    w->all.max = w->o.limits.server_held_max;
    w->now = 1000;
    assert_int_equal(grpc_session_init(&w->s, &w->o, &hooks, &w->all, w->now, NULL), 0);
    client_new(w);
}

void grpc_world_close(struct grpc_world *w)
{
    nghttp2_session_del(w->client);
    grpc_session_done(&w->s);
    assert_int_equal(w->all.used, 0);
}

/* Bytes go both ways until nobody has any. The server's result. */
int grpc_world_pump(struct grpc_world *w)
{
    const uint8_t *p;
    ssize_t n, m;
    int r = 0;

    do {
        n = nghttp2_session_mem_send(w->client, &p);
        assert_true(n >= 0);
        if (n > 0 && r == 0)
            r = grpc_session_feed(&w->s, p, (size_t)n, w->now, NULL);
        m = grpc_session_take(&w->s, &p);
        assert_true(m >= 0);
        if (m > 0)
            assert_int_equal(nghttp2_session_mem_recv(w->client, p, (size_t)m), m);
    } while (n > 0 || m > 0);
    return r;
}

struct grpc_reply *grpc_world_ask_with(struct grpc_world *w, const nghttp2_nv *more, size_t n_more,
                                       const char *path)
{
    nghttp2_nv nv[8] = { 0 };
    const char *fixed[][2] = { { ":method", "POST" },
                               { ":scheme", "http" },
                               { ":path", path },
                               { ":authority", "here" },
                               { "content-type", "application/grpc+proto" } };
    nghttp2_data_provider from = { .read_callback = client_read };
    size_t n = 0;
    int32_t id;

    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        nv[n++] = (nghttp2_nv){ (uint8_t *)fixed[i][0], (uint8_t *)fixed[i][1], strlen(fixed[i][0]),
                                strlen(fixed[i][1]), 0 };
    for (size_t i = 0; i < n_more; i++)
        nv[n++] = more[i];
    w->at_send = 0;
    id = nghttp2_submit_request(w->client, NULL, nv, n, w->n_send || w->open_end ? &from : NULL,
                                NULL);
    assert_true(id > 0);
    return answer_of(w, id);
}

struct grpc_reply *grpc_world_ask(struct grpc_world *w, const char *path, const void *p, size_t n)
{
    struct grpc_reply *a;

    w->send = p;
    w->n_send = n;
    a = grpc_world_ask_with(w, NULL, 0, path);
    assert_int_equal(grpc_world_pump(w), 0);
    return a;
}

void grpc_world_expire(struct grpc_world *w, int64_t ms)
{
    int64_t next;

    w->now += ms;
    assert_int_equal(grpc_session_expire(&w->s, w->now, &next, NULL), 0);
    assert_true(next > w->now);
    assert_int_equal(grpc_world_pump(w), 0);
}
