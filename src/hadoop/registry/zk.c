/* zk.c - the session: a fiber drives the ZooKeeper client, which only says which descriptor it
 * waits for and until when. When a session has expired its handle is replaced by a new one, and
 * waiting calls are repeated on that. See zk.h. */
#include "hadoop/registry/zk.h"
#include "base/log.h"
#include "hadoop/registry/zk_private.h"
#include "loop/fiber.h"
#include "loop/resolve.h"
#include "loop/work.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define PORT 2181
#define SOON_MS 50      /* after an error that the client reports at once */
#define AGAIN_MS 1000   /* when not even a handle could be made */
#define LOOKUP_MS 10000 /* names of the servers */

/* ---- the descriptor ---- */

static void zk_on_ready(uv_poll_t *h, int status, int events)
{
    struct zk *z = h->data;

    (void)status;
    (void)events;
    uv_poll_stop(h);
    cond_wake_all(&z->ready);
}

/* Waits until `fd` (or none, -1) is ready, something was queued, or the time is over; what it is
 * ready for. The descriptor is the client's, who may close it at any of its calls: it is ours to
 * watch only in here. */
static int zk_wait_ready(struct zk *z, int fd, int interest, int64_t ms)
{
    struct epoll_event e = { .events = (interest & ZOOKEEPER_READ ? EPOLLIN : 0) |
                                       (interest & ZOOKEEPER_WRITE ? EPOLLOUT : 0) };
    bool watched = fd >= 0 && epoll_ctl(z->epoll, EPOLL_CTL_ADD, fd, &e) == 0 &&
                   uv_poll_start(&z->poll, UV_READABLE, zk_on_ready) == 0;
    int events = 0;

    (void)cond_wait(z->loop, &z->ready, loop_in(z->loop, ms));
    if (watched && epoll_wait(z->epoll, &e, 1, 0) == 1)
        events = (e.events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? ZOOKEEPER_READ : 0) |
                 (e.events & (EPOLLOUT | EPOLLERR) ? ZOOKEEPER_WRITE : 0);
    uv_poll_stop(&z->poll);
    if (fd >= 0)
        (void)epoll_ctl(z->epoll, EPOLL_CTL_DEL, fd, NULL);
    return events & interest;
}

void zk_wake(struct zk *z)
{
    cond_wake_all(&z->ready);
}

/* ---- the handle ---- */

static void on_log(const char *message)
{
    trace(LOG_YARN, "zookeeper: %s", message);
}

/* ZooKeeper keeps a session for its timeout while the connection moves between servers; ephemeral
 * nodes live as long. Expired means that they are gone, so the owner has to put them again.
 *
 *     connecting ──► connected ◄──► connecting          the session lives, on any of the servers
 *                        └──────────► expired            known only from a server, when we are back
 *
 * `renewed` says that the handle is not the first one: the first connection is no news to the
 * owner. */
static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zk *z = context;

    (void)handle;
    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    z->connected = state == ZOO_CONNECTED_STATE;
    z->expired = state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
    if (z->connected && z->renewed) {
        z->renewed = false;
        if (z->on_new_session)
            z->on_new_session(z->arg);
    }
    cond_wake_all(&z->changed);
}

/* "h:1" is 10.0.0.1:1 and, when it has several addresses, those too. The client cuts at the last
 * colon, so that numbers of IPv6 stand without brackets. */
static int zk_add_server(struct zk *z, const char *server, struct buf *hosts, struct err *err)
{
    AUTO_FREE char *host = strdup(server);
    char *colon = host ? strrchr(host, ':') : NULL;
    char text[INET6_ADDRSTRLEN];
    struct resolve_addrs found;
    int64_t port = PORT;
    int r;

    if (!host)
        return err_oom(err);
    if (colon) {
        *colon = '\0';
        if (str_to_i64(colon + 1, 1, 65535, &port) < 0)
            return err_set(err, -EINVAL, "'%s' has no proper port", server);
    }
    r = resolve_host(z->loop, host, (int)port, loop_in(z->loop, LOOKUP_MS), &found, err);
    for (int i = 0; r == 0 && i < found.n; i++)
        if (buf_printf(hosts, "%s%s:%d", hosts->len ? "," : "", resolve_text(&found.v[i], text),
                       (int)port) < 0)
            r = err_oom(err);
    return r;
}

/* One unknown host name does not matter while others are known. */
static int find_servers(struct zk *z, struct buf *hosts, struct err *err)
{
    int r = err_set(err, -EINVAL, "no ZooKeeper server is configured");

    for (size_t i = 0; i < z->servers.n; i++) {
        struct err one = ERR_INIT;
        int rc = zk_add_server(z, z->servers.v[i], hosts, &one);

        if (rc == -ENOMEM || rc == -ECANCELED)
            return err_set(err, rc, "%s", one.text);
        if (rc < 0 && err)
            *err = one;
        r = rc < 0 ? rc : r;
    }
    if (hosts->len == 0)
        return r;
    err_clear(err);
    return buf_add_str(hosts, z->chroot) < 0 ? err_oom(err) : 0;
}

static int make_handle(struct zk *z, struct err *err)
{
    AUTO_BUF hosts = { .max = 8 * KIB };
    int r = find_servers(z, &hosts, err);

    if (r < 0)
        return r;
    /* The client's level is one for the whole process; without a callback it prints. */
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    if (!buf_text(&hosts))
        return err_oom(err);
    z->expired = z->connected = false;
    /* The client would else ask for the user's name and home, by NSS. */
    z->handle = zookeeper_init2(buf_text(&hosts), on_session, (int)z->session_ms, NULL, z,
                                ZOO_NO_LOG_CLIENTENV, on_log);
    return z->handle ? 0 : err_sys(err, "ZooKeeper's client for '%s'", buf_text(&hosts));
}

