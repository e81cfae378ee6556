/* sock.c - a socket for fibers: the system call is tried first, and only when it would block does
 * the fiber wait for libuv to say that the descriptor is ready. See sock.h. */
#include "loop/sock.h"
#include "loop/fiber.h"
#include "loop/resolve.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <uv.h>

/* A machine that has lost its power or its network says nothing more, and who only listens would
 * wait for it forever: after 20 s of silence it is asked, four times, until 40 s. */
#define IDLE_S 20
#define PROBE_S 5
#define PROBES 4

struct sock {
    struct loop *loop;
    int fd;
    uv_poll_t poll;
    int armed; /* events libuv watches for now */
    int refs;  /* the open handle, and every call that is inside */
    bool closed;
    struct cond readable, writable;
    void (*on_readable)(void *user); /* NULL: nobody wants to be called */
    void *on_user;
    char peer[INET6_ADDRSTRLEN], local[INET6_ADDRSTRLEN];
};

static void sock_unref(struct sock *s)
{
    if (--s->refs == 0)
        free(s);
}

static void call_reader(struct sock *s)
{
    void (*fn)(void *user) = s->on_readable;

    s->on_readable = NULL;
    fn(s->on_user);
}

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct sock *s = h->data;
    int wanted;

    if (status < 0)
        events = UV_READABLE | UV_WRITABLE; /* the next system call has the reason */
    if (events & UV_READABLE && s->readable.first)
        cond_wake_all(&s->readable), events &= ~UV_READABLE;
    else if (events & UV_READABLE && s->on_readable)
        call_reader(s), events &= ~UV_READABLE;
    if (events & UV_WRITABLE && s->writable.first)
        cond_wake_all(&s->writable), events &= ~UV_WRITABLE;
    if (s->closed || !(events & s->armed))
        return;
    /* An event nobody waits for would fire in every turn. One that somebody waited for stays
     * armed: the same wait usually comes again at once, and then costs no epoll_ctl. */
    wanted = s->armed & ~events;
    s->armed = wanted;
    if (wanted)
        uv_poll_start(&s->poll, wanted, on_poll);
    else
        uv_poll_stop(&s->poll);
}

/* Both directions share one handle of libuv, which knows a single set of events: arming one must
 * name the other as well. */
static int arm(struct sock *s, int event)
{
    int r = s->armed & event ? 0 : uv_poll_start(&s->poll, s->armed | event, on_poll);

    if (r == 0)
        s->armed |= event;
    return r;
}

/* Closed while we waited: only `s` itself may be looked at then, which our reference keeps; the
 * descriptor's number may belong to another file already. */
static int sock_wait_for(struct sock *s, int event, int64_t deadline)
{
    struct cond *c = event == UV_READABLE ? &s->readable : &s->writable;
    int r = arm(s, event);

    if (r < 0)
        return r;
    r = cond_wait(s->loop, c, deadline);
    if (s->closed)
        return -ECONNABORTED;
    return r;
}

static void name_ends(struct sock *s)
{
    union resolve_addr a = { 0 };
    socklen_t n = sizeof(a);

    if (getpeername(s->fd, &a.sa, &n) == 0 && a.sa.sa_family != AF_UNIX)
        (void)resolve_text(&a, s->peer);
    n = sizeof(a);
    if (getsockname(s->fd, &a.sa, &n) == 0 && a.sa.sa_family != AF_UNIX)
        (void)resolve_text(&a, s->local);
}

/* The descriptor is taken over in any case: on failure it is closed. */
int sock_from_fd(struct loop *l, int fd, struct sock **ret, struct err *err)
{
    AUTO_FREE struct sock *s = calloc(1, sizeof(*s));
    int r;

    if (!s) {
        close(fd);
        return err_oom(err);
    }
    s->loop = l;
    s->fd = fd;
    s->refs = 1;
    r = uv_poll_init(loop_uv(l), &s->poll, fd);
    if (r < 0) {
        close(fd);
        return err_code(err, r, "watch a socket");
    }
    s->poll.data = s;
    name_ends(s);
    *ret = take(s);
    return 0;
}

static void sock_on_closed(uv_handle_t *h)
{
    sock_unref(h->data);
}

/* Fibers that are inside a call hold references: they are woken, see `closed`, and leave; the last
 * one frees. The descriptor is closed now, so that the other side learns of it at once. */
struct sock *sock_close(struct sock *s)
{
    if (!s)
        return NULL;
    s->closed = true;
    uv_poll_stop(&s->poll);
    uv_close((uv_handle_t *)&s->poll, sock_on_closed);
    close(s->fd);
    s->fd = -1;
    cond_wake_all(&s->readable);
    cond_wake_all(&s->writable);
    if (s->on_readable)
        call_reader(s);
    return NULL;
}

static int start_connect(struct sock *s, const union resolve_addr *a)
{
    if (connect(s->fd, &a->sa, resolve_len(a)) == 0)
        return 0;
    return errno == EINPROGRESS ? 1 : -errno;
}

/* Writable means decided, not connected: SO_ERROR has the outcome. */
static int finish_connect(struct sock *s, int64_t deadline)
{
    int code = 0, r = sock_wait_for(s, UV_WRITABLE, deadline);
    socklen_t n = sizeof(code);

    if (r < 0)
        return r;
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &code, &n) < 0)
        return -errno;
    return -code;
}

