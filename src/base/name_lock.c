/* name_lock.c - a lock that its holder cannot leave behind: a name in the abstract namespace of
 * Unix sockets, which the kernel frees with the last descriptor. Who holds a name is asked of the
 * kernel by netlink. See name_lock.h.
 *
 *     dump of Unix sockets ──► a message for each, with its name and its owner (Linux 5.3) */
#include "base/name_lock.h"
#include "base/auto.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#ifndef UDIAG_SHOW_UID
#define UDIAG_SHOW_UID 0x40
#define UNIX_DIAG_UID 7
#endif

#define NAME_MAX_ 107
#define ANSWER (32 * 1024) /* bytes of one part of it */

/* The abstract name begins with a NUL, which is not counted as its end: its length is that of the
 * address. There is no file, so nothing is left behind by a process that is killed, and no mode:
 * any user in our network namespace can take the name first. Hence name_lock_owners(). */
int name_lock(const char *name)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n = strlen(name);

    if (fd < 0)
        return -errno;
    if (n > NAME_MAX_)
        return -ENAMETOOLONG;
    memcpy(a.sun_path + 1, name, n);
    if (bind(fd, (struct sockaddr *)&a,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) < 0)
        return -errno;
    return take_fd(fd);
}

struct question {
    struct nlmsghdr head;
    struct unix_diag_req body;
};

struct dump {
    const char *prefix;
    name_lock_fn *fn;
    void *arg;
};

static int name_ask(int fd)
{
    struct question q = {
        .head = { .nlmsg_len = sizeof(q),
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
        .body = { .sdiag_family = AF_UNIX,
                  .udiag_states = UINT32_MAX,
                  .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID },
    };

    return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) ? 0 : -errno;
}

/* One socket. */
static void name_hand_on(const struct dump *d, struct nlmsghdr *h)
{
    struct unix_diag_msg *m = NLMSG_DATA(h);
    int left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));
    size_t prefix = strlen(d->prefix);
    char name[NAME_MAX_ + 1] = "";
    uint32_t uid = 0;
    bool owned = false;

    for (struct rtattr *a = (struct rtattr *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        size_t n = RTA_PAYLOAD(a);
        const char *p = RTA_DATA(a);

        if (a->rta_type == UNIX_DIAG_NAME && n > 1 && n <= sizeof(name) && p[0] == '\0') {
            memcpy(name, p + 1, n - 1);
            name[n - 1] = '\0';
        } else if (a->rta_type == UNIX_DIAG_UID && n >= sizeof(uid)) {
            memcpy(&uid, p, sizeof(uid));
            owned = true;
        }
    }
    if (owned && *name && strncmp(name, d->prefix, prefix) == 0)
        d->fn(d->arg, name + prefix, (uid_t)uid);
}

/* One part of the answer; false at its end. Old kernels send no owner; such a socket counts as
 * nobody's. */
static bool name_read_part(int fd, char *part, const struct dump *d)
{
    ssize_t n = recv(fd, part, ANSWER, 0);
    size_t left = n > 0 ? (size_t)n : 0;

    for (struct nlmsghdr *h = (struct nlmsghdr *)(void *)part; NLMSG_OK(h, left);
         h = NLMSG_NEXT(h, left)) {
        if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
            return false;
        if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
            h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
            name_hand_on(d, h);
    }
    return n > 0;
}

void name_lock_owners(const char *prefix, name_lock_fn *fn, void *arg)
{
    const struct dump d = { prefix, fn, arg };
    AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    AUTO_FREE char *part = malloc(ANSWER);

    if (fd < 0 || !part || name_ask(fd) < 0)
        return;
    while (name_read_part(fd, part, &d))
        ;
}
