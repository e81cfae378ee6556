/* resolve.c - names to addresses. A number or a name in the hosts file is answered at once; DNS is
 * asked by c-ares in the work pool, where it may block, on a channel of its own. getaddrinfo() is
 * not used: it would load NSS modules, which a static program cannot. See resolve.h. */
#include "loop/resolve.h"
#include "base/auto.h"
#include "loop/fiber.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

struct answer {
    struct resolve_addrs found;
    int status; /* ARES_… */
    bool done;
};

/* One look-up. Owned by the fiber and by the worker: the later of the two frees it. */
struct lookup {
    uv_work_t work;
    char host[256];
    struct answer answer;
    struct cond finished;
    int refs;
};

socklen_t resolve_len(const union resolve_addr *a)
{
    return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in4);
}

const char *resolve_text(const union resolve_addr *a, char out[INET6_ADDRSTRLEN])
{
    const void *src = a->sa.sa_family == AF_INET6 ? (const void *)&a->in6.sin6_addr
                                                  : (const void *)&a->in4.sin_addr;

    return inet_ntop(a->sa.sa_family, src, out, INET6_ADDRSTRLEN);
}

int resolve_port(const union resolve_addr *a)
{
    return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in4.sin_port);
}

static void resolve_set_port(union resolve_addr *a, int port)
{
    if (a->sa.sa_family == AF_INET6)
        a->in6.sin6_port = htons((uint16_t)port);
    else
        a->in4.sin_port = htons((uint16_t)port);
}

bool resolve_number(const char *host, int port, union resolve_addr *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, host, &ret->in4.sin_addr) == 1) {
        ret->sa.sa_family = AF_INET;
    } else if (inet_pton(AF_INET6, host, &ret->in6.sin6_addr) == 1) {
        ret->sa.sa_family = AF_INET6;
    } else {
        return false;
    }
    resolve_set_port(ret, port);
    return true;
}

static void add_addr(struct answer *a, int family, const void *bytes)
{
    union resolve_addr *out;

    if (a->found.n == RESOLVE_MAX)
        return;
    out = &a->found.v[a->found.n++];
    memset(out, 0, sizeof(*out));
    out->sa.sa_family = (sa_family_t)family;
    if (family == AF_INET6)
        memcpy(&out->in6.sin6_addr, bytes, sizeof(out->in6.sin6_addr));
    else
        memcpy(&out->in4.sin_addr, bytes, sizeof(out->in4.sin_addr));
}

static void add_hostent(struct answer *a, const struct hostent *h)
{
    for (char **p = h->h_addr_list; *p; p++)
        add_addr(a, h->h_addrtype, *p);
}

static bool from_hosts_file(ares_channel channel, const char *host, struct answer *a)
{
    static const int families[] = { AF_INET, AF_INET6 };

    for (size_t i = 0; i < COUNT_OF(families); i++) {
        struct hostent *h = NULL;

        if (ares_gethostbyname_file(channel, host, families[i], &h) == ARES_SUCCESS) {
            add_hostent(a, h);
            ares_free_hostent(h);
        }
    }
    return a->found.n > 0;
}

static void resolve_on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
    struct answer *a = arg;

    (void)timeouts;
    a->done = true;
    a->status = status;
    if (!info)
        return;
    for (int pass = 0; pass < 2; pass++) /* IPv4 first: Hadoop listens there */
        for (struct ares_addrinfo_node *n = info->nodes; n; n = n->ai_next) {
            int want = pass == 0 ? AF_INET : AF_INET6;

            if (n->ai_family != want)
                continue;
            if (want == AF_INET)
                add_addr(a, want, &((struct sockaddr_in *)n->ai_addr)->sin_addr);
            else
                add_addr(a, want, &((struct sockaddr_in6 *)n->ai_addr)->sin6_addr);
        }
    ares_freeaddrinfo(info);
}

/* What c-ares waits for. Not by select(), which knows no descriptor above 1023. Returns how many.
 */
static nfds_t sockets_of(ares_channel channel, struct pollfd out[ARES_GETSOCK_MAXNUM])
{
    ares_socket_t socks[ARES_GETSOCK_MAXNUM];
    unsigned bits = (unsigned)ares_getsock(channel, socks, ARES_GETSOCK_MAXNUM);
    nfds_t n = 0;

    for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM;
         i++) { /* c-ares' own macros shift into the sign */
        short events = (short)((bits & (1U << i) ? POLLIN : 0) |
                               (bits & (1U << (i + ARES_GETSOCK_MAXNUM)) ? POLLOUT : 0));

        if (events)
            out[n++] = (struct pollfd){ .fd = socks[i], .events = events };
    }
    return n;
}

/* Gives c-ares what is ready; without anything it looks at its own deadlines. An error or a hang-up
 * counts as readable: c-ares finds it by reading. */
