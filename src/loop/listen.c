/* listen.c - sockets that listen: binding them, connecting to Unix ones, and asking who is at the
 * other end. See listen.h. */
#include "loop/listen.h"
#include "loop/fiber.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>

#define SOCKET_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)
#define BACKLOG_MS 10 /* until a full Unix backlog may have room */

/* ---- binding ---- */

union address {
    struct sockaddr sa;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

static int numeric_address(const char *host, union address *ret, struct err *err)
{
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, host, &ret->in4.sin_addr) == 1)
        ret->sa.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, host, &ret->in6.sin6_addr) == 1)
        ret->sa.sa_family = AF_INET6;
    else
        return err_set(err, -EINVAL, "listen on '%s': not a numeric address", host);
    return 0;
}

static socklen_t listen_set_port(union address *a, unsigned port)
{
    if (a->sa.sa_family == AF_INET6) {
        a->in6.sin6_port = htons((uint16_t)port);
        return sizeof(a->in6);
    }
    a->in4.sin_port = htons((uint16_t)port);
    return sizeof(a->in4);
}

static int bound_port(int fd)
{
    union address a = { 0 };
    socklen_t n = sizeof(a);

    if (getsockname(fd, &a.sa, &n) < 0)
        return -errno;
    return ntohs(a.sa.sa_family == AF_INET6 ? a.in6.sin6_port : a.in4.sin_port);
}

/* Two sockets that may reuse an address can both bind: the second learns it from listen(). */
static int bind_and_listen(int fd, const union address *a, socklen_t n)
{
    if (bind(fd, &a->sa, n) < 0 || listen(fd, LISTEN_BACKLOG) < 0)
        return -errno;
    return 0;
}

/* SO_REUSEADDR, so that a port is not lost for a minute after a connection on it was closed by
 * us. */
static int try_port(union address *a, unsigned port, int *ret_fd)
{
    AUTO_CLOSE int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCKET_FLAGS, 0);
    socklen_t n = listen_set_port(a, port);
    int one = 1, r;

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    r = bind_and_listen(fd, a, n);
    if (r == 0)
        *ret_fd = take_fd(fd);
    return r;
}

/* Where to begin, so that several masters of one machine do not queue up at the same number. */
static unsigned random_below(unsigned n)
{
    uint32_t v = 0;

    (void)!getrandom(&v, sizeof(v), GRND_NONBLOCK); /* 0 will do as well */
    return v % n;
}

int listen_tcp(const char *host, unsigned low, unsigned high, int *ret_fd, int *ret_port,
               struct err *err)
{
    unsigned span = high - low + 1, first;
    AUTO_CLOSE int fd = -1;
    union address a;
    int r = numeric_address(host, &a, err);

    if (r < 0)
        return r;
    if (low > high || high > UINT16_MAX || (low == 0 && high != 0))
        return err_set(err, -EINVAL, "listen on '%s': ports %u to %u are not a range", host, low,
                       high);
    first = random_below(span);
    r = -EADDRINUSE;
    for (unsigned i = 0; i < span && r == -EADDRINUSE; i++)
        r = try_port(&a, low + (first + i) % span, &fd);
    if (r == 0)
        r = bound_port(fd);
    if (r < 0)
        return low == high ? err_code(err, r, "listen on %s:%u", host, low)
                           : err_code(err, r, "listen on %s:%u-%u", host, low, high);
    *ret_port = r;
    *ret_fd = take_fd(fd);
    return 0;
}

/* ---- a port that is held for us ---- */

/* A line of /proc/net/tcp in fields:
 *
 *     0: ADDRESS:PORT ADDRESS:PORT STATE QUEUES TIMER:WHEN RETRANSMIT UID TIMEOUT INODE …
 */
enum { FIELD_LOCAL = 1, FIELD_STATE = 3, FIELD_INODE = 9, FIELDS_ };

/* Does it describe a listening socket on the port, and not ours? */
static bool line_is_listener(char *line, unsigned port, uint64_t ours)
{
    char *v[FIELDS_], *one, *colon;
    size_t n = 0;

    while (n < FIELDS_ && (one = strsep(&line, " \n")))
        if (*one)
            v[n++] = one;
    if (n < FIELDS_)
        return false;
    colon = strrchr(v[FIELD_LOCAL], ':');
    return colon && strtoul(colon + 1, NULL, 16) == port &&
           strtoul(v[FIELD_STATE], NULL, 16) == TCP_LISTEN &&
           strtoull(v[FIELD_INODE], NULL, 10) != ours;
}

static bool somebody_listens(const char *table, unsigned port, uint64_t ours)
{
    FILE *f = fopen(table, "re");
    char line[512];
    bool found = false;

    while (f && !found && fgets(line, sizeof(line), f))
        found = line_is_listener(line, port, ours);
    if (f)
        (void)fclose(f);
    return found;
}

/* The kernel lets two sockets with SO_REUSEPORT share their connections, and tells neither. */
static int check_alone(int fd, unsigned port)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    return somebody_listens("/proc/net/tcp", port, st.st_ino) ||
                   somebody_listens("/proc/net/tcp6", port, st.st_ino)
               ? -EADDRINUSE
               : 0;
}

