/* peer.c - whose process is at the other end of a TCP connection on this machine: the user, as the
 * kernel knows it. NETLINK_SOCK_DIAG finds one socket by its two addresses, however many there are;
 * where the kernel cannot do that, /proc/net/tcp is read, a piece at a time. See peer.h.
 *
 * The other end's socket is ours with the two addresses exchanged. */
#include "loop/peer.h"
#include "base/auto.h"
#include "base/str.h"
#include "loop/resolve.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>

#define PIECE (64 * KIB)

int peer_ends(int fd, struct peer_ends *ret)
{
    socklen_t n = sizeof(ret->local);

    memset(ret, 0, sizeof(*ret));
    if (getsockname(fd, &ret->local.sa, &n) < 0)
        return -errno;
    n = sizeof(ret->peer);
    if (getpeername(fd, &ret->peer.sa, &n) < 0)
        return -errno;
    if (ret->local.sa.sa_family != ret->peer.sa.sa_family)
        return -EAFNOSUPPORT;
    return ret->peer.sa.sa_family == AF_INET || ret->peer.sa.sa_family == AF_INET6 ? 0
                                                                                   : -EAFNOSUPPORT;
}

/* ---- by netlink ---- */

static void put_address(const union resolve_addr *a, __be32 out[4], __be16 *ret_port)
{
    if (a->sa.sa_family == AF_INET6) {
        memcpy(out, &a->in6.sin6_addr, 16);
        *ret_port = a->in6.sin6_port;
    } else {
        memcpy(out, &a->in4.sin_addr, 4);
        *ret_port = a->in4.sin_port;
    }
}

/* The owner of the socket that has these two ends. One that was closed is in no process any more,
 * and has no inode; the kernel attributes it to root.
 *
 *     request   sock_diag, family, TCP, any state, { source, destination } of the one socket
 *     answer    one inet_diag_msg (user, inode), or NLMSG_ERROR with a negative errno
 *
 * Without NLM_F_DUMP the kernel looks the socket up in its hash table, whose cost does not grow
 * with the number of sockets. */
static int ask_kernel(const union resolve_addr *from, const union resolve_addr *to, uid_t *ret)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } q = { .head = { .nlmsg_len = sizeof(q),
                      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                      .nlmsg_flags = NLM_F_REQUEST },
            .body = { .sdiag_family = (__u8)from->sa.sa_family,
                      .sdiag_protocol = IPPROTO_TCP,
                      .idiag_states = ~0U,
                      .id = { .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } } };
    union {
        struct nlmsghdr head;
        char bytes[2 * KIB];
    } a = { 0 };
    AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    const struct inet_diag_msg *found;
    ssize_t n;

    if (fd < 0)
        return -errno;
    put_address(from, q.body.id.idiag_src, &q.body.id.idiag_sport);
    put_address(to, q.body.id.idiag_dst, &q.body.id.idiag_dport);
    if (send(fd, &q, sizeof(q), 0) < 0)
        return -errno;
    n = recv(fd, &a, sizeof(a), MSG_DONTWAIT); /* the kernel has answered inside send() */
    if (n < 0)
        return -errno;
    if (!NLMSG_OK(&a.head, (unsigned)n))
        return -EBADMSG;
    if (a.head.nlmsg_type == NLMSG_ERROR)
        return ((const struct nlmsgerr *)NLMSG_DATA(&a.head))->error;
    if (a.head.nlmsg_len < NLMSG_LENGTH(sizeof(*found)))
        return -EBADMSG;
    found = NLMSG_DATA(&a.head);
    *ret = found->idiag_uid;
    return found->idiag_inode ? 0 : -ESHUTDOWN;
}

/* ---- by /proc ---- */

/* As the kernel writes it there: words of the address as numbers of this machine. */
static void proc_text(const union resolve_addr *a, char out[48])
{
    uint32_t words[4] = { 0 };
    __be16 port = 0;

    put_address(a, words, &port);
    if (a->sa.sa_family == AF_INET6)
        (void)snprintf(out, 48, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3],
                       ntohs(port));
    else
        (void)snprintf(out, 48, "%08X:%04X", words[0], ntohs(port));
}

/* The number after that many other fields. */
static int peer_number_in(const char *p, int field, int64_t *ret)
{
    char text[24];
    size_t n;

    while (field-- > 0) {
        p += strcspn(p, " \n");
        p += strspn(p, " ");
    }
    n = strcspn(p, " \n");
    if (n == 0 || n >= sizeof(text))
        return -ENOENT;
    memcpy(text, p, n);
    text[n] = '\0';
    return str_to_i64(text, 0, INT64_MAX, ret) < 0 ? -ENOENT : 0;
}

