/* fence_targets.c - see fence_targets.h. Names are resolved while the network is there: a node that
 * loses its name server only is not cut off. */
#include "agent/link/fence_targets.h"
#include "agent/agent_private.h"
#include "agent/link/master_lookup.h"
#include "base/str.h"
#include "loop/resolve.h"
#include "loop/sock.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define RESOLVE_MS 2000 /* for all of one kind */

static void add_target(struct fence_targets *t, const char *host, int port)
{
    if (t->n == FENCE_TARGETS || !*host || strlen(host) >= sizeof(t->v[0].host))
        return;
    (void)snprintf(t->v[t->n].host, sizeof(t->v[0].host), "%s", host);
    t->v[t->n++].port = port;
}

/* One of several that is on this very machine (`own`) is reached also when the machine is cut off,
 * and then another one takes over. */
static void add_hosts(struct agent *a, struct fence_targets *t, const struct hosts *hosts,
                      const char *own)
{
    int64_t deadline = loop_in(a->loop, RESOLVE_MS);

    for (size_t i = 0; i < hosts->n; i++) {
        struct resolve_addrs found = { .n = 0 };
        char ip[INET6_ADDRSTRLEN];

        if (str_eq(hosts->v[i].host, "0.0.0.0")) /* it is not configured */
            continue;
        if (resolve_host(a->loop, hosts->v[i].host, 0, deadline, &found, NULL) < 0 || found.n < 1)
            add_target(t, hosts->v[i].host, hosts->v[i].port);
        else if (hosts->n == 1 || !str_eq(resolve_text(&found.v[0], ip), own))
            add_target(t, resolve_text(&found.v[0], ip), hosts->v[i].port);
    }
}

void fence_targets_find(struct agent *a, struct fence_targets *ret)
{
    struct fence_targets t = { .n = 0 };
    AUTO_HOSTS rms = { 0 }, nns = { 0 };
    char own[INET6_ADDRSTRLEN + 1];
    const struct sock *s;

    if (!a->link.channel || a->link.join.path)
        return;
    s = stream_sock(channel_stream(a->link.channel));
    (void)snprintf(own, sizeof(own), "%s", sock_local_ip(s)); /* it may be closed while we wait */
    add_target(&t, sock_peer_ip(s), a->link.join.port);
    lookup_machines(a, &rms, &nns);
    add_hosts(a, &t, &rms, own);
    add_hosts(a, &t, &nns, own);
    *ret = t;
}

/* ---- who is there? ---- */

struct reach {
    struct agent *agent;
    const struct fence_target *target;
    int64_t deadline;
};

static int reach_target(void *arg, struct err *err)
{
    const struct reach *x = arg;
    AUTO_SOCK *s = NULL;
    struct err why = ERR_INIT;
    int r = sock_connect(x->agent->loop, x->target->host, x->target->port, x->deadline, &s, &why);

    if (r == 0 || r == -ECONNREFUSED || r == -ECONNRESET)
        return err_set(err, -EEXIST, "it is there");
    return 0;
}

/* For a group the first one that is there is a failure: it cancels the others. */
bool fence_targets_reach(struct agent *a, const struct fence_targets *t, int64_t deadline)
{
    struct reach all[FENCE_TARGETS];
    struct group g;
    int r = 0;

    group_init(&g, a->loop, 0);
    for (size_t i = 0; i < t->n && r == 0; i++) {
        all[i] = (struct reach){ .agent = a, .target = &t->v[i], .deadline = deadline };
        r = group_go(&g, reach_target, &all[i], NULL);
    }
    return group_wait(&g, NULL) == -EEXIST;
}
