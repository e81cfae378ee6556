/* grpc_callbacks.c - what nghttp2 tells, in the words of grpc_session.h.
 *
 *     begin_frame ──► begin_headers ──► header, header … ──► frame (HEADERS)       a call begins
 *     begin_frame ──► data ──► frame (DATA)                                        its message
 *     frame with END_STREAM: on_end() ──► the handler
 *     close: the stream is gone, by either side's doing
 *
 * A callback that returns a failure ends the connection, not the stream; so what is wrong with one
 * call is answered by grpc_call_refuse() and returns 0. */
#include "wire/grpc/grpc_session.h"

static struct grpc_call *stream_call(nghttp2_session *h2, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h2, id);
}

/* Every frame, before anything else is made of it. */
static int on_begin_frame(nghttp2_session *h2, const nghttp2_frame_hd *hd, void *user)
{
    struct grpc_session *s = user;

    if (hd->type == NGHTTP2_HEADERS) {
        s->in_header = !s->leaving; /* then they are dropped, and their end is not told */
        s->header_began = s->now;
    }
    if (grpc_flood_frame(&s->flood, hd->type, hd->length, s->now))
        return 0;
    (void)nghttp2_session_terminate_session(h2, NGHTTP2_ENHANCE_YOUR_CALM);
    s->flooded = s->leaving = true;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* A stream without a call is one that was refused: what still comes for it is dropped. */
static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *user)
{
    struct grpc_session *s = user;
    int32_t id = frame->hd.stream_id;
    struct grpc_call *c = NULL;

    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (s->n_calls < s->o->limits.streams_max)
        c = grpc_call_new(s, id);
    if (c)
        return nghttp2_session_set_stream_user_data(h2, id, c);
    return nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value, uint8_t flags, void *user)
{
    struct grpc_call *c = stream_call(h2, frame->hd.stream_id);
    nghttp2_vec n = nghttp2_rcbuf_get_buf(name), v = nghttp2_rcbuf_get_buf(value);

    (void)flags;
    (void)user;
    if (!c || c->state != GRPC_RECEIVING)
        return 0;
    return grpc_header_take(c, &n, &v) < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int grpc_on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                        void *user)
{
    struct grpc_call *c = stream_call(h2, id);
    struct err err = ERR_INIT;
    int r;

    (void)flags;
    (void)user;
    if (!c || c->state != GRPC_RECEIVING)
        return 0;
    if (!grpc_budget_take(c, n)) {
        grpc_call_refuse(c, GRPC_RESOURCE_EXHAUSTED,
                         "the server holds too many bytes of other messages; try again later");
        return 0;
    }
    r = grpc_frame_feed(&c->in, p, n, &err);
    if (r < 0)
        grpc_call_refuse(c, grpc_status_of(r == -EPROTO ? -EIO : r), err.text);
    return 0;
}

/* The client has said all that it will. */
static void on_end(struct grpc_session *s, struct grpc_call *c)
{
    struct err err = ERR_INIT;
    int r;

    if (!grpc_frame_complete(&c->in)) {
        grpc_call_refuse(c, GRPC_INVALID_ARGUMENT,
                         c->in.n_prefix ? "the message was cut off" : "there is no message");
        return;
    }
    c->state = GRPC_RUNNING;
    c->running = true;
    r = s->hooks.on_call(s->hooks.user, c, &err);
    if (r < 0)
        grpc_session_ran(c, r, &err);
}

static int grpc_on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *user)
{
    struct grpc_session *s = user;
    struct grpc_call *c = stream_call(h2, frame->hd.stream_id);
    uint8_t type = frame->hd.type;

    if (type == NGHTTP2_HEADERS || type == NGHTTP2_SETTINGS)
        s->in_header = false;
    if (!c || (type != NGHTTP2_HEADERS && type != NGHTTP2_DATA))
        return 0;
    if (type == NGHTTP2_HEADERS && !c->whole_header && c->state == GRPC_RECEIVING)
        grpc_header_done(c);
    if (c->state == GRPC_RECEIVING && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        on_end(s, c);
    return 0;
}

/* A header that is wrong is told here instead; its stream is reset, and the connection goes on. */
static int on_invalid(nghttp2_session *h2, const nghttp2_frame *frame, int error, void *user)
{
    struct grpc_session *s = user;

    (void)h2;
    (void)error;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->hd.flags & NGHTTP2_FLAG_END_HEADERS)
        s->in_header = false;
    return 0;
}

/* A call was answered before the client had said all: it need not go on. */
static int on_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *user)
{
    bool last = frame->hd.type == NGHTTP2_HEADERS && frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

    (void)user;
    if (last && !nghttp2_session_get_stream_remote_close(h2, frame->hd.stream_id))
        return nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                         NGHTTP2_NO_ERROR);
    return 0;
}

static int on_close(nghttp2_session *h2, int32_t id, uint32_t error, void *user)
{
    struct grpc_session *s = user;
    struct grpc_call *c = stream_call(h2, id);

    if (!c)
        return 0;
    if (error == NGHTTP2_NO_ERROR && c->state == GRPC_ANSWERED)
        grpc_flood_answered(&s->flood);
    grpc_call_closed(c);
    return 0;
}

int grpc_callbacks_new(nghttp2_session_callbacks **ret)
{
    nghttp2_session_callbacks *c;

    if (nghttp2_session_callbacks_new(&c) != 0)
        return -ENOMEM;
    nghttp2_session_callbacks_set_on_begin_frame_callback(c, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(c, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, grpc_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, grpc_on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c, on_invalid);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
    *ret = c;
    return 0;
}
