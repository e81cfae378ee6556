/* own_peer.c - is whoever connects to a tracker of ours one of this job's own?
 *
 * Trackers speak protocols without any authentication: whoever could talk to one could take a rank,
 * print into the job's events or fill its store. On this machine the kernel knows whose process it
 * is, and only this user's (and root's) may. On a cluster tasks come from the machines where the
 * job has agents, and from no other; where a connection comes from the master's own machine, its
 * user counts as well. What remains: other users' processes on a machine where the job runs, and
 * all of them where YARN runs every container as one user. */
#include "base/peer.h"
#include "base/resolve.h"
#include "master/master_private.h"

static bool is_agents(const struct master *m, int fd)
{
    union resolve_addr peer = { 0 };
    socklen_t n = sizeof(peer);
    char text[INET6_ADDRSTRLEN] = "";

    if (getpeername(fd, &peer.sa, &n) < 0 || !resolve_text(&peer, text))
        return false;
    for (uint32_t i = 0; i < m->n_agents; i++) {
        const struct agent_conn *a = m->agents[i];

        if (a && !a->lost && (str_eq(a->ip, text) || str_eq(a->host, text)))
            return true;
    }
    return false;
}

bool own_peer(void *user, int fd)
{
    const struct master *m = user;
    uid_t uid = 0;
    int r;

    if (m->opt->container && !is_agents(m, fd))
        return false;
    r = peer_uid(fd, &uid);
    if (r == 0)
        return uid == geteuid() || uid == 0;
    /* A process of another machine, where the job has an agent. */
    return m->opt->container && r == -ENOENT;
}
