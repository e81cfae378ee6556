/* grpc_server.c - the limits and the connections that a server has, and its end: a notice first, so
 * that calls which are on their way are still taken, then the last word, then waiting. */
#include "wire/grpc/grpc_server.h"

#define NOTICE_MS 100 /* a round trip or so */

int grpc_server_new(const struct grpc_options *o, struct grpc_server **ret, struct err *err)
{
    struct grpc_server *s = calloc(1, sizeof(*s));

    if (!s)
        return err_oom(err);
    s->o = *o;
    grpc_limits_fill(&s->o.limits);
    s->held.max = s->o.limits.server_held_max;
    s->all = o->budget ? o->budget : &s->held;
    *ret = s;
    return 0;
}

struct grpc_server *grpc_server_free(struct grpc_server *s)
{
    free(s);
    return NULL;
}

size_t grpc_calls(const struct grpc_server *s)
{
    return s->calls;
}

static void tell_all(struct grpc_server *s, void (*tell)(struct grpc_session *s))
{
    for (struct grpc_conn *c = s->conns; c; c = c->next) {
        tell(&c->session);
        grpc_conn_wake(c);
    }
}

static bool said_all(const struct grpc_server *s)
{
    for (const struct grpc_conn *c = s->conns; c; c = c->next)
        if (!grpc_conn_said_all(c))
            return false;
    return s->calls == 0;
}

/* GOAWAY names the last stream that is still served, and a client may have opened another one
 * before it reads that. So the first GOAWAY names the highest number there is ("stop soon"), and
 * the one with the true number follows a round trip later (RFC 9113, 6.8). */
int grpc_drain(struct grpc_server *s, int64_t deadline, struct err *err)
{
    int64_t soon = loop_in(s->o.loop, NOTICE_MS);
    int r = 0;

    tell_all(s, grpc_session_notice);
    while (r == 0 && s->conns)
        r = cond_wait(s->o.loop, &s->changed, soon < deadline ? soon : deadline);
    s->draining = true;
    tell_all(s, grpc_session_leave);
    if (r == -ETIMEDOUT)
        r = 0;
    while (r == 0 && !said_all(s))
        r = cond_wait(s->o.loop, &s->changed, deadline);
    return r < 0 ? err_code(err, r, "%zu calls still run", s->calls) : 0;
}
