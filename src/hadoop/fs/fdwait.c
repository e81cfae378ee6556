/* fdwait.c - a descriptor goes into an epoll set of its own, and libuv watches the set. Writes
 * are asked not to block for this call alone (RWF_NOWAIT); where the kernel cannot, only what
 * poll promises is written. See fdwait.h. */
#include "hadoop/fs/fdwait.h"
#include "base/auto.h"
#include "loop/fiber.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <uv.h>

/* A pipe that polls as writable takes at least so much without blocking. */
#define SURE_BYTES 4096

struct fdwait {
    struct loop *loop;
    int epoll;
    short events;
    uv_poll_t poll;
    struct cond ready;
};

static void fdwait_on_ready(uv_poll_t *h, int status, int events)
{
    struct fdwait *w = h->data;

    (void)status;
    (void)events;
    uv_poll_stop(h);
    cond_wake_all(&w->ready);
}

static void fdwait_on_closed(uv_handle_t *h)
{
    struct fdwait *w = h->data;

    close(w->epoll);
    free(w);
}

/* A regular file cannot be watched (EPERM) and need not be: NULL stands for "never wait". */
int fdwait_new(struct loop *l, int fd, bool writing, struct fdwait **ret, struct err *err)
{
    struct epoll_event event = { .events = writing ? EPOLLOUT : EPOLLIN };
    AUTO_FREE struct fdwait *w = NULL;
    AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);
    int r;

    *ret = NULL;
    if (epoll < 0)
        return err_sys(err, "watch a descriptor");
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return errno == EPERM ? 0 : err_sys(err, "watch descriptor %d", fd);
    w = calloc(1, sizeof(*w));
    if (!w)
        return err_oom(err);
    w->loop = l;
    w->events = writing ? POLLOUT : POLLIN;
    r = uv_poll_init(loop_uv(l), &w->poll, epoll);
    if (r < 0)
        return err_code(err, r, "watch descriptor %d", fd);
    w->epoll = take_fd(epoll);
    w->poll.data = w;
    *ret = take(w);
    return 0;
}

struct fdwait *fdwait_free(struct fdwait *w)
{
    if (w)
        uv_close((uv_handle_t *)&w->poll, fdwait_on_closed);
    return NULL;
}

/* poll() first: epoll reports what is ready when the watching begins, but a turn of the loop is
 * spared where nothing has to be waited for. */
static int fdwait_wait_ready(struct fdwait *w, int fd)
{
    struct pollfd p = { .fd = fd, .events = w->events };
    int r = 0;

    while (r == 0 && poll(&p, 1, 0) == 0) {
        r = uv_poll_start(&w->poll, UV_READABLE, fdwait_on_ready);
        if (r == 0)
            r = cond_wait(w->loop, &w->ready, LOOP_NEVER);
    }
    uv_poll_stop(&w->poll);
    return r;
}

ssize_t fdwait_read(struct fdwait *w, int fd, void *p, size_t n)
{
    for (;;) {
        int r = w ? fdwait_wait_ready(w, fd) : 0;
        ssize_t got;

        if (r < 0)
            return r;
        got = read(fd, p, n);
        if (got >= 0)
            return got;
        if (errno != EINTR && !(w && errno == EAGAIN))
            return -errno;
    }
}

/* As much as goes without blocking. -EOPNOTSUPP where the kernel cannot be asked for that (a
 * terminal, an old pipe). */
static ssize_t fdwait_write_some(int fd, const void *p, size_t n)
{
    struct iovec iov = { .iov_base = (void *)p, .iov_len = n };
    ssize_t done = pwritev2(fd, &iov, 1, -1, RWF_NOWAIT);

    if (done >= 0)
        return done;
    return errno == EINVAL || errno == ENOSYS ? -EOPNOTSUPP : -errno;
}

/* After the wait: a pipe takes a page now, a descriptor that is never waited for all of it. */
static ssize_t write_sure(struct fdwait *w, int fd, const void *p, size_t n)
{
    int r = w ? fdwait_wait_ready(w, fd) : 0;
    ssize_t done;

    if (r < 0)
        return r;
    done = write(fd, p, w && n > SURE_BYTES ? SURE_BYTES : n);
    return done < 0 ? -errno : done;
}

/* Descriptors that we were given stay as they are: O_NONBLOCK would be set for every process that
 * shares them, the user's shell too. Two ways, and a call may change from the first to the second:
 *
 *     RWF_NOWAIT works      try, wait when it says EAGAIN, try again
 *     it does not (`sure`)  wait first, then write no more than a ready pipe takes at once */
ssize_t fdwait_write(struct fdwait *w, int fd, const void *p, size_t n)
{
    ssize_t done = w ? fdwait_write_some(fd, p, n) : -EOPNOTSUPP;
    bool sure = done == -EOPNOTSUPP;

    while (sure || done == -EAGAIN || done == -EINTR) {
        int r = w && !sure ? fdwait_wait_ready(w, fd) : 0;

        if (r < 0)
            return r;
        done = sure ? write_sure(w, fd, p, n) : fdwait_write_some(fd, p, n);
        sure = sure && (done == -EINTR || (w && done == -EAGAIN));
    }
    return done;
}
