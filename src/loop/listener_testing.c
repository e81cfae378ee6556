/* listener_testing.c - see listener_testing.h. A listener is a group of fibers: one that accepts,
 * and one for each connection. */
#include "loop/listener_testing.h"
#include "base/log.h"
#include "loop/fiber.h"

#include <netinet/in.h>
#include <uv.h>

#define RETRY_MS 50 /* until descriptors or memory may be there again */
#define BURST 64    /* connections accepted before others have their turn */

struct listener {
    struct loop *loop;
    int fd; /* -1 once stopped */
    uv_poll_t poll;
    struct cond ready;
    struct group fibers;
    size_t connections;
    int refs; /* the owner's and the handle's */
    listen_on_accept *on_accept;
    void *user;
};

struct connection {
    struct listener *listener;
    struct sock *sock;
};

static void listener_unref(struct listener *ln)
{
    if (--ln->refs == 0)
        free(ln);
}

static void listener_on_handle_closed(uv_handle_t *h)
{
    listener_unref(h->data);
}

static void on_readable(uv_poll_t *h, int status, int events)
{
    struct listener *ln = h->data;

    (void)status;
    (void)events;
    uv_poll_stop(h);
    cond_wake_all(&ln->ready);
}

static int run_connection(void *arg, struct err *err)
{
    struct connection *c = arg;
    struct listener *ln = c->listener;
    struct sock *s = c->sock;

    (void)err;
    free(c);
    ln->on_accept(ln->user, s);
    ln->connections--;
    return 0;
}

static int start_connection(struct listener *ln, int fd, struct err *err)
{
    AUTO_FREE struct connection *c = calloc(1, sizeof(*c));
    AUTO_SOCK *s = NULL;
    int r;

    if (!c) {
        close(fd);
        return err_oom(err);
    }
    sock_set_tcp(fd);
    r = sock_from_fd(ln->loop, fd, &s, err);
    if (r < 0)
        return r;
    *c = (struct connection){ .listener = ln, .sock = s };
    r = group_go(&ln->fibers, run_connection, c, err);
    if (r < 0)
        return r;
    ln->connections++;
    (void)take(c);
    (void)take(s);
    return 0;
}

/* Until there is something to accept, or the reason why nothing could be may be gone. */
static int wait_after(struct listener *ln, int code)
{
    int r;

    if (code == EINTR || code == ECONNABORTED)
        return 0;
    if (code != EAGAIN) {
        trace(LOG_LOOP, "accept: error %d, trying again", code);
        return fiber_sleep(ln->loop, RETRY_MS);
    }
    r = uv_poll_start(&ln->poll, UV_READABLE, on_readable);
    return r < 0 ? r : cond_wait(ln->loop, &ln->ready, LOOP_NEVER); /* listener_stop() ends it */
}

static int accept_all(void *arg, struct err *err)
{
    struct listener *ln = arg;
    struct err why = ERR_INIT;
    unsigned burst = 0;
    int r = 0;

    (void)err;
    while (r == 0 && ln->fd >= 0) {
        int fd = accept4(ln->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            r = wait_after(ln, errno);
        else if (start_connection(ln, fd, &why) < 0)
            trace(LOG_LOOP, "a connection is dropped: %s", why.text);
        else if (++burst % BURST == 0)
            r = fiber_yield(ln->loop);
    }
    return 0;
}

int listener_start(struct loop *l, int fd, listen_on_accept *on_accept, void *user,
                   struct listener **ret, struct err *err)
{
    struct listener *ln = calloc(1, sizeof(*ln));
    int r;

    if (!ln) {
        listen_close(fd);
        return err_oom(err);
    }
    *ln = (struct listener){ .loop = l, .fd = fd, .on_accept = on_accept, .user = user };
    group_init(&ln->fibers, l, 0);
    r = uv_poll_init(loop_uv(l), &ln->poll, fd);
    if (r < 0) {
        listen_close(fd);
        free(ln);
        return err_code(err, r, "watch a listening socket");
    }
    ln->poll.data = ln;
    ln->refs = 2;
    r = group_go(&ln->fibers, accept_all, ln, err);
    if (r < 0) {
        listener_stop(ln);
        listener_unref(ln);
        return r;
    }
    *ret = ln;
    return 0;
}

size_t listener_connections(const struct listener *ln)
{
    return ln->connections;
}

void listener_stop(struct listener *ln)
{
    if (ln->fd < 0)
        return;
    uv_poll_stop(&ln->poll);
    uv_close((uv_handle_t *)&ln->poll, listener_on_handle_closed);
    ln->fd = listen_close(ln->fd);
    cond_wake_all(&ln->ready);
}

struct listener *listener_close(struct listener *ln)
{
    if (!ln)
        return NULL;
    listener_stop(ln);
    group_cancel(&ln->fibers);
    (void)group_wait(&ln->fibers, NULL);
    listener_unref(ln);
    return NULL;
}
