/* rabit_tracker.c - the tracker for XGBoost up to 2.0 and dmlc-core: it gives out ranks, and helps
 * workers to find each other.
 *
 *     worker                          tracker
 *     magic                  ──►
 *                            ◄──      magic
 *     rank, world, id, "start" ──►             …until all are here…
 *                            ◄──      rank, parent, world, tree links, ring links
 *     links that work        ──►  ┐
 *                            ◄──  │  whom to connect to (host, port, rank), how many will come
 *     how many failed        ──►  ┘  again while it is not 0
 *     its port               ──►      (the worker listens there now)
 *
 * "recover" is "start" with a rank, for one whose links broke. "print" and "shutdown" come on
 * connections of their own. A worker that has said shutdown may start again, in a new round. */
#include "base/log.h"
#include "rendezvous/rabit_tracker_private.h"
#include "rendezvous/servers.h"

#include <stdio.h>
#include <string.h>

#define HELLO_MS 10000

static const char no_job[] = "NULL"; /* what a worker without an id says */

static bool has_job(const struct visit *v)
{
    return v->hello.job[0] && strcmp(v->hello.job, no_job) != 0;
}

/* ---- ranks ---- */

/* By its task id a worker that is restarted gets the rank that it had: others have its links.
 * `given` is the rank; `now` (rabit_links.c) is who is being served in it. A worker that recovers
 * has its seat given already. */
static void give_seat(struct rabit *t, struct visit *v, int32_t rank)
{
    struct seat *s = &t->seats[rank];

    v->rank = rank;
    t->n_given += !s->given;
    s->given = true;
    if (!has_job(v) || s->node.key)
        return;
    (void)snprintf(s->job, sizeof(s->job), "%s", v->hello.job);
    s->node.key = s->job;
    s->node.key_n = strlen(s->job);
    (void)map_add(&t->jobs, &s->node); /* map_ready(): does not fail */
}

/* Its worker said shutdown: the next one that starts may have it. */
static void empty_seat(struct rabit *t, struct seat *s)
{
    if (s->node.key)
        map_remove(&t->jobs, &s->node);
    s->node.key = NULL;
    s->given = false;
    s->accepts = 0;
    t->n_given--;
}

static int rabit_tracker_by_id(const void *a, const void *b)
{
    const struct visit *x = *(struct visit *const *)a, *y = *(struct visit *const *)b;
    int r = tracker_server_compare_ids(x->hello.job, y->hello.job);

    if (r == 0)
        r = strcmp(tracker_client_host(x->client), tracker_client_host(y->client));
    return r ? r : (x->order > y->order) - (x->order < y->order);
}

static int send_node(struct visit *v, struct err *err)
{
    struct rabit *t = v->of;
    AUTO_BUF out = { .max = KIB };

    if (rabit_add_node(&out, v->rank, t->world, &t->map[v->rank]) < 0)
        return err_oom(err);
    return tracker_client_write(v->client, out.data, out.len, err);
}

/* The last one has come: ranks for all. Each one's fiber goes on when its worker answers. */
static void seat_all(struct rabit *t)
{
    int32_t n = t->n_pending, rank = 0;

    qsort(t->pending, (size_t)n, sizeof(struct visit *), rabit_tracker_by_id);
    for (int32_t i = 0; i < n; i++, rank++) {
        while (t->seats[rank].given)
            rank++;
        give_seat(t, t->pending[i], rank);
    }
    t->n_pending = 0;
    for (int32_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;

        /* A few bytes into an empty socket: this does not wait, so that no visit ends meanwhile. */
        if (send_node(t->pending[i], &err) < 0)
            fiber_cancel(t->pending[i]->client->fiber);
    }
}

static void rabit_tracker_remove_pending(struct rabit *t, const struct visit *v)
{
    for (int32_t i = 0; i < t->n_pending; i++) {
        if (t->pending[i] != v)
            continue;
        t->n_pending--;
        memmove(&t->pending[i], &t->pending[i + 1],
                (size_t)(t->n_pending - i) * sizeof(struct visit *));
        return;
    }
}

