/* rabit_links.c - how workers of a rabit job find each other.
 *
 * The tracker tells one worker after the other to connect to those of its links that listen
 * already. So two linked workers must not be served at the same time; others may. A seat is a rank:
 * the worker being served sits in it, and takes it only when the seats of all its links are empty.
 *
 *     sit down ──► those that listen, and how many others will come ──► the worker connects
 *         ▲                                                                  │
 *         └── later, with what works by then ◄── some failed ────────────────┤
 *                                                                            └── none: it listens
 *
 * `accepts` of a seat counts down with each peer that has reached it; at 0 nobody is sent there any
 * more. */
#include "base/log.h"
#include "rendezvous/rabit_tracker_private.h"

#include <stdio.h>

#define CONNECT_MS                                                                                 \
    150000              /* a worker connects to others meanwhile: longer than the kernel tries     \
                         */
#define SERVE_MS 600000 /* all rounds of one worker */
#define AGAIN_MS 200    /* before a round that comes after a failed one */

static bool is_free(const struct rabit *t, int32_t rank, const struct visit *v)
{
    return !t->seats[rank].now || t->seats[rank].now == v;
}

/* Whose end this visit has to wait for; -1: nobody's. */
static int32_t rabit_in_the_way(const struct visit *v)
{
    const struct rabit *t = v->of;
    const struct rabit_node *n = &t->map[v->rank];

    if (!is_free(t, v->rank, v))
        return v->rank;
    for (int32_t i = 0; i < n->n_links; i++) {
        if (!is_free(t, n->links[i], v))
            return n->links[i];
    }
    return -1;
}

/* After each wait all is looked at again from the beginning: another one may have sat down
 * first. */
static int sit_down(struct visit *v, int64_t deadline, struct err *err)
{
    struct rabit *t = v->of;
    int32_t other;

    while ((other = rabit_in_the_way(v)) >= 0) {
        struct seat *s = &t->seats[other];
        int r;

        /* One that has its own rank is the same task, started again: the older process is gone. */
        if (other == v->rank && s->now->order > v->order)
            return err_set(err, -ECANCELED, "rank %d started again", v->rank);
        if (other == v->rank)
            fiber_cancel(s->now->client->fiber);
        r = cond_wait(t->opt->loop, &s->left, deadline);
        if (r < 0)
            return err_code(err, r, "wait for rank %d", other);
    }
    t->seats[v->rank].now = v;
    t->seats[v->rank].accepts = 0; /* where it listened before is gone */
    return 0;
}

void rabit_stand_up(struct visit *v)
{
    struct seat *s = v->rank >= 0 ? &v->of->seats[v->rank] : NULL;

    if (!s || s->now != v)
        return;
    s->now = NULL;
    cond_wake_all(&s->left);
}

static bool has_rank(const int32_t *ranks, int32_t n, int32_t rank)
{
    for (int32_t i = 0; i < n; i++) {
        if (ranks[i] == rank)
            return true;
    }
    return false;
}

/* The links that do not work, as peers to connect to, and the number of the others. */
static int split_links(const struct visit *v, const struct rabit_good *good,
                       struct rabit_peer peers[RABIT_LINKS_MAX], int32_t *ret_others,
                       struct err *err)
{
    const struct rabit *t = v->of;
    const struct rabit_node *node = &t->map[v->rank];
    int32_t n = 0;

    *ret_others = 0;
    for (int32_t i = 0; i < good->n; i++) {
        if (!has_rank(node->links, node->n_links, good->ranks[i]))
            return err_set(err, -EPROTO, "a link to rank %d, which rank %d has not", good->ranks[i],
                           v->rank);
    }
    for (int32_t i = 0; i < node->n_links; i++) {
        int32_t rank = node->links[i];
        const struct seat *s = &t->seats[rank];

        if (has_rank(good->ranks, good->n, rank))
            continue;
        if (s->accepts > 0)
            peers[n++] = (struct rabit_peer){ .rank = rank, .host = s->host, .port = s->port };
        else
            ++*ret_others;
    }
    return n;
}

static int rabit_read_number(struct visit *v, int64_t ms, int32_t *ret, struct err *err)
{
    ssize_t used =
        tracker_client_read(v->client, rabit_parse_number, ret, loop_in(v->of->opt->loop, ms), err);

    if (used < 0)
        return err->code ? (int)used : err_set(err, (int)used, "rank %d hung up", v->rank);
    tracker_client_used(v->client, (size_t)used);
    return 0;
}

/* Its links stand: the peers it has connected to wait for one fewer, and it listens for the others.
 */
static int note_port(struct visit *v, const struct rabit_peer *peers, int32_t n, int32_t others,
                     struct err *err)
{
    struct seat *s = &v->of->seats[v->rank];
    int32_t port = 0;
    int r = rabit_read_number(v, RABIT_ANSWER_MS, &port, err);

    if (r < 0)
        return r;
    if (others && (port < 1 || port > 65535))
        return err_set(err, -EPROTO, "rank %d listens on port %d", v->rank, port);
    for (int32_t i = 0; i < n; i++)
        v->of->seats[peers[i].rank].accepts--;
    s->port = port;
    s->accepts = others;
    (void)snprintf(s->host, sizeof(s->host), "%s", tracker_client_host(v->client));
    return 0;
}

/* One round, in the seat: 0 when all links stand, 1 when some failed. */
static int try_links(struct visit *v, const struct rabit_good *good, struct err *err)
{
    struct rabit_peer peers[RABIT_LINKS_MAX];
    AUTO_BUF out = { .max = KIB };
    int32_t others = 0, failed = 0;
    int n = split_links(v, good, peers, &others, err), r;

    if (n < 0)
        return n;
    if (rabit_add_peers(&out, peers, n, others) < 0)
        return err_oom(err);
    trace(LOG_RENDEZVOUS, "rabit: rank %d has %d links, connects to %d, waits for %d", v->rank,
          good->n, n, others);
    r = tracker_client_write(v->client, out.data, out.len, err);
    if (r == 0)
        r = rabit_read_number(v, CONNECT_MS, &failed, err);
    if (r < 0)
        return r;
    return failed ? 1 : note_port(v, peers, n, others, err);
}

/* Round after round. Between two the seat is free, so that the one it could not reach can come and
 * say where it listens now. */
int rabit_serve(struct visit *v, struct rabit_good *good, struct err *err)
{
    struct loop *l = v->of->opt->loop;
    int64_t deadline = loop_in(l, SERVE_MS);

    for (;;) {
        int r = sit_down(v, deadline, err);
        ssize_t used;

        if (r == 0)
            r = try_links(v, good, err);
        rabit_stand_up(v);
        if (r <= 0)
            return r;
        r = fiber_sleep(l, AGAIN_MS);
        if (r < 0)
            return r;
        if (loop_now(l) >= deadline)
            return err_set(err, -ETIMEDOUT, "rank %d cannot reach its neighbours", v->rank);
        used = tracker_client_read(v->client, rabit_parse_good, good, loop_in(l, RABIT_ANSWER_MS),
                                   err);
        if (used < 0)
            return (int)used;
        tracker_client_used(v->client, (size_t)used);
    }
}