static void process(ares_channel channel, const struct pollfd *fds, nfds_t n)
{
    bool any = false;

    for (nfds_t i = 0; i < n; i++) {
        ares_socket_t rd = fds[i].revents & ~POLLOUT ? fds[i].fd : ARES_SOCKET_BAD;
        ares_socket_t wr = fds[i].revents & POLLOUT ? fds[i].fd : ARES_SOCKET_BAD;

        if (fds[i].revents)
            ares_process_fd(channel, rd, wr);
        any |= fds[i].revents != 0;
    }
    if (!any)
        ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static void ask_dns(ares_channel channel, struct lookup *q)
{
    struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC };

    ares_getaddrinfo(channel, q->host, NULL, &hints, resolve_on_answer, &q->answer);
    while (!q->answer.done) {
        struct pollfd fds[ARES_GETSOCK_MAXNUM];
        /* A second at most, so that c-ares looks at its own deadlines also when nothing comes. */
        struct timeval most = { .tv_sec = 1 }, tv, *wait = ares_timeout(channel, &most, &tv);
        nfds_t n = sockets_of(channel, fds);

        if (n == 0)
            break;
        if (poll(fds, n, (int)(wait->tv_sec * 1000 + wait->tv_usec / 1000 + 1)) < 0) {
            if (errno != EINTR)
                break;
            n = 0;
        }
        process(channel, fds, n);
    }
}

/* Two seconds a try, three tries for each server. The search list and the servers come from
 * /etc/resolv.conf, read for each look-up. */
static int open_channel(ares_channel *ret)
{
    struct ares_options options = { .timeout = 2000, .tries = 3 };

    return ares_init_options(ret, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
}

static void resolve_work(uv_work_t *w)
{
    struct lookup *q = w->data;
    ares_channel channel;

    q->answer.status = open_channel(&channel);
    if (q->answer.status != ARES_SUCCESS)
        return;
    ask_dns(channel, q);
    ares_destroy(channel);
}

static void resolve_unref(struct lookup *q)
{
    if (--q->refs == 0)
        free(q);
}

static void after_work(uv_work_t *w, int status)
{
    struct lookup *q = w->data;

    (void)status;
    cond_wake_all(&q->finished);
    resolve_unref(q);
}

static int resolve_not_found(struct err *err, const char *host, int status)
{
    err_set(err, -ENXIO, "cannot find the host '%s': %s", host, ares_strerror(status));
    err_hint(err,
             "check the name in the Hadoop configuration, and that this machine can resolve "
             "it (getent hosts %s)",
             host);
    return -ENXIO;
}

/* `refs` is 2, the fiber's and the worker's. Both are given back on the loop's thread (after_work),
 * so the count needs no lock. */
static int by_dns(struct loop *l, const char *host, int64_t deadline, struct answer *ret,
                  struct err *err)
{
    struct lookup *q = calloc(1, sizeof(*q));
    int r;

    if (!q)
        return err_oom(err);
    snprintf(q->host, sizeof(q->host), "%s", host);
    q->work.data = q;
    q->refs = 2;
    r = uv_queue_work(loop_uv(l), &q->work, resolve_work, after_work);
    if (r < 0) {
        free(q);
        return err_code(err, r, "look up '%s'", host);
    }
    /* The worker cannot be stopped. A caller whose deadline has passed leaves, and the worker, the
     * last to hold the look-up, frees it when c-ares has given up. */
    r = cond_wait(l, &q->finished, deadline);
    if (r == 0)
        *ret = q->answer;
    resolve_unref(q);
    if (r < 0)
        return err_code(err, r, "look up '%s'", host);
    return ret->found.n > 0 ? 0 : resolve_not_found(err, host, ret->status);
}

/* From cheap to dear: a number, the hosts file, then DNS in a thread. */
static int resolve_look_up(struct loop *l, const char *host, int64_t deadline, struct answer *ret,
                           struct err *err)
{
    ares_channel channel;
    bool found;
    int r;

    if (strlen(host) > 253)
        return err_set(err, -EINVAL, "the host name '%.40s…' is too long", host);
    if (resolve_number(host, 0, &ret->found.v[0])) {
        ret->found.n = 1;
        return 0;
    }
    r = ares_library_init(ARES_LIB_INIT_ALL);
    if (r == ARES_SUCCESS)
        r = open_channel(&channel);
    if (r != ARES_SUCCESS)
        return err_set(err, -ENOMEM, "start the resolver: %s", ares_strerror(r));
    found = from_hosts_file(channel, host, ret);
    ares_destroy(channel);
    return found ? 0 : by_dns(l, host, deadline, ret, err);
}

int resolve_host(struct loop *l, const char *host, int port, int64_t deadline,
                 struct resolve_addrs *ret, struct err *err)
{
    struct answer answer = { 0 };
    int r = resolve_look_up(l, host, deadline, &answer, err);

    if (r < 0)
        return r;
    *ret = answer.found;
    for (int i = 0; i < ret->n; i++)
        resolve_set_port(&ret->v[i], port);
    return 0;
}