/* The same task started again while the others are waited for: its first process is gone. */
static void rabit_tracker_replace_pending(struct rabit *t, const struct visit *v)
{
    for (int32_t i = 0; i < t->n_pending && has_job(v); i++) {
        struct visit *old = t->pending[i];

        if (strcmp(old->hello.job, v->hello.job) != 0)
            continue;
        rabit_tracker_remove_pending(t, old);
        fiber_cancel(old->client->fiber);
        return;
    }
}

static int join_pending(struct visit *v, struct err *err)
{
    struct rabit *t = v->of;

    rabit_tracker_replace_pending(t, v);
    if (t->n_given + t->n_pending >= t->world)
        return err_set(err, -EPROTO, "too many workers: all %d are connected", t->world);
    t->pending[t->n_pending++] = v;
    if (t->n_given + t->n_pending == t->world)
        seat_all(t);
    return 0;
}

/* ---- commands ---- */

/* The rank that a start or recover has already; -1: none. */
static int32_t known_rank(const struct visit *v)
{
    const struct seat *s = NULL;

    if (v->hello.rank >= 0)
        return v->hello.rank;
    if (has_job(v))
        s = (const struct seat *)map_find(&v->of->jobs, v->hello.job, strlen(v->hello.job));
    return s ? (int32_t)(s - v->of->seats) : -1;
}

/* Does a start find its seat taken, or none free? It may have said shutdown before. */
static bool fits_badly(const struct visit *v, int32_t rank)
{
    const struct rabit *t = v->of;

    if (v->hello.command != RABIT_START)
        return false;
    return rank >= 0 ? t->seats[rank].given : t->n_given + t->n_pending >= t->world;
}

/* Gets a rank, or into the line for one. Shutdown and the next start come on two connections, and
 * the start may be read first. Then it finds its rank taken; tracker_client_settle() lets the older
 * connections of that host be heard, and after that the answer counts. */
static int take_place(struct visit *v, struct err *err)
{
    int32_t rank = known_rank(v);
    int r;

    if (fits_badly(v, rank)) {
        r = tracker_client_settle(v->client);
        if (r < 0)
            return r;
        rank = known_rank(v);
    }
    if (rank < 0)
        return join_pending(v, err);
    give_seat(v->of, v, rank);
    return send_node(v, err);
}

/* The order is the protocol's: rank and links, then which links work, then connecting, which is
 * done one worker at a time (rabit_links.c). */
static int rabit_tracker_join(struct visit *v, struct err *err)
{
    struct loop *l = v->of->opt->loop;
    struct rabit_good good;
    ssize_t used;
    int r;

    if (v->hello.command == RABIT_RECOVER && v->hello.rank < 0)
        return err_set(err, -EPROTO, "recover without a rank");
    tracker_client_used(v->client, v->hello.size);
    r = take_place(v, err);
    if (r < 0)
        return r;
    tracker_client_heard(v->client);
    /* While the others are waited for nothing comes, however long; the worker's end is seen. */
    used = tracker_client_read(v->client, rabit_parse_good, &good,
                               v->rank < 0 ? LOOP_NEVER : loop_in(l, RABIT_ANSWER_MS), err);
    if (used < 0)
        return err->code || used == -ECANCELED
                   ? (int)used
                   : err_set(err, (int)used, "a worker left before it had its links");
    if (v->rank < 0)
        return err_set(err, -EPROTO, "an unexpected command");
    tracker_client_used(v->client, (size_t)used);
    return rabit_serve(v, &good, err);
}

static int on_join(struct rabit *t, struct tracker_client *g, const struct rabit_hello *h,
                   struct err *err)
{
    struct visit v = { .of = t, .client = g, .hello = *h, .rank = -1, .order = ++t->visits };
    int r = rabit_tracker_join(&v, err);

    rabit_tracker_remove_pending(t, &v);
    rabit_stand_up(&v);
    return r;
}

