/* asks_wire.c - what the ResourceManager is told of the table of asks, and what it has of it. A row
 * on the wire is a total, not a difference: "host n1, priority 5: 3 containers" replaces what that
 * row said before. So each row remembers what the RM has (`rm`), and is sent when that is not what
 * is wanted, or when nobody can tell (`stale`). See asks.h. */
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/yarn/asks_private.h"
#include "hadoop/yarn/message.h"

#include <string.h>

/* ---- messages ---- */

/* With strict hosts, neither their racks nor "*" may be used; with a strict rack, only "*" not. */
static bool relaxed(const struct ask_group *g, const struct row *r)
{
    if (!g->strict || r->rack)
        return true;
    if (r == &g->rows[0])
        return false;
    for (size_t i = 1; i < g->n; i++)
        if (g->rows[i].rack && g->rows[i].count > 0 && str_eq(g->rows[i].rack, r->name))
            return false;
    return true;
}

/* Always sent: an RM that hands out opportunistic containers (2.9 and later, when switched on)
 * fails with a NullPointerException on an ask without it, at every heartbeat. */
static Yarn__ExecutionTypeRequest *execution_type(bool opportunistic)
{
    Yarn__ExecutionTypeRequest *m = MESSAGE_NEW(yarn__execution_type_request);

    if (!m)
        return NULL;
    m->has_type = m->has_enforce = true;
    m->type = opportunistic ? YARN__EXECUTION_TYPE__EXEC_OPPORTUNISTIC
                            : YARN__EXECUTION_TYPE__EXEC_GUARANTEED;
    m->enforce = opportunistic;
    return m;
}

/* An RM that ignores request ids would mix up the asks of one priority. So the id becomes the low
 * bits of the priority, which comes back with every container. */
static int32_t wire_priority(const struct asks *t, const struct ask_group *g)
{
    return t->without_ids ? (int32_t)(g->priority << ID_BITS | g->id) : g->priority;
}

void asks_without_ids(struct asks *t)
{
    t->without_ids = true;
}

void asks_key(const struct asks *t, const Yarn__Container *c, int32_t *ret_priority,
              int64_t *ret_id)
{
    int32_t priority = c->priority ? c->priority->priority : 0;

    *ret_priority = t->without_ids ? priority >> ID_BITS : priority;
    *ret_id = t->without_ids ? priority & ((1 << ID_BITS) - 1) : c->allocation_request_id;
}

/* Two fields are never left out: without a priority the row is accepted and the next allocate ends
 * in a NullPointerException; the request id of a row without one is 0 up to 3.0 and -1 since, and
 * comes back with the container. */
static Yarn__ResourceRequest *row_message(const struct asks *t, const struct ask_group *g,
                                          const struct row *r)
{
    AUTO_MESSAGE Yarn__ResourceRequest *m = MESSAGE_NEW(yarn__resource_request);

    if (!m || MESSAGE_TEXT(m->resource_name, r->name) < 0)
        return NULL;
    m->priority = MESSAGE_NEW(yarn__priority);
    m->capability = message_copy(g->capability);
    if (!m->priority || !m->capability)
        return NULL;
    m->priority->has_priority = m->has_num_containers = m->has_allocation_request_id = true;
    m->priority->priority = wire_priority(t, g);
    m->num_containers = r->count;
    m->allocation_request_id = g->id;
    m->relax_locality = relaxed(g, r);
    m->has_relax_locality = !m->relax_locality; /* true is what absent means */
    /* The RM refuses a label anywhere but on "*". */
    if (g->label && r == &g->rows[0] && MESSAGE_TEXT(m->node_label_expression, g->label) < 0)
        return NULL;
    m->execution_type_request = execution_type(g->opportunistic);
    return m->execution_type_request ? take(m) : NULL;
}

