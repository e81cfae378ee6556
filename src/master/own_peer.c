/* own_peer.c - is whoever connects to a tracker of ours one of this job's own?
 *
 * Trackers speak protocols without any authentication: whoever could talk to one could take a rank,
 * print into the job's events or fill its store. On one machine the kernel knows whose process it
 * is, and only this user's (and root's) may. On a cluster tasks come from the machines where the
 * job has agents, and from no other; and an agent of that machine, which has the job's key, is
 * asked whose process it is there. What remains: where YARN runs the containers of all users as one
 * user, whoever has a container on such a machine is taken for one of us. */
#include "loop/peer.h"
#include "master/master_private.h"

#define ASK_MS 20000   /* in all: an agent may just be looking for us */
#define ANSWER_MS 3000 /* after that it is asked again */
#define AGAIN_MS 250

struct own_question {
    uint64_t id;
    uint32_t agent;
    bool answered, ours, gone; /* gone: its agent's connection is */
    struct cond changed;
    struct own_question *next;
};

static bool is_at(const struct agent_conn *a, const char *ip)
{
    return !a->lost && (str_eq(a->ip, ip) || str_eq(a->host, ip));
}

static bool is_agents(const struct master *m, const char *ip)
{
    for (uint32_t i = 0; i < m->agents.n; i++)
        if (is_at(m->agents.v[i], ip))
            return true;
    return false;
}

bool own_peer(void *user, int fd)
{
    struct peer_ends e;
    char ip[INET6_ADDRSTRLEN] = "";

    return peer_ends(fd, &e) == 0 && resolve_text(&e.peer, ip) && is_agents(user, ip);
}

bool own_peer_here(void *user, int fd)
{
    uid_t uid = 0;

    (void)user;
    return peer_uid(fd, &uid) == 0 && (uid == geteuid() || uid == 0);
}

bool own_peer_known(void *user, int fd)
{
    (void)user;
    (void)fd;
    return true;
}

/* ---- asking ---- */

static void send_question(struct agent_conn *a, uint64_t id, const struct peer_ends *e)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Whose q = AGENT__WHOSE__INIT;
    char from[INET6_ADDRSTRLEN] = "", to[INET6_ADDRSTRLEN] = "";

    (void)resolve_text(&e->peer, from);
    (void)resolve_text(&e->local, to);
    q.id = id;
    q.from = from;
    q.from_port = (uint32_t)resolve_port(&e->peer);
    q.to = to;
    q.to_port = (uint32_t)resolve_port(&e->local);
    msg.body_case = AGENT__TO_AGENT__BODY_WHOSE;
    msg.whose = &q;
    outbox_send(a, &msg);
}

void own_peer_answer(struct agent_conn *a, const Agent__Owner *m)
{
    struct own_question *q = a->master->own_peers.questions;

    while (q && (q->id != m->id || q->agent != a->number))
        q = q->next;
    if (!q)
        return; /* too late */
    q->answered = true;
    q->ours = m->ours;
    cond_wake_all(&q->changed);
}

void own_peer_hung_up(struct agent_conn *a)
{
    for (struct own_question *q = a->master->own_peers.questions; q; q = q->next) {
        if (q->agent != a->number)
            continue;
        q->gone = true;
        cond_wake_all(&q->changed);
    }
}

/* 1 or 0 as the agent says; -EAGAIN when it does not.
 * The question stands on our stack, in a list, while the fiber waits; it is taken out by walking
 * the list again, since others may have come and gone meanwhile. An answer after that finds no
 * question and is dropped (own_peer_answer()). */
static int ask_agent(struct master *m, struct agent_conn *a, const struct peer_ends *e,
                     int64_t deadline)
{
    struct own_question q = { .agent = a->number }, **at;
    int64_t soon = loop_in(m->loop, ANSWER_MS);
    int r = 0;

    if (!a->channel)
        return -EAGAIN;
    if (!a->knows_owners) /* an older one: its address is all there is */
        return 1;
    q.id = ++m->own_peers.last;
    q.next = m->own_peers.questions;
    m->own_peers.questions = &q;
    send_question(a, q.id, e);
    while (!q.answered && !q.gone && r == 0)
        r = cond_wait(m->loop, &q.changed, soon < deadline ? soon : deadline);
    for (at = &m->own_peers.questions; *at != &q; at = &(*at)->next)
        ;
    *at = q.next;
    if (q.answered)
        return q.ours;
    return r == -ECANCELED ? r : -EAGAIN;
}

/* The next one there; NULL: there is none. They are in the order of their numbers. */
static struct agent_conn *next_at(struct master *m, const char *ip, uint32_t after)
{
    for (uint32_t i = 0; i < m->agents.n; i++)
        if (m->agents.v[i]->number > after && is_at(m->agents.v[i], ip))
            return m->agents.v[i];
    return NULL;
}

/* Agents of one machine mostly see the same sockets; but one in an image may have a network of its
 * own. So they are asked one after the other, until one knows it. Meanwhile some may come and go.
 */
static int ask_machine(struct master *m, const char *ip, const struct peer_ends *e,
                       int64_t deadline)
{
    struct agent_conn *a;
    uint32_t last = 0;
    int result = 0;

    while ((a = next_at(m, ip, last))) {
        int r;

        if (loop_now(m->loop) >= deadline)
            return -EAGAIN;
        last = a->number;
        r = ask_agent(m, a, e, deadline);
        if (r == 1 || r == -ECANCELED)
            return r;
        result = r < 0 ? r : result;
    }
    return result;
}

/* "No" needs an answer of every agent there. As long as one of them did not answer (-EAGAIN) the
 * peer is asked about again, until ASK_MS have passed; then it is refused, and a real worker
 * connects once more. */
bool own_peer_asked(void *user, int fd)
{
    struct master *m = user;
    int64_t deadline = loop_in(m->loop, m->own_peers.ask_ms ? m->own_peers.ask_ms : ASK_MS);
    char ip[INET6_ADDRSTRLEN] = "";
    struct peer_ends e;
    int r;

    if (peer_ends(fd, &e) < 0 || !resolve_text(&e.peer, ip))
        return false;
    while ((r = ask_machine(m, ip, &e, deadline)) == -EAGAIN && loop_now(m->loop) < deadline)
        if (fiber_sleep(m->loop, AGAIN_MS) < 0)
            return false;
    return r == 1;
}
