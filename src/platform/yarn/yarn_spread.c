/* yarn_spread.c - a book of what is free on each node, as far as we know: every ask takes from
 * it, every release gives back. It may be wrong, since other jobs ask too; an ask that is not
 * served is therefore relaxed later. See yarn_spread.h. */
#include "platform/yarn/yarn_spread.h"
#include "base/array.h"
#include "base/str.h"

#include <string.h>

struct place {
    char *host, *rack, *label;
    int64_t memory, gpus, vcores;     /* free */
    size_t taken;                     /* containers of ours that are asked for or run there */
    uint32_t of_role[SPEC_ROLES_MAX]; /* of these, by role */
    size_t first; /* the first one with this host's name: several NodeManagers may share it */
    bool usable, avoided;
};

struct yarn_spread {
    struct place *v;
    size_t n;
};

static size_t yarn_spread_first_of(const struct yarn_spread *s, const char *host)
{
    size_t i = 0;

    while (i < s->n && !str_eq(s->v[i].host, host))
        i++;
    return i;
}

static int yarn_spread_add(struct yarn_spread *s, const struct yarn_facts_node *node)
{
    struct place *p;

    if (ARRAY_ROOM(s->v, s->n) < 0)
        return -ENOMEM;
    p = &s->v[s->n];
    *p = (struct place){
        .host = strdup(node->host),
        .rack = strdup(node->rack && *node->rack ? node->rack : "/default-rack"),
        .label = strdup(node->label ? node->label : ""),
        .memory = node->memory,
        .gpus = node->gpus,
        .vcores = node->vcores,
        .first = yarn_spread_first_of(s, node->host),
        .usable = true,
    };
    s->n++;
    return p->host && p->rack && p->label ? 0 : -ENOMEM;
}

struct yarn_spread *yarn_spread_new(const struct yarn_facts_node *nodes, size_t n)
{
    struct yarn_spread *s = calloc(1, sizeof(*s));

    for (size_t i = 0; s && i < n; i++)
        if (yarn_spread_add(s, &nodes[i]) < 0)
            return yarn_spread_free(s);
    return s;
}

struct yarn_spread *yarn_spread_free(struct yarn_spread *s)
{
    for (size_t i = 0; s && i < s->n; i++) {
        free(s->v[i].host);
        free(s->v[i].rack);
        free(s->v[i].label);
    }
    if (s)
        free(s->v);
    free(s);
    return NULL;
}

/* Besides memory and cores, only the GPUs of a node are known. */
static int64_t gpus_of(const struct yarn_resource *r)
{
    for (size_t i = 0; i < r->n_more; i++)
        if (str_eq(r->more[i].name, YARN_GPU))
            return r->more[i].value;
    return 0;
}

/* ---- which node ---- */

static bool is_crowded(const struct place *p, const struct yarn_spread_want *w)
{
    return w->how == SPEC_SPREAD_NODE && p->of_role[w->role] > 0;
}

/* Cores are not compared: most clusters do not schedule by them, and those that do say no in time.
 */
static bool yarn_spread_fits(const struct place *p, const struct yarn_spread_want *w)
{
    return p->usable && !p->avoided && p->memory >= w->size->memory_mb &&
           p->gpus >= gpus_of(w->size) && str_eq(p->label, w->label ? w->label : "") &&
           !is_crowded(p, w);
}

static bool yarn_spread_is_named(const struct place *p, const struct strs *hosts)
{
    return strs_has(hosts, p->host) || strs_has(hosts, p->rack);
}

/* The emptiest is best, and first of all one with fewer containers of this role: those can stand in
 * for each other when a node is lost. A role that wants few nodes prefers those that the job is on
 * already. */
static bool is_better(const struct place *p, const struct place *than,
                      const struct yarn_spread_want *w)
{
    uint32_t ours = p->of_role[w->role], theirs = than->of_role[w->role];

    if (w->how == SPEC_SPREAD_PACK && p->taken != than->taken)
        return p->taken > than->taken;
    if (w->how != SPEC_SPREAD_PACK && ours != theirs)
        return ours < theirs;
    if (w->how != SPEC_SPREAD_PACK && p->taken != than->taken)
        return p->taken < than->taken;
    return p->memory > than->memory;
}