/* Two passes: building a message can fail, marking what it says cannot. */
int asks_build(struct asks *t, Yarn__AllocateRequest *request)
{
    if (!t->changed)
        return 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct ask_group *g = &t->groups[i];

        for (size_t k = 0; k < g->n; k++)
            if (row_differs(&g->rows[k]) &&
                MESSAGE_ADD(request, ask, row_message(t, g, &g->rows[k])) < 0)
                return -ENOMEM;
    }
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->groups[i].n; k++) {
            struct row *r = &t->groups[i].rows[k];

            r->in_flight = row_differs(r);
            r->flying = r->count;
            r->stale = false;
        }
    t->changed = false;
    t->unsettled = true;
    return 0;
}

/* ---- what became of it ---- */

static void each_row(struct asks *t, void (*fn)(struct asks *t, struct row *r))
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->groups[i].n; k++)
            fn(t, &t->groups[i].rows[k]);
}

static void row_sent(struct asks *t, struct row *r)
{
    if (r->in_flight)
        r->rm = r->flying;
    t->changed |= row_differs(r);
}

void asks_sent(struct asks *t)
{
    if (t->unsettled)
        each_row(t, row_sent);
}

/* A request that failed may have been taken over or not. Rows are totals, so sending them once more
 * does no harm in either case. */
static void row_failed(struct asks *t, struct row *r)
{
    r->stale |= r->in_flight;
    r->in_flight = false;
    t->changed |= row_differs(r);
}

void asks_failed(struct asks *t)
{
    each_row(t, row_failed);
}

static void row_forgotten(struct asks *t, struct row *r)
{
    r->rm = 0;
    r->stale = r->in_flight = false;
    t->changed |= row_differs(r);
}

void asks_forgotten(struct asks *t)
{
    t->changed = false;
    t->unsettled = true;
    each_row(t, row_forgotten);
    asks_settled(t);
}

/* Both sides have lost count of what was taken. As rows are totals, sending all of them mends
 * it. */
static void row_unknown(struct asks *t, struct row *r)
{
    r->stale = true;
    r->in_flight = false;
    t->changed = true;
}

void asks_unknown(struct asks *t)
{
    each_row(t, row_unknown);
}

static bool group_flies(const struct ask_group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->rows[i].in_flight)
            return true;
    return false;
}

/* The RM looks at all rows before it takes any, so it has none of them: what it has of these keys
 * is what it had before, and that is to become 0. */
void asks_refused(struct asks *t, void (*refused)(void *arg, int32_t priority, int64_t id),
                  void *arg)
{
    for (size_t i = 0; i < t->n; i++) {
        struct ask_group *g = &t->groups[i];
        bool gone = g->rows[0].count == 0; /* taking it back is refused too: leave it alone */

        if (!group_flies(g))
            continue;
        refused(arg, g->priority, g->id);
        t->pending -= g->rows[0].count;
        for (size_t k = 0; k < g->n; k++) {
            g->rows[k].count = 0;
            if (gone)
                g->rows[k].rm = 0;
            g->rows[k].in_flight = g->rows[k].stale = false;
            t->changed |= row_differs(&g->rows[k]);
        }
    }
    t->unsettled = true;
    asks_settled(t);
}

/* ---- cleaning up ---- */

static bool row_empty(const struct row *r)
{
    return r->count == 0 && r->rm == 0 && !r->stale;
}

/* Keeps "*", which all the others need. */
static void drop_rows(struct ask_group *g)
{
    size_t kept = 1;

    for (size_t i = 1; i < g->n; i++) {
        if (row_empty(&g->rows[i]))
            asks_row_done(&g->rows[i]);
        else
            g->rows[kept++] = g->rows[i];
    }
    g->n = kept;
}

void asks_settled(struct asks *t)
{
    size_t kept = 0;

    if (!t->unsettled)
        return;
    t->unsettled = false;
    for (size_t i = 0; i < t->n; i++) {
        struct ask_group *g = &t->groups[i];

        for (size_t k = 0; k < g->n; k++)
            g->rows[k].in_flight = false;
        drop_rows(g);
        if (g->n == 1 && row_empty(&g->rows[0]))
            asks_group_done(g);
        else
            t->groups[kept++] = *g;
    }
    t->n = kept;
}