/* "  0: LOCAL REMOTE STATE QUEUES TIMER RETRIES UID TIMEOUT INODE …", from STATE on. */
static int uid_in(const char *p, uid_t *ret)
{
    int64_t uid = 0, inode = 0;

    if (peer_number_in(p, 4, &uid) < 0 || peer_number_in(p, 6, &inode) < 0)
        return -ENOENT;
    *ret = (uid_t)uid;
    return inode ? 0 : -ESHUTDOWN;
}

/* The last line that is there as a whole ends at `n`; what comes behind it is kept for later. */
static size_t whole_lines(const char *p, size_t n)
{
    while (n > 0 && p[n - 1] != '\n')
        n--;
    return n;
}

/* Where `wanted` is followed by the rest of its line in a table of any length. Only whole lines are
 * searched: half a line could match with another socket's numbers behind it. */
static int search_table(int fd, const char *wanted, uid_t *ret)
{
    AUTO_FREE char *text = malloc(PIECE + 1);
    size_t n = 0, lines;
    ssize_t got;
    char *at;

    if (!text)
        return -ENOMEM;
    while ((got = read(fd, text + n, PIECE - n)) > 0 || (got < 0 && errno == EINTR)) {
        n += got > 0 ? (size_t)got : 0;
        lines = whole_lines(text, n);
        text[n] = '\0';
        at = strstr(text, wanted);
        if (at && at < text + lines)
            return uid_in(at + strlen(wanted), ret);
        if (lines == 0 && n == PIECE)
            return -EBADMSG;
        n -= lines;
        memmove(text, text + lines, n);
    }
    return got < 0 ? -errno : -ENOENT;
}

static int read_one_table(const struct peer_ends *e, uid_t *ret)
{
    const char *table = e->peer.sa.sa_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp";
    AUTO_CLOSE int fd = open(table, O_RDONLY | O_CLOEXEC);
    char from[48], to[48], wanted[100];

    if (fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -ENOSYS;
    proc_text(&e->peer, from);
    proc_text(&e->local, to);
    (void)snprintf(wanted, sizeof(wanted), ": %s %s ", from, to);
    return search_table(fd, wanted, ret);
}

/* The same address as a socket of IPv6 has it that speaks IPv4. */
static void map_address(const union resolve_addr *a, union resolve_addr *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->in6.sin6_family = AF_INET6;
    ret->in6.sin6_port = a->in4.sin_port;
    memset(&ret->in6.sin6_addr.s6_addr[10], 0xff, 2);
    memcpy(&ret->in6.sin6_addr.s6_addr[12], &a->in4.sin_addr, 4);
}

static int peer_read_table(const struct peer_ends *e, uid_t *ret)
{
    struct peer_ends mapped;
    int r = read_one_table(e, ret);

    if (r != -ENOENT || e->peer.sa.sa_family != AF_INET)
        return r;
    map_address(&e->peer, &mapped.peer);
    map_address(&e->local, &mapped.local);
    r = read_one_table(&mapped, ret);
    return r == -ENOSYS ? -ENOENT : r; /* a machine without IPv6 */
}

int peer_uid_by_table(int fd, uid_t *ret)
{
    struct peer_ends e;
    int r = peer_ends(fd, &e);

    return r < 0 ? r : peer_read_table(&e, ret);
}

/* A kernel that knows our own end and not the other is to be believed: the peer is not on this
 * machine, or has gone. Only one that knows neither cannot be asked this way, and the table is
 * read. */
int peer_uid(int fd, uid_t *ret)
{
    struct peer_ends e;
    uid_t ours;
    int r = peer_ends(fd, &e);

    if (r < 0)
        return r;
    r = ask_kernel(&e.peer, &e.local, ret);
    if (r == 0 || r == -ESHUTDOWN)
        return r;
    /* There is no such socket, or nobody can tell: then it does not know our own end either. */
    if (ask_kernel(&e.local, &e.peer, &ours) == 0)
        return -ENOENT;
    return peer_read_table(&e, ret);
}

int peer_uid_of(const struct peer_ends *e, uid_t *ret)
{
    int r = ask_kernel(&e->peer, &e->local, ret);

    return r == 0 || r == -ESHUTDOWN ? r : peer_read_table(e, ret);
}
