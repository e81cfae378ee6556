/* channel.c - messages in both directions over one stream. See channel.h.
 *
 * Senders append to `out`. A fiber, which is there only while something is to be written, swaps it
 * with the empty `sending` and writes that, so that whatever gathered during a write goes out in
 * one piece at the next. A quiet channel has no buffers: a master has thousands of them. The caller
 * of channel_read() reads as much as comes and takes messages from the front of it.
 *
 *     channel_send() ──► out ──swapped──► sending ──► stream      a fiber, while there is any
 *     stream ──► in ──► channel_read()                            the caller's own fiber
 *
 * The two directions fail apart: when writing fails, what the other side said before can still be
 * read. */
#include "wire/channel.h"
#include "base/log.h"
#include "loop/fiber.h"
#include "wire/channel_frame.h"

#define READ_SIZE (16 * KIB)

struct channel {
    struct loop *loop;
    struct stream *stream;
    struct channel_limits limits;
    struct buf out, sending, in;
    size_t in_at; /* bytes of `in` that are done with */
    struct cond drained;
    int refs; /* the owner's, the writer's, and every call that is inside */
    bool closed, writing;
    struct err why;          /* why it broke; no code: it did not */
    struct err cannot_write; /* the same for writing alone */
};

static void channel_do_unref(struct channel *c)
{
    if (--c->refs > 0)
        return;
    buf_done(&c->out);
    buf_done(&c->sending);
    buf_done(&c->in);
    free(c);
}

/* Nothing goes through any more, and waiting callers are woken with the reason. The stream itself
 * stays, because it was lent to the outside. */
static int break_with(struct channel *c, const struct err *why)
{
    if (!c->why.code) {
        c->why = *why;
        trace(LOG_WIRE, "a channel breaks: %s", why->text);
        if (!c->closed)
            (void)shutdown(sock_fd(stream_sock(c->stream)), SHUT_RDWR);
        cond_wake_all(&c->drained);
    }
    return c->why.code;
}

static int channel_say(const struct err *why, struct err *err)
{
    if (err)
        *err = *why;
    return why->code;
}

/* Why nothing can be sent, or NULL. */
static const struct err *write_failure(const struct channel *c)
{
    if (c->why.code)
        return &c->why;
    return c->cannot_write.code ? &c->cannot_write : NULL;
}

/* ---- writing ---- */

size_t channel_queued(const struct channel *c)
{
    return c->out.len + c->sending.len;
}

static void write_queued(struct channel *c)
{
    struct buf full = c->out;
    int r;

    c->out = c->sending;
    c->sending = full;
    /* Without a deadline: a peer that stopped reading is found by its silence, and what gathers
     * meanwhile has its ceiling. Closing ends this. */
    r = stream_write(c->stream, full.data, full.len, LOOP_NEVER);
    buf_done(&c->sending);
    /* Messages that arrived before the end can still be read: the last ones often say why. */
    if (r < 0)
        (void)err_code(&c->cannot_write, r, "write to the other side");
}

static void channel_run_writer(void *arg)
{
    struct channel *c = arg;

    while (!write_failure(c) && c->out.len > 0)
        write_queued(c);
    c->writing = false;
    cond_wake_all(&c->drained);
    channel_do_unref(c);
}

static int start_writer(struct channel *c, struct err *err)
{
    int r = c->writing ? 0 : fiber_start(c->loop, channel_run_writer, c, NULL, err);

    if (r < 0 || c->writing)
        return r;
    c->writing = true;
    c->refs++;
    return 0;
}

int channel_new(struct loop *l, struct stream *s, const struct channel_limits *limits,
                struct channel **ret, struct err *err)
{
    struct channel *c = calloc(1, sizeof(*c));

    if (!c) {
        stream_close(s);
        return err_oom(err);
    }
    c->loop = l;
    c->stream = s;
    c->limits = *limits;
    c->refs = 1;
    buf_init(&c->out, limits->queue_max);
    buf_init(&c->sending, limits->queue_max);
    buf_init(&c->in, CHANNEL_HEAD + limits->frame_max + READ_SIZE);
    *ret = c;
    return 0;
}

int channel_send(struct channel *c, const ProtobufCMessage *m, struct err *err)
{
    const struct err *failure = write_failure(c);
    struct err why = ERR_INIT;
    int r;

    if (failure)
        return channel_say(failure, err);
    c->out.max = c->limits.queue_max - c->sending.len; /* the ceiling is for both together */
    r = channel_pack(m, c->limits.frame_max, &c->out, &why);
    /* The queue is full: the other side has not read for long, and messages have an order, so one
     * cannot be left out. The channel breaks, and both sides begin again with a new one. */
    if (r == -ENOBUFS)
        (void)break_with(c, &why);
    if (r == 0)
        r = start_writer(c, &why);
    return r < 0 ? channel_say(&why, err) : 0;
}

