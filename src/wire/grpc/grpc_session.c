/* grpc_session.c - an HTTP/2 session with the limits of a gRPC server: settings, time, and the way
 * to an orderly end. What nghttp2 tells is in grpc_callbacks.c, a call in grpc_call.c. */
#include "wire/grpc/grpc_session.h"
#include "base/array.h"
#include "loop/loop.h"

#define MESSAGE_MAX (64 * MIB)
#define HEADER_MAX (16 * KIB)
#define STREAMS_MAX 100
#define CALLS_MAX 1000
#define PIECE_MS 30000
#define HEADER_MS 10000
#define IDLE_MS 300000
#define PACE ((size_t)64 * KIB) /* for each of these there is body_ms or write_ms */

#define STREAM_WINDOW (1 * MIB) /* bytes that a client sends without waiting for us */
#define WINDOW (4 * MIB)        /* the same, all streams of a connection */
#define UNANSWERED_MAX 200      /* pings and settings whose answers are not sent yet */
#define FAR_AWAY 1000000        /* the count of resets is ours: grpc_flood.h */

void grpc_limits_fill(struct grpc_limits *l)
{
    l->message_max = l->message_max ? l->message_max : MESSAGE_MAX;
    l->held_max = l->held_max ? l->held_max : 4 * l->message_max;
    l->server_held_max = l->server_held_max ? l->server_held_max : 16 * l->message_max;
    l->header_max = l->header_max ? l->header_max : HEADER_MAX;
    l->streams_max = l->streams_max ? l->streams_max : STREAMS_MAX;
    l->calls_max = l->calls_max ? l->calls_max : CALLS_MAX;
    l->body_ms = l->body_ms ? l->body_ms : PIECE_MS;
    l->write_ms = l->write_ms ? l->write_ms : PIECE_MS;
    l->header_ms = l->header_ms ? l->header_ms : HEADER_MS;
    l->idle_ms = l->idle_ms ? l->idle_ms : IDLE_MS;
}

/* no_closed_streams: nghttp2 keeps closed streams for their priorities otherwise, which nobody
 * uses. max_outbound_ack: a client that sends pings and does not read the answers is cut off. The
 * limit on resets is set out of reach, because grpc_flood.c counts all kinds of frames. */
static int session_open(struct grpc_session *s)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int r = -ENOMEM;

    if (grpc_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0) {
        nghttp2_option_set_no_closed_streams(option, 1);
        nghttp2_option_set_max_outbound_ack(option, UNANSWERED_MAX);
        nghttp2_option_set_stream_reset_rate_limit(option, FAR_AWAY, FAR_AWAY);
        r = nghttp2_session_server_new2(&s->h2, callbacks, s, option) == 0 ? 0 : -ENOMEM;
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return r;
}

static int session_settings(struct grpc_session *s)
{
    const struct grpc_limits *l = &s->o->limits;
    nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, l->streams_max },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)l->header_max },
    };

    if (nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings)) != 0 ||
        nghttp2_session_set_local_window_size(s->h2, NGHTTP2_FLAG_NONE, 0, WINDOW) != 0)
        return -ENOMEM;
    return 0;
}

int grpc_session_init(struct grpc_session *s, const struct grpc_options *o,
                      const struct grpc_hooks *hooks, struct budget *all, int64_t now,
                      struct err *err)
{
    *s = (struct grpc_session){ .o = o, .hooks = *hooks, .all = all, .now = now };
    s->quiet_since = s->header_began = now;
    s->in_header = true; /* the preface and the client's settings */
    s->held.max = o->limits.held_max;
    grpc_flood_init(&s->flood, now);
    if (session_open(s) == 0 && session_settings(s) == 0)
        return 0;
    grpc_session_done(s);
    return err_oom(err);
}

void grpc_session_done(struct grpc_session *s)
{
    while (s->calls)
        grpc_call_free(s->calls);
    nghttp2_session_del(s->h2);
    s->h2 = NULL;
}

/* ---- bytes ---- */

int grpc_session_feed(struct grpc_session *s, const uint8_t *p, size_t n, int64_t now,
                      struct err *err)
{
    ssize_t used;

