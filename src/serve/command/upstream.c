/* upstream.c - a connection is used again while it is young and the program has not closed it. See
 * upstream.h. */
#include "serve/command/upstream.h"

#include <poll.h>

#define IDLE_MS 2000 /* programs close idle connections too: before any of them does */

struct upstream *upstream_free(struct upstream *u)
{
    if (!u)
        return NULL;
    http_client_free(u->client);
    free(u);
    return NULL;
}

void command_proxy_done(struct command_proxy *p)
{
    while (p->idle) {
        struct upstream *u = p->idle;

        p->idle = u->next;
        upstream_free(u);
    }
    p->idle_n = 0;
}

/* Anything to read on it is the end, or something that nobody asked for. */
static bool is_usable(const struct command_proxy *p, const struct upstream *u)
{
    struct pollfd f = { .fd = u->fd, .events = POLLIN | POLLRDHUP };

    return u->life == command_process_life(p->process) && loop_now(p->loop) - u->since < IDLE_MS &&
           poll(&f, 1, 0) == 0;
}

static struct upstream *take_idle(struct command_proxy *p)
{
    while (p->idle) {
        struct upstream *u = p->idle;

        p->idle = u->next;
        p->idle_n--;
        if (is_usable(p, u))
            return u;
        upstream_free(u);
    }
    return NULL;
}

static int connect_new(struct command_proxy *p, int64_t deadline, struct upstream *u,
                       struct err *err)
{
    struct stream *stream = NULL;
    struct sock *s = NULL;
    char host[32];
    int r;

    (void)snprintf(host, sizeof(host), "127.0.0.1:%u", command_process_port(p->process));
    r = sock_connect(p->loop, "127.0.0.1", (int)command_process_port(p->process), deadline, &s,
                     err);
    if (r < 0)
        return r;
    u->fd = sock_fd(s);
    r = stream_plain(s, &stream, err);
    return r < 0 ? r : http_client_new(p->loop, stream, host, NULL, &u->client, err);
}

int upstream_get(struct command_proxy *p, int64_t deadline, bool fresh, struct upstream **ret,
                 struct err *err)
{
    struct upstream *u = fresh ? NULL : take_idle(p);
    int r;

    if (u) {
        *ret = u;
        return 0;
    }
    u = calloc(1, sizeof(*u));
    if (!u)
        return err_oom(err);
    u->life = command_process_life(p->process);
    r = connect_new(p, deadline, u, err);
    if (r < 0)
        upstream_free(u);
    else
        *ret = u;
    return r;
}

void upstream_keep(struct command_proxy *p, struct upstream *u)
{
    u->used = true;
    u->since = loop_now(p->loop);
    if (p->idle_n == UPSTREAM_IDLE_MAX) {
        upstream_free(u);
        return;
    }
    u->next = p->idle;
    p->idle = u;
    p->idle_n++;
}
