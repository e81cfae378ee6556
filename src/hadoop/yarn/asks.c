/* asks.c - the wanted side of the table: adding, cancelling, counting down. An ask counts in the
 * row of its host, of the host's rack and of '*'; a grant counts down the same rows as the
 * ResourceManager does, and a row for which that is uncertain is sent again.
 *
 *     ask for 2, on n1 or n2 of rack r1      n1 2    n2 2    r1 2    * 2
 *     one is granted on n2                   n1 2    n2 1    r1 1    * 1
 *     clamp()                                n1 1
 *
 * "*" says how many containers, the other rows say where. "*" must always be there: an RM silently
 * ignores host and rack rows without it. A host row whose rack has no row is never served when
 * locality is strict. See asks.h. */
#include "base/array.h"
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/yarn/asks_private.h"
#include "hadoop/yarn/message.h"

#include <inttypes.h>
#include <string.h>

void asks_row_done(struct row *r)
{
    free(r->name);
    free(r->rack);
}

void asks_group_done(struct ask_group *g)
{
    for (size_t i = 0; i < g->n; i++)
        asks_row_done(&g->rows[i]);
    free(g->rows);
    free(g->label);
    message_free(g->capability);
}

struct asks *asks_new(void)
{
    return calloc(1, sizeof(struct asks));
}

struct asks *asks_free(struct asks *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->n; i++)
        asks_group_done(&t->groups[i]);
    free(t->groups);
    free(t);
    return NULL;
}

/* ---- finding ---- */

