/* kvsock.c - YDL_SOCKET: the job's key-value store for user code, through a Unix socket.
 *
 * A connection speaks lines (kvline.h) or HTTP (kvhttp.c): our requests begin with a lower-case
 * letter, HTTP's with a capital. Each connection is a fiber that ends with its task. */
#include "agent/socket/kvsock.h"
#include "agent/agent_private.h"
#include "agent/link/kv_relay.h"
#include "agent/socket/kvhttp.h"
#include "agent/socket/kvline.h"
#include "agent/tasks/agent_tasks.h"
#include "base/log.h"
#include "job/protocol.h"
#include "loop/listen.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define CONNS_MAX 64 /* of one task */
#define BURST 64     /* connections accepted before others have their turn */
#define PAUSE_MS 250 /* while there are no descriptors */
#define READ_SIZE (4 * KIB)
#define ANSWER_MS 30000 /* for the task to read an answer */

struct kvsock {
    struct agent_task *task;
    int fd;
    uv_poll_t poll;
    uv_timer_t again; /* listens again, when it could not */
    int handles;      /* of these two: open ones */
};

struct kvconn {
    struct agent_task *task;
    struct sock *sock;
    struct fiber *fiber;
    struct kvconn *next;
};

/* ---- one connection ---- */

static int say_error(struct buf *out, const char *text)
{
    buf_reset(out);
    return buf_printf(out, "error %s\n", text);
}

/* The answer's words as a line. */
static int put_answer(const struct buf *answer, struct buf *out)
{
    struct view v = view_of(answer->data, answer->len);
    AUTO_FREE struct kvline_word *words = NULL;
    size_t n = 0, cap = 0;

    while (v.n > 0) {
        if (n == cap) {
            struct kvline_word *more = reallocarray(words, cap + 64, sizeof(*words));

            if (!more)
                return -ENOMEM;
            words = more;
            cap += 64;
        }
        if (!relay_next(&v, &words[n]))
            return -EBADMSG;
        n++;
    }
    return n ? kvline_answer(words, n, out) : -EBADMSG;
}

/* A mistake in a line is answered and the connection stays: it is a person's shell script, mostly.
 * Only what the agent itself cannot do ends it. */
static int answer_line(struct agent_task *t, const char *line, size_t n, struct buf *out)
{
    struct kvline_word words[KVLINE_WORDS];
    AUTO_BUF answer = { .max = 64 * MIB };
    struct err err = ERR_INIT;
    size_t count = 0;
    int r;

    if (n == 4 && memcmp(line, "help", 4) == 0)
        return buf_add_str(out, kvline_help);
    if (n == 7 && memcmp(line, "version", 7) == 0)
        return buf_printf(out, "value %d\n", protocol_number(PROTOCOL_TASK));
    if (kvline_parse(line, n, words, &count, &err) < 0)
        return say_error(out, err.text);
    r = relay_ask(t, words, count, &answer);
    return r < 0 ? r : put_answer(&answer, out);
}

/* Answers the lines that are there. */
static int kvsock_serve_lines(struct kvconn *c, struct buf *in)
{
    struct loop *l = c->task->agent->loop;
    char *end;

    while (in->len > 0 && (end = memchr(in->data, '\n', in->len)) != NULL) {
        AUTO_BUF out = { .max = 64 * MIB };
        size_t n = (size_t)(end - (char *)in->data);
        size_t text = n > 0 && end[-1] == '\r' ? n - 1 : n;
        int r = answer_line(c->task, (char *)in->data, text, &out);

        if (r == 0)
            r = sock_write(c->sock, out.data, out.len, loop_in(l, ANSWER_MS));
        if (r < 0)
            return r;
        buf_eat(in, n + 1);
    }
    return 0;
}

static int kvsock_read_more(struct kvconn *c, struct buf *in)
{
    uint8_t *room;
    ssize_t n;
    int r = buf_room(in, READ_SIZE, &room);

    if (r < 0)
        return r;
    n = sock_read(c->sock, room, READ_SIZE, LOOP_NEVER); /* the task's end ends it */
    if (n <= 0)
        return n < 0 ? (int)n : -ENODATA;
    in->len += (size_t)n;
    return 0;
}

/* The first byte decides between the two languages. The buffer of a connection that waits is given
 * back: a task may hold many open that say nothing for hours. */
