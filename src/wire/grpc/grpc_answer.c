/* grpc_answer.c - how a call is answered: HEADERS, the message as DATA, and HEADERS with the
 * status. Without a message one HEADERS has it all. A call that is answered before its request has
 * come in whole is reset after that (grpc_callbacks.c), so that the client stops sending. */
#include "base/array.h"
#include "loop/loop.h"
#include "wire/grpc/grpc_session.h"

#include <stdio.h>

#define TEXT_MAX                                                                                   \
    ((size_t)1000) /* of a message for people; quoted it can be three times as long                \
                    */
#define HEADERS_MAX 16

struct fields {
    nghttp2_nv v[HEADERS_MAX + 4];
    size_t n;
};

static void add(struct fields *f, const char *name, const char *value)
{
    f->v[f->n++] = (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                                 NGHTTP2_NV_FLAG_NONE };
}

static void add_head(struct fields *f, const struct grpc_call *c)
{
    add(f, ":status", "200");
    add(f, "content-type", "application/grpc");
    for (size_t i = 0; i < c->n_answer; i++)
        add(f, c->answer[i].name, c->answer[i].value);
}

/* nghttp2 fails for lack of memory only, and then the stream has no answer: the client is told by a
 * reset, where even that can be had. */
static void sent_or_reset(struct grpc_call *c, int r)
{
    struct grpc_session *s = c->session;

    if (r < 0)
        (void)nghttp2_submit_rst_stream(s->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_INTERNAL_ERROR);
    if (s->hooks.on_output)
        s->hooks.on_output(s->hooks.user);
}

static void begin_answer(struct grpc_call *c)
{
    struct grpc_session *s = c->session;

    if (s->o->loop) /* a handler may have taken its time */
        s->now = loop_now(s->o->loop);
    c->began = s->now;
    c->state = GRPC_ANSWERED;
    if (!c->running)
        grpc_call_forget(c);
}

/* ---- without a message ---- */

/* Every status of gRPC travels under HTTP's 200, in a header that is also the end of the stream
 * ("Trailers-Only"). Only what is no gRPC gets a status of HTTP (grpc_call_reject). */
void grpc_call_refuse(struct grpc_call *c, enum grpc_status status, const char *text)
{
    struct buf quoted = { .max = 3 * TEXT_MAX + 1 };
    struct fields f = { .n = 0 };
    char some[TEXT_MAX + 1];

    begin_answer(c);
    if (c->id == 0)
        return;
    (void)snprintf(some, sizeof(some), "%s", text);
    add_head(&f, c);
    add(&f, "grpc-status", grpc_status_text(status));
    if (*some && grpc_quote(&quoted, some) == 0 && buf_text(&quoted))
        add(&f, "grpc-message", buf_text(&quoted));
    sent_or_reset(c, nghttp2_submit_response(c->session->h2, c->id, f.v, f.n, NULL));
    buf_done(&quoted);
}

void grpc_call_reject(struct grpc_call *c, const char *status)
{
    struct fields f = { .n = 0 };

    begin_answer(c);
    add(&f, ":status", status);
    sent_or_reset(c, nghttp2_submit_response(c->session->h2, c->id, f.v, f.n, NULL));
}

static int still_asked(const struct grpc_call *c, struct err *err)
{
    if (c->id == 0 || c->state != GRPC_RUNNING)
        return err_set(err, -ECANCELED, "the client no longer waits for an answer");
    return 0;
}

int grpc_fail(struct grpc_call *c, enum grpc_status status, const char *text, struct err *err)
{
    int r = still_asked(c, err);

    if (r == 0)
        grpc_call_refuse(c, status, text);
    return r;
}

/* ---- with one ---- */

static size_t copy_from(const uint8_t *p, size_t size, size_t *at, uint8_t *out, size_t cap)
{
    size_t n = size - *at < cap ? size - *at : cap;

    if (n > 0)
        memcpy(out, p + *at, n);
    *at += n;
    return n;
}

/* The next bytes of prefix and message. */
static size_t answer_bytes(struct grpc_call *c, uint8_t *p, size_t cap)
{
    size_t at = c->out_at, n = 0;

    if (at < GRPC_PREFIX)
        n = copy_from(c->prefix, GRPC_PREFIX, &at, p, cap);
    if (at >= GRPC_PREFIX && n < cap) {
        at -= GRPC_PREFIX;
        n += copy_from(c->out.data, c->out.len, &at, p + n, cap - n);
    }
    c->out_at += n;
    return n;
}

/* nghttp2 asks for what fits into a frame and the client's windows. The flags together mean: the
 * last DATA, but not the last frame, since the trailer follows. */
static ssize_t on_read(nghttp2_session *h2, int32_t id, uint8_t *p, size_t cap, uint32_t *flags,
                       nghttp2_data_source *source, void *user)
{
    struct grpc_call *c = source->ptr;
    struct fields f = { .n = 0 };
    size_t n = answer_bytes(c, p, cap);

    (void)user;
    grpc_flood_sent(&c->session->flood, n);
    if (c->out_at < GRPC_PREFIX + c->out.len)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    add(&f, "grpc-status", grpc_status_text(GRPC_OK));
    return nghttp2_submit_trailer(h2, id, f.v, f.n) == 0 ? (ssize_t)n
                                                         : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int answer_submit(struct grpc_call *c, struct buf *message, struct err *err)
{
    nghttp2_data_provider from = { .source.ptr = c, .read_callback = on_read };
    struct fields f = { .n = 0 };
    int r = still_asked(c, err);

    if (r < 0)
        return r;
    if (message->len > UINT32_MAX || !grpc_budget_take(c, message->len))
        return err_set(err, -E2BIG,
                       "the server holds too many bytes of other messages for an "
                       "answer of %zu; try again later",
                       message->len);
    c->out = *message;
    *message = (struct buf){ .max = message->max };
    grpc_frame_prefix(c->prefix, c->out.len);
    begin_answer(c);
    add_head(&f, c);
    sent_or_reset(c, nghttp2_submit_response(c->session->h2, c->id, f.v, f.n, &from));
    return 0;
}

int grpc_answer(struct grpc_call *c, struct buf *message, struct err *err)
{
    int r = answer_submit(c, message, err);

    buf_done(message);
    return r;
}

int grpc_answer_header(struct grpc_call *c, const char *name, const char *value, struct err *err)
{
    char *copy;

    if (c->n_answer == HEADERS_MAX)
        return err_set(err, -E2BIG, "an answer with more than %d headers", HEADERS_MAX);
    copy = strdup(value);
    if (!copy || ARRAY_ADD(c->answer, c->n_answer, (struct grpc_kept){ name, copy }) < 0) {
        free(copy);
        return err_oom(err);
    }
    return 0;
}