/* Where the group is, or would be. */
static size_t position(const struct asks *t, int32_t priority, int64_t id)
{
    size_t lo = 0, hi = t->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct ask_group *g = &t->groups[mid];

        if (g->priority < priority || (g->priority == priority && g->id < id))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct ask_group *asks_find(const struct asks *t, int32_t priority, int64_t id)
{
    size_t i = position(t, priority, id);

    if (i == t->n || t->groups[i].priority != priority || t->groups[i].id != id)
        return NULL;
    return &t->groups[i];
}

static struct row *asks_find_row(const struct ask_group *g, const char *name)
{
    for (size_t i = 0; i < g->n; i++)
        if (str_eq(g->rows[i].name, name))
            return &g->rows[i];
    return NULL;
}

int64_t asks_pending(const struct asks *t)
{
    return t->pending;
}

bool asks_changed(const struct asks *t)
{
    return t->changed;
}

/* ---- adding ---- */

static int asks_add_row(struct ask_group *g, const char *name, const char *rack)
{
    struct row row = { .name = strdup(name), .rack = rack ? strdup(rack) : NULL };

    if (row.name && (!rack || row.rack) && ARRAY_ADD(g->rows, g->n, row) == 0)
        return 0;
    asks_row_done(&row);
    return -ENOMEM;
}

static int need_row(struct ask_group *g, const char *name, const char *rack)
{
    return asks_find_row(g, name) ? 0 : asks_add_row(g, name, rack);
}

/* All rows an ask touches, so that counting it afterwards cannot fail. A row of 0 is harmless. */
static int need_rows(struct ask_group *g, const struct ask *ask)
{
    int r = need_row(g, ANYWHERE, NULL);

    for (size_t i = 0; i < ask->n_places && r == 0; i++) {
        const char *rack = ask->places[i].rack ? ask->places[i].rack : DEFAULT_RACK;

        r = need_row(g, rack, NULL);
        if (r == 0 && ask->places[i].host)
            r = need_row(g, ask->places[i].host, rack);
    }
    return r;
}

static int make_group(const struct ask *ask, struct ask_group *ret)
{
    struct ask_group g = { .priority = ask->priority, .id = ask->id };

    g.strict = ask->strict && ask->n_places > 0;
    g.opportunistic = ask->opportunistic;
    g.capability = yarn_resource_new(&ask->resource);
    g.label = ask->label ? strdup(ask->label) : NULL;
    if (!g.capability || (ask->label && !g.label) || need_rows(&g, ask) < 0) {
        asks_group_done(&g);
        return -ENOMEM;
    }
    *ret = g;
    return 0;
}

static bool same_resource(const Yarn__Resource *a, const struct yarn_resource *b)
{
    if (a->memory != b->memory_mb || a->virtual_cores != b->vcores || a->n_values != b->n_more)
        return false;
    for (size_t i = 0; i < b->n_more; i++)
        if (yarn_amount_of(a, b->more[i].name) != b->more[i].value)
            return false;
    return true;
}

/* The RM keeps one size for each priority and request id; an ask of another size would silently
 * change those that wait already. */
static bool same_shape(const struct ask_group *g, const struct ask *ask)
{
    return g->strict == (ask->strict && ask->n_places > 0) &&
           g->opportunistic == ask->opportunistic && str_eq(g->label, ask->label) &&
           same_resource(g->capability, &ask->resource);
}

/* A group of which nothing is outstanding may take another shape: its rows stay, because the RM
 * may still have them, and are all sent again. */
static int reshape(struct ask_group *g, const struct ask *ask)
{
    AUTO_MESSAGE Yarn__Resource *capability = yarn_resource_new(&ask->resource);
    AUTO_FREE char *label = ask->label ? strdup(ask->label) : NULL;

    if (!capability || (ask->label && !label))
        return -ENOMEM;
    message_free(g->capability);
    free(g->label);
    g->capability = take(capability);
    g->label = take(label);
    g->strict = ask->strict && ask->n_places > 0;
    g->opportunistic = ask->opportunistic;
    for (size_t i = 0; i < g->n; i++)
        g->rows[i].stale |= g->rows[i].rm != 0 || g->rows[i].in_flight;
    return 0;
}

static int insert(struct asks *t, const struct ask *ask, struct ask_group **ret)
{
    size_t at = position(t, ask->priority, ask->id);
    struct ask_group g;

    if (make_group(ask, &g) < 0)
        return -ENOMEM;
    if (ARRAY_INSERT(t->groups, t->n, at, g) < 0) {
        asks_group_done(&g);
        return -ENOMEM;
    }
    *ret = &t->groups[at];
    return 0;
}

static void count_up(struct ask_group *g, const char *name, int32_t count)
{
    struct row *r = asks_find_row(g, name);

    if (r) /* need_rows() has seen to that */
        r->count += count;
}

/* A container that may run on several hosts of a rack counts once in that rack. */
static void count_places(struct ask_group *g, const struct ask *ask)
{
    for (size_t i = 0; i < ask->n_places; i++) {
        const char *rack = ask->places[i].rack ? ask->places[i].rack : DEFAULT_RACK;
        bool again = false;

        for (size_t k = 0; k < i && !again; k++)
            again = str_eq(rack, ask->places[k].rack ? ask->places[k].rack : DEFAULT_RACK);
        if (!again)
            count_up(g, rack, ask->count);
        if (ask->places[i].host)
            count_up(g, ask->places[i].host, ask->count);
    }
}

/* The RM itself accepts a negative number, which makes the queue's count of pending containers
 * negative and starves the next application in that queue. So nothing of that kind is ever sent. */
static int asks_check(const struct ask *ask, struct err *err)
{
    if (ask->count <= 0 || ask->count > 1000000)
        return err_set(err, -EINVAL, "%" PRId32 " is not a number of containers to ask for",
                       ask->count);
    if (ask->priority < 0 || ask->id < 0)
        return err_set(err, -EINVAL, "priority %" PRId32 ", request %" PRId64 " is out of range",
                       ask->priority, ask->id);
    for (size_t i = 0; i < ask->n_places; i++) {
        const struct ask_place *p = &ask->places[i];

        if ((p->host && (!*p->host || str_eq(p->host, ANYWHERE))) ||
            (p->rack && (!*p->rack || str_eq(p->rack, ANYWHERE))))
            return err_set(err, -EINVAL, "a place to ask for has no name");
    }
    return 0;
}

int asks_add(struct asks *t, const struct ask *ask, struct err *err)
{
    struct ask_group *g = asks_find(t, ask->priority, ask->id);
    int r = asks_check(ask, err);

    if (r < 0)
        return r;
    if (t->without_ids && (ask->priority > PRIORITY_MOST || ask->id >> ID_BITS))
        return err_set(err, -EOVERFLOW,
                       "this ResourceManager is too old for a job with this many containers");
    if (!g) {
        r = insert(t, ask, &g);
    } else if (!same_shape(g, ask)) {
        if (g->rows[0].count > 0)
            return err_set(err, -EEXIST,
                           "priority %" PRId32 ", request %" PRId64
                           " already asks for containers of another size",
                           ask->priority, ask->id);
        r = reshape(g, ask);
    }
    if (r == 0)
        r = need_rows(g, ask);
    if (r < 0)
        return err_oom(err);
    count_up(g, ANYWHERE, ask->count);
    count_places(g, ask);
    t->pending += ask->count;
    t->changed = true;
    return 0;
}

/* ---- less of it ---- */

/* Nowhere can more be outstanding than in all. */
static void clamp(struct asks *t, struct ask_group *g)
{
    for (size_t i = 1; i < g->n; i++) {
        struct row *r = &g->rows[i];

        if (r->count > g->rows[0].count)
            r->count = g->rows[0].count;
        t->changed |= row_differs(r);
    }
}

int32_t asks_cancel(struct asks *t, int32_t priority, int64_t id, int32_t count)
{
    struct ask_group *g = asks_find(t, priority, id);

    if (!g)
        return 0;
    if (count < 0 || count > g->rows[0].count)
        count = g->rows[0].count;
    g->rows[0].count -= count;
    t->pending -= count;
    t->changed |= count > 0;
    clamp(t, g);
    return count;
}

int asks_relax(struct asks *t, int32_t priority, int64_t id)
{
    struct ask_group *g = asks_find(t, priority, id);

    if (!g || g->rows[0].count == 0)
        return -ENOENT;
    if (!g->strict)
        return 0;
    g->strict = false;
    for (size_t i = 0; i < g->n; i++)
        if (!g->rows[i].rack && g->rows[i].count > 0) /* the flag stands on "*" and the racks */
            g->rows[i].stale = true;
    t->changed = true;
    return 0;
}

static void count_down(struct row *r)
{
    if (r->count > 0)
        r->count--;
}

/* Whether the RM has exactly what we think: not a row that was on its way when it decided. */
static bool is_exact(const struct row *r)
{
    return !r->stale && !r->in_flight;
}

static void doubt(struct row *r)
{
    if (!r->in_flight && (r->count > 0 || r->rm > 0))
        r->stale = true;
}

/* The RM counts down the host and its rack, if both have something; else perhaps some rack, and we
 * do not know which rack a strange host is in. Where we cannot tell, the row is told again: that
 * is harmless, because these rows say only where, and "*" says how many. */
static void count_down_places(struct ask_group *g, struct row *host)
{
    struct row *rack = host && host->rack ? asks_find_row(g, host->rack) : NULL;

    if (!rack || host->count == 0) {
        for (size_t i = 1; i < g->n; i++)
            if (!g->rows[i].rack)
                doubt(&g->rows[i]);
        return;
    }
    count_down(host);
    count_down(rack);
    if (is_exact(host) && is_exact(rack) && host->rm > 0 && rack->rm > 0) {
        host->rm--;
        rack->rm--;
    } else {
        doubt(host);
        doubt(rack);
    }
}

/* False when nothing like it is asked for any more: it crossed with a cancellation, and the caller
 * gives it back. */
bool asks_granted(struct asks *t, int32_t priority, int64_t id, const char *host)
{
    struct ask_group *g = asks_find(t, priority, id);
    struct row *all;

    if (!g || g->rows[0].count == 0)
        return false;
    all = &g->rows[0];
    count_down(all);
    if (!all->in_flight && all->rm > 0)
        all->rm--;
    t->pending--;
    count_down_places(g, asks_find_row(g, host));
    t->changed |= row_differs(all);
    t->unsettled = true;
    clamp(t, g);
    return true;
}