/* ---- the fiber ---- */

/* A handle whose session has expired is of no further use; the library wants a new one. Closing the
 * old one completes every call under way with ZCLOSING, and those that wait for answers repeat them
 * on the new handle (zk_call.c). */
static void replace_handle(struct zk *z)
{
    zhandle_t *old = z->handle;
    struct err err = ERR_INIT;

    /* Not connected, so this neither blocks nor talks to anybody; calls under way hear of it. */
    z->handle = NULL;
    z->connected = false;
    if (old) {
        zookeeper_close(old);
        z->renewed = true;
    }
    if (make_handle(z, &err) < 0) {
        trace(LOG_YARN, "zookeeper: %s", err.text);
        (void)zk_wait_ready(z, -1, 0, AGAIN_MS);
    }
}

/* The client's own contract, one turn of it:
 *
 *     zookeeper_interest() ──► which descriptor, read or write, how long
 *     we wait
 *     zookeeper_process(what it is ready for; 0 after a timeout, so that it sends its ping) */
static void zk_turn(struct zk *z)
{
    struct timeval tv = { 0 };
    int fd = -1, interest = 0, events;
    int rc = zookeeper_interest(z->handle, &fd, &interest, &tv);
    int64_t ms = tv.tv_sec * 1000 + tv.tv_usec / 1000;

    if (rc != ZOK) {
        fd = -1;
        ms = SOON_MS;
    }
    events = zk_wait_ready(z, fd, interest, ms);
    if (!z->closing)
        (void)zookeeper_process(z->handle, events);
}

static void drive(void *arg)
{
    struct zk *z = arg;

    while (!z->closing) {
        if (!z->handle || z->expired || is_unrecoverable(z->handle))
            replace_handle(z);
        else
            zk_turn(z);
    }
    z->driven = false;
    cond_wake_all(&z->changed);
}

/* ---- beginning and end ---- */

int zk_wait_connected(struct zk *z, int64_t deadline, struct err *err)
{
    int r = 0;

    while (r == 0 && !z->connected)
        r = cond_wait(z->loop, &z->changed, deadline);
    if (r == -ETIMEDOUT)
        return err_set(err, r, "ZooKeeper at '%s' does not answer", z->servers.v[0]);
    return r < 0 ? err_code(err, r, "ZooKeeper") : 0;
}

static void zk_on_closed(uv_handle_t *h)
{
    struct zk *z = h->data;

    close(z->epoll);
    free(z);
}

static int zk_close_handle(void *arg)
{
    return zookeeper_close(arg);
}

/* The driving fiber leaves first, because the library is not made for two users at a time. The
 * memory goes when libuv has closed the poll handle, which lies inside it. */
struct zk *zk_close(struct zk *z)
{
    if (!z)
        return NULL;
    fiber_shield(z->loop, true);
    z->closing = true;
    zk_wake(z);
    while (z->driven)
        (void)cond_wait(z->loop, &z->changed, LOOP_NEVER);
    /* With a connection it waits for the servers' answer, in its own way: not on the loop. Nobody's
     * call is left. */
    if (z->handle && z->connected)
        (void)work_run(z->loop, zk_close_handle, z->handle);
    else if (z->handle)
        (void)zookeeper_close(z->handle);
    fiber_shield(z->loop, false);
    strs_done(&z->servers);
    free(z->chroot);
    uv_close((uv_handle_t *)&z->poll, zk_on_closed);
    return NULL;
}

static int zk_copy_options(struct zk *z, const struct zk_options *o, struct err *err)
{
    z->session_ms = o->session_ms > INT32_MAX ? INT32_MAX : o->session_ms;
    z->on_new_session = o->on_new_session;
    z->arg = o->arg;
    z->chroot = strdup(o->chroot);
    if (!z->chroot)
        return err_oom(err);
    for (size_t i = 0; i < o->servers->n; i++)
        if (strs_add(&z->servers, o->servers->v[i]) < 0)
            return err_oom(err);
    return 0;
}

/* What zk_close() expects. */
static int new_zk(struct loop *l, struct zk **ret, struct err *err)
{
    AUTO_FREE struct zk *z = calloc(1, sizeof(*z));
    AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);
    int r;

    if (!z)
        return err_oom(err);
    if (epoll < 0)
        return err_sys(err, "watch a descriptor");
    r = uv_poll_init(loop_uv(l), &z->poll, epoll);
    if (r < 0)
        return err_code(err, r, "watch a descriptor");
    z->loop = l;
    z->epoll = take_fd(epoll);
    z->poll.data = z;
    *ret = take(z);
    return 0;
}

int zk_open(struct loop *l, const struct zk_options *o, int64_t deadline, struct zk **ret,
            struct err *err)
{
    AUTO(zk) struct zk *z = NULL;
    int r = new_zk(l, &z, err);

    if (r == 0)
        r = zk_copy_options(z, o, err);
    if (r == 0)
        r = make_handle(z, err);
    if (r == 0)
        r = fiber_start(l, drive, z, NULL, err);
    if (r < 0)
        return r;
    z->driven = true;
    r = zk_wait_connected(z, deadline, err);
    if (r == 0)
        *ret = take(z);
    return r;
}