int channel_flush(struct channel *c, int64_t deadline, struct err *err)
{
    int r = 0;

    c->refs++;
    while (r == 0 && !write_failure(c) && channel_queued(c) > 0)
        r = cond_wait(c->loop, &c->drained, deadline);
    if (write_failure(c))
        r = channel_say(write_failure(c), err);
    else if (r < 0)
        (void)err_code(err, r, "write to the other side");
    channel_do_unref(c);
    return r;
}

/* ---- reading ---- */

static void compact(struct channel *c)
{
    buf_eat(&c->in, c->in_at);
    c->in_at = 0;
}

/* Room for at least the rest of a message of which `want` bytes are missing. */
static int channel_read_more(struct channel *c, size_t want, int64_t deadline, struct err *err)
{
    size_t room = want > READ_SIZE ? want : READ_SIZE;
    uint8_t *at = NULL;
    ssize_t n;

    compact(c);
    if (buf_room(&c->in, room, &at) < 0)
        return err_oom(err); /* the ceiling has room for the largest message */
    n = stream_read(c->stream, at, room, deadline);
    if (n <= 0 && c->in.len == 0)
        buf_done(&c->in);
    if (c->why.code)
        return channel_say(&c->why, err);
    if (n < 0)
        return err_code(err, (int)n, "read from the other side");
    if (n == 0 && c->in.len > 0)
        return err_set(err, -ENODATA, "the other side ended inside a message");
    c->in.len += (size_t)n;
    return n > 0;
}

/* The whole message at the front of what was read: 1, 0 at the end, or an error. */
static int next_frame(struct channel *c, int64_t deadline, struct view *ret, struct err *err)
{
    for (;;) {
        const uint8_t *p = c->in.data ? c->in.data + c->in_at : NULL;
        size_t have = c->in.len - c->in_at, want;
        ssize_t length = channel_length(p, have, c->limits.frame_max, err);
        int r;

        if (length < 0 && length != -EAGAIN)
            return (int)length;
        want = CHANNEL_HEAD + (length > 0 ? (size_t)length : 0);
        if (length >= 0 && have >= want) {
            c->in_at += want;
            *ret = view_of(p + CHANNEL_HEAD, (size_t)length);
            return 1;
        }
        r = channel_read_more(c, want - have, deadline, err);
        if (r <= 0)
            return r;
    }
}

/* After these the stream stands where it stood: no half a message was taken. Anything else leaves
 * it at an unknown place. */
static bool can_go_on_after(int r)
{
    return r >= 0 || r == -ETIMEDOUT || r == -ECANCELED || r == -ENOMEM;
}

int channel_read(struct channel *c, const ProtobufCMessageDescriptor *d, int64_t deadline,
                 ProtobufCMessage **ret, struct err *err)
{
    struct err why = ERR_INIT;
    struct view v = { 0 };
    int r;

    if (c->why.code)
        return channel_say(&c->why, err);
    c->refs++;
    r = next_frame(c, deadline, &v, &why);
    if (r > 0) {
        r = channel_unpack(d, v.p, v.n, ret, &why);
        r = r == 0 ? 1 : r;
    }
    if (!can_go_on_after(r))
        (void)break_with(c, &why);
    if (r < 0 && err)
        *err = why;
    channel_do_unref(c);
    return r;
}

/* ---- the end ---- */

/* A quiet reader gives its buffer back before it waits. */
int channel_on_readable(struct channel *c, void (*fn)(void *user), void *user)
{
    if (c->in.len == c->in_at)
        buf_done(&c->in), c->in_at = 0;
    return c->closed ? -ECONNABORTED : sock_on_readable(stream_sock(c->stream), fn, user);
}

struct channel *channel_ref(struct channel *c)
{
    c->refs++;
    return c;
}

struct channel *channel_unref(struct channel *c)
{
    if (c)
        channel_do_unref(c);
    return NULL;
}

struct stream *channel_stream(struct channel *c)
{
    return c->stream;
}

struct channel *channel_close(struct channel *c)
{
    struct err why = ERR_INIT;

    if (!c)
        return NULL;
    c->closed = true;
    c->stream = stream_close(c->stream);
    err_set(&why, -ECONNABORTED, "the channel was closed");
    (void)break_with(c, &why);
    channel_do_unref(c);
    return NULL;
}
