/* xgboost_tracker.c - the tracker for XGBoost from 2.1 on: it lets the workers find each other in a
 * ring, and passes on bad news.
 *
 *     worker                                     tracker
 *     magic, {world_size, rank, task_id}   ──►
 *                                          ◄──   magic
 *     {cmd: start, port, error_port}       ──►
 *                                          ◄──   {world_size}
 *                                                …until all are here…
 *                                          ◄──   {rank, host, port} of the next in the ring
 *
 * "shutdown", "error" and "print" come on connections of their own. On an error every other
 * worker is told by a number sent to its error port; so they are when a worker starts again while
 * the ring stands, because then it is broken. All have to start again then. When all have said
 * shutdown, the next start begins again, too. */
#include "loop/fiber.h"
#include "rendezvous/servers.h"
#include "rendezvous/tracker_server.h"
#include "rendezvous/xgboost_wire.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define HELLO_MS 10000
#define COMMAND_MS 300000 /* shutdown: the worker waits for its own messages before it says so */
#define TELL_MS 3000
#define TELL_AT_ONCE 32
/* XGBoost's own tracker sends -1 here, which its workers (2.1 to 3.4) do not take for an error:
 * they compare with 1. */
#define BAD_NEWS 1 /* what a worker's error port takes for an error; 0 ends its listening */

/* A worker in the ring: where it takes bad news. */
struct member {
    char host[INET6_ADDRSTRLEN];
    int32_t error_port;
    char task[XGBOOST_TASK_MAX + 1];
};

/*     waiting ──the last start──► running ──error, or a start──► broken ──the last start──► running
 *                                    └──the first shutdown──► ending ──the last start──► running
 *
 * Waiting and ending are neither `running` nor `broken`: a start joins, and is no bad news to
 * anybody. */
struct xgboost {
    const struct rendezvous_options *opt;
    struct tracker_server *server;
    unsigned world;
    struct visit **pending; /* starts, in the order in which they came */
    unsigned n_pending;
    bool running; /* a ring stands, and all that is known of it is good */
    bool broken;  /* it does not any more, and the others know */
    bool *ended;  /* by rank: it has said shutdown */
    unsigned n_ended;
    struct member *ring; /* by rank; of the ring that stood last */
    unsigned n_ring;
};

/* One connection. */
struct visit {
    struct xgboost *of;
    struct tracker_client *client;
    struct xgboost_hello hello;
    struct xgboost_command command;
};

/* ---- bad news ---- */

struct news {
    struct xgboost *of;
    const struct member *to;
};

static int tell_one(void *arg, struct err *err)
{
    const struct news *n = arg;
    struct loop *l = n->of->opt->loop;
    int64_t deadline = loop_in(l, TELL_MS);
    int32_t word = BAD_NEWS;
    AUTO_SOCK *s = NULL;

    (void)err;
    /* Most are gone already, or see it themselves: whether it arrives is not our business. */
    if (sock_connect(l, n->to->host, n->to->error_port, deadline, &s, NULL) == 0)
        (void)sock_write(s, &word, sizeof(word), deadline);
    return 0;
}

/* Takes the ring out of the tracker, to be told once: its members may start again meanwhile. */
static int take_ring(struct xgboost *t, struct member **ret, unsigned *ret_n, struct err *err)
{
    struct member *fresh = calloc(t->world, sizeof(*fresh));

    if (!fresh)
        return err_oom(err);
    *ret = t->ring;
    *ret_n = t->n_ring;
    t->ring = fresh;
    t->n_ring = 0;
    t->running = false;
    t->broken = true;
    return 0;
}

/* Tells all but `task`, which knows. */
static int xgboost_tracker_tell_all(struct xgboost *t, const struct member *ring, unsigned n,
                                    const char *task, struct err *err)
{
    AUTO_FREE struct news *news = calloc(n + 1, sizeof(*news));
    struct group g;
    int r = 0;

    if (!news)
        return err_oom(err);
    group_init(&g, t->opt->loop, TELL_AT_ONCE);
    for (unsigned i = 0; i < n && r == 0; i++) {
        news[i] = (struct news){ .of = t, .to = &ring[i] };
        if (ring[i].error_port && (!*task || strcmp(ring[i].task, task) != 0))
            r = group_go(&g, tell_one, &news[i], err);
    }
    if (r < 0)
        group_cancel(&g);
    (void)group_wait(&g, NULL);
    return r;
}

/* ---- the ring ---- */

static int xgboost_tracker_by_id(const void *a, const void *b)
{
    const struct visit *x = *(struct visit *const *)a, *y = *(struct visit *const *)b;
    int r = tracker_server_compare_ids(x->hello.task, y->hello.task);

    if (r == 0)
        r = strcmp(tracker_client_host(x->client), tracker_client_host(y->client));
    return r ? r : x->command.port - y->command.port;
}

static int xgboost_tracker_send_next(struct visit *v, unsigned rank, const struct visit *next,
                                     struct err *err)
{
    AUTO_BUF out = { .max = KIB };

