/* ports.c - ports held for tasks until their programs bind them.
 *
 *     any ──► held ──► shared (the program sets SO_REUSE…) ──► held again
 *               └────► let go (it sets neither)            ──► held again
 *
 * A held port is checked on IPv4 and IPv6, and again before each start: connections that linger
 * after the last program are not in the way, a program that listens is. */
#include "agent/tasks/ports.h"
#include "agent/tasks/port_owner.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/name_lock.h"
#include "base/path.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

/* ---- the range ---- */

/* The first port that the kernel gives to outgoing connections. */
static unsigned ephemeral_start(void)
{
    AUTO_BUF text = { .max = 64 };
    unsigned long n;

    if (path_read("/proc/sys/net/ipv4/ip_local_port_range", &text, NULL) < 0 || !buf_text(&text))
        return PORTS_HIGH + 1;
    n = strtoul((const char *)text.data, NULL, 10);
    return n > 0 && n < 65536 ? (unsigned)n : PORTS_HIGH + 1;
}

int ports_init(struct ports *p, unsigned low, unsigned high, struct err *err)
{
    unsigned start = ephemeral_start();
    uint32_t salt = 0;

    if (!low && !high) {
        low = PORTS_LOW;
        high = start > low && start <= PORTS_HIGH ? start - 1 : PORTS_HIGH;
    }
    if (low < 1 || high > 65535 || low > high)
        return err_set(err, -EINVAL, "%u to %u is no range of ports", low, high);
    (void)!getrandom(&salt, sizeof(salt), 0);
    *p = (struct ports){ .low = low, .high = high, .next = low + salt % (high - low + 1) };
    return 0;
}

/* ---- one port ---- */

#define LOCK_NAME "ydl-port-"

static int take_name(unsigned number)
{
    char name[32];

    (void)snprintf(name, sizeof(name), LOCK_NAME "%u", number);
    return name_lock(name);
}

/* Another program may listen on IPv6 only. */
static int check_v6(unsigned number, bool lingering)
{
    struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)number) };
    AUTO_CLOSE int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd < 0)
        return 0; /* a machine without IPv6 */
    if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0 ||
        (lingering && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0))
        return -errno;
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno == EADDRINUSE)
        return -EADDRINUSE;
    return 0;
}

/* Allows or forbids others to bind to the port: the kernel checks these options at each bind. */
static int set_sharing(int fd, bool shared)
{
    int on = shared;

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0)
        return -errno;
    return 0;
}

/* Binds without any option, which excludes all others. With `lingering`, connections of the last
 * owner that the kernel still keeps do not count. */
static int take_port(unsigned number, bool lingering)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)number) };
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1, r;

    if (fd < 0)
        return -errno;
    if (lingering && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        return -errno;
    r = check_v6(number, lingering);
    if (r < 0)
        return r;
    r = lingering ? set_sharing(fd, false) : 0;
    return r < 0 ? r : take_fd(fd);
}

/* Two guards: the name (an abstract socket, base/name_lock.h) keeps agents of all users apart even
 * while the port is shared or let go, and the bound socket keeps every other program out. */
static int ports_hold(unsigned number, struct port *ret)
{
    AUTO_CLOSE int lock = take_name(number);
    int bound = lock < 0 ? lock : take_port(number, false);

    if (bound < 0)
        return bound;
    *ret = (struct port){ .number = (uint16_t)number, .bound = bound, .lock = take_fd(lock) };
    return 0;
}

/* A port with lingering connections of its last owner, a task of an agent that ran here before us.
 */
static int hold_lingering(unsigned number, struct port *ret)
{
    AUTO_CLOSE int lock = take_name(number);
    int bound;

    if (lock < 0 || !port_lingers(number))
        return lock < 0 ? lock : -EADDRINUSE;
    bound = take_port(number, true);
    if (bound < 0 && bound != -EADDRINUSE)
        return bound;
    *ret = (struct port){ .number = (uint16_t)number, .lock = take_fd(lock) };
    ret->bound = bound < 0 ? -1 : bound;
    return 0;
}

/* Names of ports in the range that another user holds. */
struct foreign {
    unsigned low, high, n;
    uid_t owner; /* of the last */
};

static void ports_count_foreign(void *arg, const char *rest, uid_t owner)
{
    struct foreign *f = arg;
    int64_t number;

    if (owner == geteuid() || str_to_i64(rest, f->low, f->high, &number) < 0)
        return;
    f->n++;
    f->owner = owner;
}

static int ports_explain(unsigned number, int r, struct err *err)
{
    struct foreign f = { .low = number, .high = number };
    char who[PORT_OWNER_MAX];

    if (!err)
        return r; /* looking for its owner takes time */
    if (r != -EADDRINUSE)
        return err_code(err, r, "hold port %u", number);
    if (port_owner(number, who))
        return err_set(err, r, "port %u is in use by %s", number, who);
    name_lock_owners(LOCK_NAME, ports_count_foreign, &f);
    if (f.n)
        return err_set(err, r, "port %u is held by another user (uid %u)", number,
                       (unsigned)f.owner);
    return err_set(err, r, "port %u is in use", number);
}

/* Goes round the range from where the last search ended, and the first search begins at a random
 * port: agents that start together do not race for the same ones. */
int ports_any(struct ports *p, struct port *ret, struct err *err)
{
    struct foreign f = { .low = p->low, .high = p->high };
    unsigned all = p->high - p->low + 1;
    int r = -EADDRINUSE;

    for (unsigned i = 0; i < all; i++) {
        unsigned number = p->next;

        p->next = number == p->high ? p->low : number + 1;
        r = ports_hold(number, ret);
        if (r == 0)
            return 0;
        if (r != -EADDRINUSE && r != -EACCES)
            return ports_explain(number, r, err);
    }
    name_lock_owners(LOCK_NAME, ports_count_foreign, &f);
    if (f.n)
        return err_set(err, -EADDRINUSE,
                       "no port from %u to %u is free: %u are held by other users (uid %u)", p->low,
                       p->high, f.n, (unsigned)f.owner);
    return err_set(err, -EADDRINUSE, "no port from %u to %u is free", p->low, p->high);
}

int ports_one(unsigned number, struct port *ret, struct err *err)
{
    int r = number > 0 && number < 65536 ? ports_hold(number, ret) : -EINVAL;

    if (r == -EADDRINUSE)
        r = hold_lingering(number, ret);
    return r < 0 ? ports_explain(number, r, err) : 0;
}

int ports_share(struct port *p, bool shared, struct err *err)
{
    int r = p->bound >= 0 ? set_sharing(p->bound, shared) : 0;

    return r < 0 ? err_code(err, r, "share port %u", p->number) : 0;
}

void ports_let_go(struct port *p)
{
    if (p->bound >= 0)
        close(p->bound);
    p->bound = -1;
}

int ports_hold_again(struct port *p, struct err *err)
{
    int fd;

    if (p->bound >= 0)
        return ports_share(p, false, err);
    fd = take_port(p->number, true);
    /* A server that did not set SO_REUSEADDR leaves connections behind that prevent any bind for a
     * minute. The kernel gives the port to nobody either, and other agents see the name. */
    if (fd == -EADDRINUSE && !port_in_use(p->number))
        return 0;
    if (fd < 0)
        return ports_explain(p->number, fd, err);
    p->bound = fd;
    return 0;
}

void ports_drop(struct port *p)
{
    ports_let_go(p);
    if (p->lock >= 0)
        close(p->lock);
    p->lock = -1;
}
