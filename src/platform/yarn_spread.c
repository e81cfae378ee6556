/* yarn_spread.c - see yarn_spread.h */
#include "platform/yarn_spread.h"
#include "base/str.h"

#include <string.h>

struct place {
    char *host, *rack;
    int64_t memory, gpus, vcores; /* free */
    size_t taken;                 /* containers of ours that are asked for or run there */
    bool usable;
};

struct yarn_spread {
    struct place *v;
    size_t n;
};

static int add(struct yarn_spread *s, const struct yarn_facts_node *node)
{
    struct place *v = realloc(s->v, (s->n + 1) * sizeof(*v)), *p;

    if (!v)
        return -ENOMEM;
    s->v = v;
    p = &v[s->n];
    *p = (struct place){
        .host = strdup(node->host),
        .rack = strdup(node->rack && *node->rack ? node->rack : "/default-rack"),
        .memory = node->memory,
        .gpus = node->gpus,
        .vcores = node->vcores,
        .usable = true,
    };
    s->n++;
    return p->host && p->rack ? 0 : -ENOMEM;
}

struct yarn_spread *yarn_spread_new(const struct yarn_facts_node *nodes, size_t n)
{
    struct yarn_spread *s = calloc(1, sizeof(*s));

    for (size_t i = 0; s && i < n; i++)
        if (add(s, &nodes[i]) < 0)
            return yarn_spread_free(s);
    return s;
}

struct yarn_spread *yarn_spread_free(struct yarn_spread *s)
{
    for (size_t i = 0; s && i < s->n; i++) {
        free(s->v[i].host);
        free(s->v[i].rack);
    }
    if (s)
        free(s->v);
    free(s);
    return NULL;
}

/* Of what the resource asks for besides memory and cores we know only the GPUs of a node. */
static int64_t gpus_of(const struct yarn_resource *r)
{
    for (size_t i = 0; i < r->n_more; i++)
        if (str_eq(r->more[i].name, YARN_GPU))
            return r->more[i].value;
    return 0;
}

/* Cores are not compared: most clusters do not schedule by them, and those that do say no in time.
 */
static bool fits(const struct place *p, const struct yarn_resource *r)
{
    return p->usable && p->memory >= r->memory_mb && p->gpus >= gpus_of(r);
}

size_t yarn_spread_pick(struct yarn_spread *s, const struct yarn_resource *r)
{
    size_t best = YARN_SPREAD_ANYWHERE;

    for (size_t i = 0; i < s->n; i++) {
        const struct place *p = &s->v[i], *b;

        if (!fits(p, r))
            continue;
        if (best == YARN_SPREAD_ANYWHERE) {
            best = i;
            continue;
        }
        b = &s->v[best];
        if (p->taken < b->taken || (p->taken == b->taken && p->memory > b->memory))
            best = i;
    }
    if (best == YARN_SPREAD_ANYWHERE)
        return best;
    s->v[best].memory -= r->memory_mb;
    s->v[best].gpus -= gpus_of(r);
    s->v[best].taken++;
    return best;
}

void yarn_spread_back(struct yarn_spread *s, size_t node, const struct yarn_resource *r)
{
    if (node >= s->n)
        return;
    s->v[node].memory += r->memory_mb;
    s->v[node].gpus += gpus_of(r);
    if (s->v[node].taken > 0)
        s->v[node].taken--;
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
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->v[i].host, node->host)) {
            s->v[i].usable = usable;
            return 0;
        }
    return usable ? add(s, node) : 0;
}

size_t yarn_spread_usable(const struct yarn_spread *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->v[i].usable;
    return n;
}