    if (xgboost_add_next(&out, rank, tracker_client_host(next->client), next->command.port) < 0)
        return err_oom(err);
    return tracker_client_write(v->client, out.data, out.len, err);
}

static void xgboost_tracker_remember(struct xgboost *t, unsigned rank, const struct visit *v)
{
    struct member *m = &t->ring[rank];

    (void)snprintf(m->host, sizeof(m->host), "%s", tracker_client_host(v->client));
    (void)snprintf(m->task, sizeof(m->task), "%s", v->hello.task);
    m->error_port = v->command.error_port;
}

/* All are here: ranks by task id, and each learns who comes after it. All are told in one go,
 * before any fiber of a worker runs: one that left meanwhile could otherwise change the list of
 * which this goes through. */
static void close_ring(struct xgboost *t)
{
    unsigned n = t->n_pending;

    qsort(t->pending, n, sizeof(struct visit *), xgboost_tracker_by_id);
    t->n_pending = 0;
    t->n_ring = n;
    t->running = true;
    t->broken = false;
    t->n_ended = 0;
    memset(t->ended, 0, n * sizeof(*t->ended));
    for (unsigned i = 0; i < n; i++) {
        struct visit *v = t->pending[i];
        unsigned next = (i + 1) % n;
        struct err err = ERR_INIT;

        xgboost_tracker_remember(t, i, v);
        /* A few bytes into an empty socket: this does not wait, so that no visit ends meanwhile. */
        if (xgboost_tracker_send_next(v, next, t->pending[next], &err) < 0)
            fiber_cancel(v->client->fiber);
    }
}

/* Was it there? */
static bool xgboost_tracker_remove_pending(struct xgboost *t, const struct visit *v)
{
    for (unsigned i = 0; i < t->n_pending; i++) {
        if (t->pending[i] != v)
            continue;
        t->n_pending--;
        memmove(&t->pending[i], &t->pending[i + 1], (t->n_pending - i) * sizeof(struct visit *));
        return true;
    }
    return false;
}

/* The same task started again while the others are waited for: its first process is gone. */
static void xgboost_tracker_replace_pending(struct xgboost *t, const struct visit *v)
{
    for (unsigned i = 0; i < t->n_pending && v->hello.task[0]; i++) {
        struct visit *old = t->pending[i];

        if (strcmp(old->hello.task, v->hello.task) != 0)
            continue;
        (void)xgboost_tracker_remove_pending(t, old);
        fiber_cancel(old->client->fiber);
        return;
    }
}

static void add_pending(struct xgboost *t, struct visit *v)
{
    xgboost_tracker_replace_pending(t, v);
    t->pending[t->n_pending++] = v; /* never more than `world`: then the ring is closed */
    tracker_client_heard(v->client);
    if (t->n_pending == t->world)
        close_ring(t);
}

/* ---- commands ---- */

static int send_world(struct visit *v, struct err *err)
{
    AUTO_BUF out = { .max = KIB };

    if (xgboost_add_world(&out, v->of->world) < 0)
        return err_oom(err);
    return tracker_client_write(v->client, out.data, out.len, err);
}

/* One starts while the ring stands: it was restarted, and the ring is broken. */
static int start_again(struct visit *v, struct err *err)
{
    struct xgboost *t = v->of;
    AUTO_FREE struct member *ring = NULL;
    unsigned n = 0;
    int r = take_ring(t, &ring, &n, err);

    if (r < 0)
        return r;
    tracker_server_note(t->server, "task '%s' starts again, so all others must", v->hello.task);
    add_pending(t, v);
    return xgboost_tracker_tell_all(t, ring, n, v->hello.task, err);
}

/*   ring stands   this start          what happens
 *   no            joins               waits for the others
 *   yes           a restarted worker  bad news for all others, then as above
 *   yes           said shutdown       its shutdown may still be unread: tracker_client_settle() */
static int xgboost_tracker_on_start(struct visit *v, struct err *err)
{
    struct xgboost *t = v->of;
    int r;

    if (v->hello.world != -1)
        return err_set(err, -EPROTO, "a start by a worker that has already started");
    r = send_world(v, err);
    if (r == 0 && t->running)
        r = tracker_client_settle(v->client); /* it may have said shutdown before */
    if (r == 0 && t->running)
        r = start_again(v, err);
    else if (r == 0)
        add_pending(t, v);
    return r < 0 ? r : tracker_client_linger(v->client, err);
}

/* One shutdown is enough to take `running` down: the training is over, and a worker that is quick
 * may start the next one while others still have to say theirs. */
static int xgboost_tracker_on_shutdown(struct visit *v, struct err *err)
{
    struct xgboost *t = v->of;

    if (v->hello.rank < 0)
        return err_set(err, -EPROTO, "shutdown without a rank");
    if (t->broken)
        return 0; /* the last words of one that was told */
    t->running = false;
    t->n_ended += !t->ended[v->hello.rank];
    t->ended[v->hello.rank] = true;
    if (t->n_ended == t->world)
        t->n_ring = 0; /* nobody is left to be told anything */
    return 0;
}