static int rabit_tracker_on_shutdown(struct rabit *t, struct tracker_client *g,
                                     const struct rabit_hello *h, struct err *err)
{
    struct seat *s = h->rank >= 0 ? &t->seats[h->rank] : NULL;

    (void)g;
    if (!s)
        return err_set(err, -EPROTO, "shutdown without a rank");
    empty_seat(t, s);
    return 0;
}

static int rabit_tracker_on_print(struct rabit *t, struct tracker_client *g,
                                  const struct rabit_hello *h, struct err *err)
{
    (void)g;
    (void)err;
    tracker_server_print(t->server, h->text, h->text_n);
    return 0;
}

static int (*const handlers[])(struct rabit *t, struct tracker_client *g,
                               const struct rabit_hello *h, struct err *err) = {
    [RABIT_START] = on_join,
    [RABIT_RECOVER] = on_join,
    [RABIT_SHUTDOWN] = rabit_tracker_on_shutdown,
    [RABIT_PRINT] = rabit_tracker_on_print,
};

static int rabit_tracker_first_word(const uint8_t *p, size_t n, struct err *err)
{
    return tracker_server_first_word(p, n, RABIT_MAGIC, err);
}

static int rabit_tracker_talk(void *user, struct tracker_client *g, struct err *err)
{
    struct rabit *t = user;
    int64_t deadline = loop_in(t->opt->loop, HELLO_MS);
    struct rabit_hello h;
    ssize_t used;
    int r = tracker_client_greet(g, RABIT_MAGIC, deadline, err);

    if (r < 0)
        return r;
    used = tracker_client_read(g, rabit_parse_hello, &h, deadline, err);
    if (used < 0)
        return (int)used;
    if (h.rank < -1 || h.rank >= t->world || (h.world != -1 && h.world != t->world))
        return err_set(err, -EPROTO, "rank %d of %d, where there are %d workers", h.rank, h.world,
                       t->world);
    if (h.rank >= 0 && !t->seats[h.rank].given)
        return err_set(err, -EPROTO, "rank %d, which nobody was given", h.rank);
    tracker_client_proven(g);
    trace(LOG_RENDEZVOUS, "rabit: %s: rank %d, task '%s': command %d", tracker_client_host(g),
          h.rank, h.job, (int)h.command);
    return handlers[h.command](t, g, &h, err);
}

/* ---- life ---- */

static struct rabit *rabit_free(struct rabit *t)
{
    t->server = tracker_server_close(t->server);
    map_done(&t->jobs);
    free(t->map);
    free(t->seats);
    free(t->pending);
    free(t);
    return NULL;
}
AUTO_DEFINE(rabit, struct rabit *, rabit_free);

static int rabit_start(const struct rendezvous_options *opt, void **ret, int *ret_port,
                       struct err *err)
{
    AUTO(rabit) struct rabit *t = calloc(1, sizeof(*t));
    struct tracker_server_options o = { .opt = opt,
                                        .name = "rabit",
                                        .in_max = RABIT_MESSAGE_MAX,
                                        .first = rabit_tracker_first_word,
                                        .talk = rabit_tracker_talk,
                                        .user = t };
    int r;

    if (!t)
        return err_oom(err);
    t->opt = opt;
    t->world = (int32_t)opt->world;
    t->seats = calloc(opt->world, sizeof(*t->seats));
    t->pending = calloc(opt->world, sizeof(struct visit *));
    if (!t->seats || !t->pending || map_ready(&t->jobs) < 0)
        return err_oom(err);
    r = rabit_map_new(opt->world, &t->map, err);
    if (r == 0)
        r = tracker_server_open(&o, &t->server, ret_port, err);
    if (r < 0)
        return r;
    *ret = take(t);
    return 0;
}

static void rabit_stop(void *server)
{
    (void)rabit_free(server);
}

const struct server_row server_rabit = {
    .bit = 1, .name = "rabit", .start = rabit_start, .stop = rabit_stop
};