/* Options that a Unix socket does not know are refused, and do no harm. */
void sock_set_tcp(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        { IPPROTO_TCP, TCP_NODELAY, 1 },       { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S }, { IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S },
        { IPPROTO_TCP, TCP_KEEPCNT, PROBES },
    };

    for (size_t i = 0; i < COUNT_OF(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof(options[i].value));
}

static int connect_one(struct loop *l, const union resolve_addr *a, int64_t deadline,
                       struct sock **ret)
{
    AUTO_SOCK *s = NULL;
    int fd, r;

    fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    sock_set_tcp(fd);
    r = sock_from_fd(l, fd, &s, NULL);
    if (r < 0)
        return r;
    r = start_connect(s, a);
    if (r > 0)
        r = finish_connect(s, deadline);
    if (r < 0)
        return r;
    name_ends(s);
    *ret = take(s);
    return 0;
}

/* The addresses in their order, under one deadline: a host whose first address does not answer uses
 * up the time, and one that refuses costs nothing. */
int sock_connect(struct loop *l, const char *host, int port, int64_t deadline, struct sock **ret,
                 struct err *err)
{
    struct resolve_addrs addrs;
    int r = resolve_host(l, host, port, deadline, &addrs, err);

    if (r < 0)
        return r;
    for (int i = 0; i < addrs.n; i++) {
        r = connect_one(l, &addrs.v[i], deadline, ret);
        if (r == 0 || r == -ECANCELED)
            break;
    }
    if (r < 0)
        return err_code(err, r, "connect to %s:%d", host, port);
    return 0;
}

/* The call first, the wait only when it says EAGAIN: with data at hand no turn of the loop is
 * spent. */
ssize_t sock_readv(struct sock *s, const struct iovec *iov, int count, int64_t deadline)
{
    ssize_t n;
    int r = 0;

    s->refs++;
    for (;;) {
        n = s->closed ? -1 : readv(s->fd, iov, count);
        if (n >= 0)
            break;
        if (s->closed)
            r = -ECONNABORTED;
        else if (errno == EAGAIN)
            r = sock_wait_for(s, UV_READABLE, deadline);
        else if (errno != EINTR)
            r = -errno;
        if (r < 0)
            break;
    }
    sock_unref(s);
    return r < 0 ? r : n;
}

ssize_t sock_read(struct sock *s, void *p, size_t n, int64_t deadline)
{
    struct iovec iov = { .iov_base = p, .iov_len = n };

    return sock_readv(s, &iov, 1, deadline);
}

ssize_t sock_read_now(struct sock *s, void *p, size_t n)
{
    ssize_t got;

    do
        got = s->closed ? -1 : read(s->fd, p, n);
    while (got < 0 && !s->closed && errno == EINTR);
    if (s->closed)
        return -ECONNABORTED;
    return got < 0 ? -errno : got;
}

int sock_wait_readable(struct sock *s, int64_t deadline)
{
    int r;

    if (s->closed)
        return -ECONNABORTED;
    s->refs++;
    r = sock_wait_for(s, UV_READABLE, deadline);
    sock_unref(s);
    return r;
}

/* Once, and it is called also when the socket is closed, so that whoever waits this way always
 * hears of something. */
int sock_on_readable(struct sock *s, void (*fn)(void *user), void *user)
{
    int r = s->closed ? -ECONNABORTED : arm(s, UV_READABLE);

    if (r < 0)
        return r;
    s->on_readable = fn;
    s->on_user = user;
    return 0;
}

int sock_read_full(struct sock *s, void *p, size_t n, int64_t deadline)
{
    char *at = p;

    while (n > 0) {
        ssize_t got = sock_read(s, at, n, deadline);

        if (got < 0)
            return (int)got;
        if (got == 0)
            return -ENODATA;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

/* Moves the vector past `n` written bytes. */
static void advance(struct iovec **iov, int *count, size_t n)
{
    while (*count > 0 && n >= (*iov)->iov_len) {
        n -= (*iov)->iov_len;
        (*iov)++;
        (*count)--;
    }
    if (n > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + n;
        (*iov)->iov_len -= n;
    }
}

static int sock_write_some(struct sock *s, struct iovec **iov, int *count, int64_t deadline)
{
    struct msghdr msg = { .msg_iov = *iov, .msg_iovlen = (size_t)*count };
    ssize_t n;

    if (s->closed)
        return -ECONNABORTED;
    n = sendmsg(s->fd, &msg, MSG_NOSIGNAL);
    if (n >= 0) {
        advance(iov, count, (size_t)n);
        return 0;
    }
    if (errno == EAGAIN)
        return sock_wait_for(s, UV_WRITABLE, deadline);
    return errno == EINTR ? 0 : -errno;
}

int sock_writev(struct sock *s, struct iovec *iov, int count, int64_t deadline)
{
    int r = 0;

    s->refs++;
    advance(&iov, &count, 0);
    while (count > 0 && r == 0)
        r = sock_write_some(s, &iov, &count, deadline);
    sock_unref(s);
    return r;
}

int sock_write(struct sock *s, const void *p, size_t n, int64_t deadline)
{
    struct iovec iov = { .iov_base = (void *)p, .iov_len = n };

    return sock_writev(s, &iov, 1, deadline);
}

int sock_fd(const struct sock *s)
{
    return s->fd;
}

const char *sock_peer_ip(const struct sock *s)
{
    return s->peer;
}

const char *sock_local_ip(const struct sock *s)
{
    return s->local;
}