static int on_error(struct visit *v, struct err *err)
{
    struct xgboost *t = v->of;
    AUTO_FREE struct member *ring = NULL;
    unsigned n = 0;
    int r;

    if (t->broken)
        return 0; /* they all fall after the first one */
    tracker_server_note(t->server, "task '%s' reports an error (code %lld):", v->hello.task,
                        (long long)v->command.code);
    tracker_server_print(t->server, v->command.text, strlen(v->command.text));
    r = take_ring(t, &ring, &n, err);
    return r < 0 ? r : xgboost_tracker_tell_all(t, ring, n, v->hello.task, err);
}

static int xgboost_tracker_on_print(struct visit *v, struct err *err)
{
    (void)err;
    tracker_server_print(v->of->server, v->command.text, strlen(v->command.text));
    return 0;
}

static int (*const handlers[])(struct visit *v, struct err *err) = {
    [XGBOOST_START] = xgboost_tracker_on_start,
    [XGBOOST_SHUTDOWN] = xgboost_tracker_on_shutdown,
    [XGBOOST_ERROR] = on_error,
    [XGBOOST_PRINT] = xgboost_tracker_on_print,
};

/* ---- a connection ---- */

static int xgboost_tracker_first_word(const uint8_t *p, size_t n, struct err *err)
{
    return tracker_server_first_word(p, n, XGBOOST_MAGIC, err);
}

static int read_one(struct tracker_client *g, tracker_parse *parse, void *ret, int64_t deadline,
                    struct err *err)
{
    ssize_t used = tracker_client_read(g, parse, ret, deadline, err);

    if (used < 0)
        return (int)used;
    tracker_client_used(g, (size_t)used);
    return 0;
}

static int greet(struct visit *v, struct err *err)
{
    struct tracker_client *g = v->client;
    const struct xgboost_hello *h = &v->hello;
    int64_t deadline = loop_in(v->of->opt->loop, HELLO_MS);
    int r = tracker_client_greet(g, XGBOOST_MAGIC, deadline, err);

    if (r == 0)
        r = read_one(g, xgboost_parse_hello, &v->hello, deadline, err);
    if (r < 0)
        return r;
    if (h->rank >= (int64_t)v->of->world || (h->world != -1 && h->world != (int64_t)v->of->world))
        return err_set(err, -EPROTO, "rank %lld of %lld, where there are %u workers",
                       (long long)h->rank, (long long)h->world, v->of->world);
    tracker_client_proven(g);
    return 0;
}

/* A visit that ends while it is among the pending was not answered: the others must not wait for
 * it. */
static int xgboost_tracker_talk(void *user, struct tracker_client *g, struct err *err)
{
    struct xgboost *t = user;
    struct visit v = { .of = t, .client = g };
    int r = greet(&v, err);

    if (r == 0)
        r = read_one(g, xgboost_parse_command, &v.command, loop_in(t->opt->loop, COMMAND_MS), err);
    if (r == 0)
        r = handlers[v.command.verb](&v, err);
    if (xgboost_tracker_remove_pending(t, &v) && r == 0)
        r = err_set(err, -EPROTO, "task '%s' left before all were here", v.hello.task);
    xgboost_command_done(&v.command);
    return r;
}

/* ---- life ---- */

static struct xgboost *xgboost_free(struct xgboost *t)
{
    t->server = tracker_server_close(t->server);
    free(t->pending);
    free(t->ended);
    free(t->ring);
    free(t);
    return NULL;
}
AUTO_DEFINE(xgboost, struct xgboost *, xgboost_free);

static int xgboost_start(const struct rendezvous_options *opt, void **ret, int *ret_port,
                         struct err *err)
{
    AUTO(xgboost) struct xgboost *t = calloc(1, sizeof(*t));
    struct tracker_server_options o = { .opt = opt,
                                        .name = "xgboost",
                                        .in_max = XGBOOST_COMMAND_MAX + 8 * KIB,
                                        .first = xgboost_tracker_first_word,
                                        .talk = xgboost_tracker_talk,
                                        .user = t };
    int r;

    if (!t)
        return err_oom(err);
    t->opt = opt;
    t->world = opt->world;
    t->pending = calloc(opt->world, sizeof(struct visit *));
    t->ended = calloc(opt->world, sizeof(*t->ended));
    t->ring = calloc(opt->world, sizeof(*t->ring));
    if (!t->pending || !t->ended || !t->ring)
        return err_oom(err);
    r = tracker_server_open(&o, &t->server, ret_port, err);
    if (r < 0)
        return r;
    *ret = take(t);
    return 0;
}

static void xgboost_stop(void *server)
{
    (void)xgboost_free(server);
}

const struct server_row server_xgboost = {
    .bit = 2, .name = "xgboost", .start = xgboost_start, .stop = xgboost_stop
};