static void kvsock_serve(struct kvconn *c)
{
    AUTO_BUF in = { .max = KVLINE_MAX + READ_SIZE };
    int r = kvsock_read_more(c, &in);

    if (r == 0 && isupper(in.data[0])) {
        kvhttp_serve(c->task, take(c->sock), &in);
        return;
    }
    while (r == 0) {
        r = kvsock_serve_lines(c, &in);
        if (r == 0 && in.len == 0)
            buf_done(&in);
        if (r == 0)
            r = kvsock_read_more(c, &in);
    }
    if (r == -E2BIG)
        (void)sock_write(c->sock, "error the line is too long\n", 27, 0);
}

static void run_conn(void *arg)
{
    struct kvconn *c = arg, **at = &c->task->socket.conns;

    kvsock_serve(c);
    sock_close(c->sock);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->task->socket.n_conns--;
    free(c);
}

/* ---- the socket ---- */

/* Takes `fd` over. A connection that cannot be served is closed. */
static void kvsock_welcome(struct agent_task *t, int fd)
{
    struct kvconn *c = t->socket.n_conns < CONNS_MAX ? calloc(1, sizeof(*c)) : NULL;

    if (!c) {
        close(fd);
        return;
    }
    c->task = t;
    if (sock_from_fd(t->agent->loop, fd, &c->sock, NULL) < 0 ||
        fiber_start(t->agent->loop, run_conn, c, &c->fiber, NULL) < 0) {
        sock_close(c->sock);
        free(c);
        return;
    }
    c->next = t->socket.conns;
    t->socket.conns = c;
    t->socket.n_conns++;
}

static void on_connect(uv_poll_t *h, int status, int events);

static void on_again(uv_timer_t *t)
{
    struct kvsock *s = t->data;

    (void)uv_poll_start(&s->poll, UV_READABLE, on_connect);
}

static void on_connect(uv_poll_t *h, int status, int events)
{
    struct kvsock *s = h->data;

    (void)status;
    (void)events;
    for (int i = 0; i < BURST; i++) {
        int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            kvsock_welcome(s->task, fd);
            continue;
        }
        if (errno == EAGAIN)
            return;
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        /* The connection stays in the queue, so the loop would spin. */
        trace(LOG_AGENT, "%s: accept: error %d, trying again", s->task->name, errno);
        (void)uv_poll_stop(&s->poll);
        (void)uv_timer_start(&s->again, on_again, PAUSE_MS, 0);
        return;
    }
}

static void kvsock_on_closed(uv_handle_t *h)
{
    struct kvsock *s = h->data;

    if (--s->handles == 0)
        free(s);
}

int kvsock_open(struct agent_task *t, struct err *err)
{
    struct kvsock *s;
    int r;

    if (t->socket.server && access(t->socket.path, F_OK) == 0)
        return 0;
    kvsock_close(t); /* its name may have been removed with other old files */
    s = calloc(1, sizeof(*s));
    if (!s)
        return err_oom(err);
    s->task = t;
    r = listen_unix(t->socket.path, &s->fd, err);
    if (r < 0) {
        free(s);
        return r;
    }
    r = uv_poll_init(loop_uv(t->agent->loop), &s->poll, s->fd);
    if (r < 0) {
        listen_close(s->fd);
        free(s);
        return err_code(err, r, "watch '%s'", t->socket.path);
    }
    (void)uv_timer_init(loop_uv(t->agent->loop), &s->again);
    s->handles = 2;
    s->poll.data = s->again.data = s;
    t->socket.server = s;
    r = uv_poll_start(&s->poll, UV_READABLE, on_connect);
    return r < 0 ? err_code(err, r, "watch '%s'", t->socket.path) : 0;
}

void kvsock_hang_up(struct agent_task *t)
{
    for (struct kvconn *c = t->socket.conns; c; c = c->next)
        fiber_cancel(c->fiber);
}

/* Two handles share the struct; the last of them that closes frees it. */
void kvsock_close(struct agent_task *t)
{
    struct kvsock *s = t->socket.server;

    if (!s)
        return;
    t->socket.server = NULL;
    kvsock_hang_up(t);
    uv_close((uv_handle_t *)&s->poll, kvsock_on_closed);
    uv_close((uv_handle_t *)&s->again, kvsock_on_closed);
    listen_close(s->fd);
}