static size_t best_of(const struct yarn_spread *s, const struct yarn_spread_want *w, bool named)
{
    size_t best = YARN_SPREAD_ANYWHERE;

    for (size_t i = 0; i < s->n; i++) {
        const struct place *p = &s->v[i];

        if (!yarn_spread_fits(p, w) || (named && !yarn_spread_is_named(p, w->hosts)))
            continue;
        if (best == YARN_SPREAD_ANYWHERE || is_better(p, &s->v[best], w))
            best = i;
    }
    return best;
}

static size_t take_room(struct yarn_spread *s, size_t at, const struct yarn_spread_want *w)
{
    s->v[at].memory -= w->size->memory_mb;
    s->v[at].gpus -= gpus_of(w->size);
    s->v[at].taken++;
    s->v[at].of_role[w->role]++;
    return at;
}

size_t yarn_spread_pick(struct yarn_spread *s, const struct yarn_spread_want *w)
{
    size_t best = YARN_SPREAD_ANYWHERE;

    if (w->hosts && w->hosts->n > 0)
        best = best_of(s, w, true);
    if (best == YARN_SPREAD_ANYWHERE)
        best = best_of(s, w, false);
    return best == YARN_SPREAD_ANYWHERE ? best : take_room(s, best, w);
}

void yarn_spread_back(struct yarn_spread *s, size_t node, const struct yarn_spread_want *w)
{
    if (node >= s->n)
        return;
    s->v[node].memory += w->size->memory_mb;
    s->v[node].gpus += gpus_of(w->size);
    if (s->v[node].taken > 0)
        s->v[node].taken--;
    if (s->v[node].of_role[w->role] > 0)
        s->v[node].of_role[w->role]--;
}

static size_t yarn_spread_find(const struct yarn_spread *s, const char *host)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->v[i].host, host))
            return i;
    return YARN_SPREAD_ANYWHERE;
}

size_t yarn_spread_move(struct yarn_spread *s, size_t node, const char *host,
                        const struct yarn_spread_want *w)
{
    const struct yarn_facts_node unknown = { .host = (char *)host, .label = (char *)w->label };
    size_t at = yarn_spread_find(s, host);

    if (at == node && at != YARN_SPREAD_ANYWHERE)
        return node;
    yarn_spread_back(s, node, w);
    if (at == YARN_SPREAD_ANYWHERE) {
        if (yarn_spread_add(s, &unknown) < 0)
            return YARN_SPREAD_ANYWHERE;
        at = s->n - 1;
    }
    return take_room(s, at, w);
}

bool yarn_spread_allows(const struct yarn_spread *s, size_t node, const char *host,
                        const struct yarn_spread_want *w)
{
    size_t at = yarn_spread_find(s, host);

    return at == YARN_SPREAD_ANYWHERE || at == node || !is_crowded(&s->v[at], w);
}

/* Without a label of its own an ask may have the queue's, which is not known here. */
size_t yarn_spread_choice(const struct yarn_spread *s, const struct yarn_spread_want *w,
                          size_t turn, size_t *nodes, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n && n < max; i++) {
        size_t at = (i + turn) % s->n;
        const struct place *p = &s->v[at];

        if (p->usable && !p->avoided && !is_crowded(p, w) &&
            (!w->label || str_eq(p->label, w->label)))
            nodes[n++] = at;
    }
    return n;
}

const char *yarn_spread_host(const struct yarn_spread *s, size_t node)
{
    return s->v[node].host;
}

const char *yarn_spread_rack(const struct yarn_spread *s, size_t node)
{
    return s->v[node].rack;
}

int yarn_spread_set(struct yarn_spread *s, const struct yarn_facts_node *node, bool usable)
{
    size_t at = yarn_spread_find(s, node->host);

    if (at == YARN_SPREAD_ANYWHERE)
        return usable ? yarn_spread_add(s, node) : 0;
    s->v[at].usable = usable;
    return 0;
}

void yarn_spread_avoid(struct yarn_spread *s, const char *host, bool on)
{
    size_t at = yarn_spread_find(s, host);

    if (at != YARN_SPREAD_ANYWHERE)
        s->v[at].avoided = on;
}

static bool is_usable(const struct place *p, const char *label)
{
    return p->usable && str_eq(p->label, label ? label : "");
}

size_t yarn_spread_count(const struct yarn_spread *s, const char *label)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        bool counts = is_usable(&s->v[i], label);

        for (size_t k = s->v[i].first; k < i && counts; k++)
            counts = s->v[k].first != s->v[i].first || !is_usable(&s->v[k], label);
        n += counts;
    }
    return n;
}