    s->now = now;
    used = nghttp2_session_mem_recv(s->h2, p, n);
    if (s->flooded)
        return err_set(err, -EPROTO, "the client sends too many frames that lead to nothing");
    if (used < 0)
        return err_set(err, used == NGHTTP2_ERR_NOMEM ? -ENOMEM : -EPROTO, "HTTP/2: %s",
                       nghttp2_strerror((int)used));
    return 0;
}

ssize_t grpc_session_take(struct grpc_session *s, const uint8_t **p)
{
    ssize_t n = nghttp2_session_mem_send(s->h2, p);

    return n >= 0 ? n : -ENOMEM;
}

bool grpc_session_has_output(const struct grpc_session *s)
{
    return nghttp2_session_want_write(s->h2);
}

bool grpc_session_reads(const struct grpc_session *s)
{
    return nghttp2_session_want_read(s->h2);
}

size_t grpc_session_queued(const struct grpc_session *s)
{
    return nghttp2_session_get_outbound_queue_size(s->h2);
}

/* ---- time ---- */

/* `ms` for every piece of what has moved so far. */
static int64_t paced(const struct grpc_call *c, int64_t ms, size_t moved)
{
    return c->began + ms * (int64_t)(moved / PACE + 1);
}

/* Bytes that wait in the kernel or in nghttp2 for a client that does not read end with the
 * connection (grpc_conn.c). Here it is one that leaves the stream's window shut. */
static int64_t call_due(const struct grpc_call *c)
{
    const struct grpc_limits *l = &c->session->o->limits;
    int64_t due;

    switch (c->state) {
    case GRPC_RECEIVING:
        due = paced(c, l->body_ms, c->in.body.len);
        return due < c->deadline ? due : c->deadline;
    case GRPC_RUNNING:
        return c->deadline;
    default:
        return c->id ? paced(c, l->write_ms, c->out_at) : LOOP_NEVER;
    }
}

static void call_expire(struct grpc_call *c)
{
    struct grpc_session *s = c->session;
    bool late = s->now >= c->deadline;

    if (c->state == GRPC_ANSWERED) {
        (void)nghttp2_submit_rst_stream(s->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_CANCEL);
        c->began = s->now; /* not once more while that is sent */
        return;
    }
    grpc_call_refuse(c, GRPC_DEADLINE_EXCEEDED,
                     late ? "the call's deadline has passed" : "the message comes too slowly");
    if (c->running)
        s->hooks.on_gone(s->hooks.user, c);
}

static int64_t session_due(const struct grpc_session *s)
{
    if (s->in_header)
        return s->header_began + s->o->limits.header_ms;
    return s->n_calls || s->leaving ? LOOP_NEVER : s->quiet_since + s->o->limits.idle_ms;
}

int grpc_session_expire(struct grpc_session *s, int64_t now, int64_t *next, struct err *err)
{
    s->now = now;
    if (now >= session_due(s)) {
        if (s->in_header)
            return err_set(err, -ETIMEDOUT, "an HTTP/2 header came too slowly");
        grpc_session_leave(s);
    }
    *next = session_due(s);
    for (struct grpc_call *c = s->calls; c; c = c->next) {
        if (now >= call_due(c))
            call_expire(c);
        *next = call_due(c) < *next ? call_due(c) : *next;
    }
    return 0;
}

/* ---- the end ---- */

void grpc_session_notice(struct grpc_session *s)
{
    (void)nghttp2_submit_shutdown_notice(s->h2);
}

void grpc_session_leave(struct grpc_session *s)
{
    if (s->leaving)
        return;
    s->leaving = true;
    (void)nghttp2_submit_goaway(s->h2, NGHTTP2_FLAG_NONE,
                                nghttp2_session_get_last_proc_stream_id(s->h2), NGHTTP2_NO_ERROR,
                                NULL, 0);
}

/* The handler has returned, with or without an answer, and perhaps after its stream was closed:
 * then this is the last use of the call. */
void grpc_session_ran(struct grpc_call *c, int code, const struct err *why)
{
    c->running = false;
    if (c->id && c->state == GRPC_RUNNING) {
        if (code == 0)
            grpc_call_refuse(c, GRPC_INTERNAL, "the handler gave no answer");
        else
            grpc_call_refuse(c, grpc_status_of(code), why->text);
    }
    grpc_call_forget(c);
    if (c->id == 0)
        grpc_call_free(c);
}