/* Looks twice: of two who do this at the same time, each sees the other one after it listens. The
 * holder has bound the port and does not listen, which is enough to keep others off it. It has set
 * both options, so one that sets either can listen on the port in its place. */
static int share_port(union address *a, unsigned port, int *ret_fd)
{
    AUTO_CLOSE int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCKET_FLAGS, 0);
    socklen_t n = listen_set_port(a, port);
    int on = 1, r;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 || bind(fd, &a->sa, n) < 0)
        return -errno;
    r = check_alone(fd, port);
    if (r == 0 && listen(fd, LISTEN_BACKLOG) < 0)
        r = -errno;
    if (r == 0)
        r = check_alone(fd, port);
    if (r == 0)
        *ret_fd = take_fd(fd);
    return r;
}

/* A port that is free, or held with SO_REUSEADDR, needs no sharing. */
int listen_tcp_held(const char *host, unsigned port, int *ret_fd, struct err *err)
{
    union address a;
    int r = numeric_address(host, &a, err);

    if (r < 0)
        return r;
    if (port == 0 || port > UINT16_MAX)
        return err_set(err, -EINVAL, "listen on '%s': %u is not a port", host, port);
    r = try_port(&a, port, ret_fd);
    if (r == -EADDRINUSE)
        r = share_port(&a, port, ret_fd);
    return r < 0 ? err_code(err, r, "listen on %s:%u", host, port) : 0;
}

/* ---- Unix sockets ---- */

static int unix_address(const char *path, union address *ret, struct err *err)
{
    size_t n = strlen(path);

    memset(ret, 0, sizeof(*ret));
    if (n == 0)
        return err_set(err, -EINVAL, "a Unix socket needs a path");
    if (n >= sizeof(ret->un.sun_path))
        return err_set(err, -ENAMETOOLONG, "Unix socket '%s': %zu bytes, at most %zu", path, n,
                       sizeof(ret->un.sun_path) - 1);
    ret->un.sun_family = AF_UNIX;
    memcpy(ret->un.sun_path, path, n);
    return 0;
}

/* A socket file that nobody listens on: its owner was killed. */
static bool listen_is_stale(const union address *a)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCKET_FLAGS, 0);
    struct stat st;

    if (lstat(a->un.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false; /* connect() would refuse any other file in the same way */
    return fd >= 0 && connect(fd, &a->sa, sizeof(a->un)) < 0 && errno == ECONNREFUSED;
}

static int bind_unix(int fd, const union address *a)
{
    int r = bind_and_listen(fd, a, sizeof(a->un));

    if (r != -EADDRINUSE || !listen_is_stale(a))
        return r;
    if (unlink(a->un.sun_path) < 0)
        return -errno;
    return bind_and_listen(fd, a, sizeof(a->un));
}

int listen_unix(const char *path, int *ret_fd, struct err *err)
{
    AUTO_CLOSE int fd = -1;
    union address a;
    int r = unix_address(path, &a, err);

    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (fd < 0)
        return err_sys(err, "listen on '%s'", path);
    /* The file gets the descriptor's mode when it is made: there is no moment with another. */
    if (fchmod(fd, 0600) < 0)
        return err_sys(err, "listen on '%s'", path);
    r = bind_unix(fd, &a);
    if (r < 0)
        return err_code(err, r, "listen on '%s'", path);
    *ret_fd = take_fd(fd);
    return 0;
}

int listen_close(int fd)
{
    union address a = { 0 };
    socklen_t n = sizeof(a) - 1; /* the path may come without a NUL */

    if (fd < 0)
        return -1;
    if (getsockname(fd, &a.sa, &n) == 0 && a.sa.sa_family == AF_UNIX && a.un.sun_path[0])
        (void)unlink(a.un.sun_path);
    close(fd);
    return -1;
}

/* ---- the other end ---- */

int sock_peer_uid(int fd, uid_t *ret)
{
    struct ucred who = { 0 };
    int domain = 0;
    socklen_t n = sizeof(domain);

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0)
        return -errno;
    if (domain != AF_UNIX)
        return -EOPNOTSUPP;
    n = sizeof(who);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
        return -errno;
    *ret = who.uid;
    return 0;
}

/* A full backlog does not make connect() wait, and nothing tells when it has room again. */
static int connect_patiently(struct loop *l, int fd, const union address *a, int64_t deadline)
{
    while (connect(fd, &a->sa, sizeof(a->un)) < 0) {
        int r = -errno;

        if (r == -EINTR)
            continue;
        if (r != -EAGAIN)
            return r;
        if (loop_now(l) >= deadline)
            return -ETIMEDOUT;
        r = fiber_sleep(l, BACKLOG_MS);
        if (r < 0)
            return r;
    }
    return 0;
}

int sock_connect_unix(struct loop *l, const char *path, int64_t deadline, struct sock **ret,
                      struct err *err)
{
    AUTO_CLOSE int fd = -1;
    union address a;
    int r = unix_address(path, &a, err);

    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (fd < 0)
        return err_sys(err, "connect to '%s'", path);
    r = connect_patiently(l, fd, &a, deadline);
    if (r < 0)
        return err_code(err, r, "connect to '%s'", path);
    return sock_from_fd(l, take_fd(fd), ret, err);
}
