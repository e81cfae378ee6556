/* capacity_packing.c - all containers of a job together: do they go onto the nodes, and into the
 * queue?
 *
 * Containers that are alike are put onto nodes together, the largest first, each node as full as it
 * goes: classes × nodes steps, however many containers there are. Containers left over do not prove
 * that they cannot fit. What does, is looked for separately:
 *
 *     sums       more is needed of a type than all nodes with the label have, or the queue may take
 *     counts     more containers of at least this size than the nodes have places for that size
 *     with the   the same when the master has taken its place on whichever node it disturbs least
 *     master
 *
 * For a job of one role the counts are exact, so nothing is left unsure there. */
#include "launch/capacity/capacity_private.h"

#include <stdio.h>
#include <string.h>

/* A node while it is filled. */
struct bin {
    const struct deploy_node *node;
    struct deploy_size left;
};

struct packing {
    struct capacity_job *j;
    const struct deploy_facts *f;
    struct bin *bins;
    size_t n_bins;
    size_t placed[SPEC_ROLES_MAX + 1]; /* of each class */
};

/* What is short; see short_text(). */
struct lack {
    enum { LACK_NONE, LACK_SUM, LACK_QUEUE, LACK_COUNT } kind;
    const struct capacity_class *class;
    size_t type;       /* of sums */
    int64_t need, has; /* amounts, or containers */
};

/* ---- sizes ---- */

static int64_t times(const struct deploy_size *into, const struct deploy_size *size, bool apart)
{
    int64_t n = apart ? 1 : INT64_MAX;

    for (size_t t = 0; t < DEPLOY_TYPES; t++)
        if (size->v[t] > 0) {
            int64_t here = into->v[t] > 0 ? into->v[t] / size->v[t] : 0;

            n = here < n ? here : n;
        }
    return n == INT64_MAX ? 0 : n; /* no container is of no size */
}

static void take_from(struct deploy_size *from, const struct deploy_size *size, int64_t n)
{
    for (size_t t = 0; t < DEPLOY_TYPES; t++)
        from->v[t] -= size->v[t] * n;
}

/* ---- the queue's limits ---- */

/* What the queue may take of a label's nodes; without a limit, more than there can be. Asks without
 * a label that are served by another label's idle nodes are not counted, so where there are such
 * nodes nothing is certain. */
static struct deploy_size queue_most(const struct deploy_facts *f, const char *label)
{
    const struct deploy_share *s = f->queue.found ? deploy_share(&f->queue, label) : NULL;
    struct deploy_size all;
    bool loose = false;

    for (size_t i = 0; i < f->n_labels; i++)
        loose |= !*label && !f->labels[i].exclusive;
    for (size_t t = 0; t < DEPLOY_TYPES; t++)
        all.v[t] = DEPLOY_MOST;
    if (!s || !s->limited || loose)
        return all;
    all = s->most;
    if (!f->counts_cores)
        all.v[DEPLOY_CORES] = DEPLOY_MOST;
    return all;
}

/* ---- first fit, decreasing ---- */

/* Plain nodes first, then small ones: scarce resources stay free for the containers that need them.
 */
static int by_kind_and_memory(const void *a, const void *b)
{
    const struct deploy_size *x = &((const struct bin *)a)->node->total;
    const struct deploy_size *y = &((const struct bin *)b)->node->total;

    for (size_t t = DEPLOY_TYPES; t-- > DEPLOY_CORES + 1;)
        if (x->v[t] != y->v[t])
            return x->v[t] < y->v[t] ? -1 : 1;
    return (x->v[DEPLOY_MEMORY] > y->v[DEPLOY_MEMORY]) -
           (x->v[DEPLOY_MEMORY] < y->v[DEPLOY_MEMORY]);
}

static int open_bins(struct packing *p)
{
    const struct deploy_facts *f = p->f;

    p->bins = calloc(f->n_nodes + 1, sizeof(*p->bins));
    if (!p->bins)
        return -ENOMEM;
    for (size_t i = 0; i < f->n_nodes; i++)
        if (f->nodes[i].running)
            p->bins[p->n_bins++].node = &f->nodes[i];
    qsort(p->bins, p->n_bins, sizeof(*p->bins), by_kind_and_memory);
    return 0;
}

/* The largest part that it takes of any type's most. */
static double weight(const struct packing *p, const struct capacity_class *c)
{
    double w = 0;

    for (size_t t = 0; t < p->f->types.n; t++) {
        double most = (double)p->f->largest.v[t];

        if (most > 0 && (double)c->size.v[t] / most > w)
            w = (double)c->size.v[t] / most;
    }
    return w;
}

/* How many there are. */
static size_t sort_classes(const struct packing *p, const struct capacity_class **order)
{
    size_t n = 0;

    for (; n < p->j->n; n++) {
        size_t at = n;

        for (; at > 0 && weight(p, order[at - 1]) < weight(p, &p->j->v[n]); at--)
            order[at] = order[at - 1];
        order[at] = &p->j->v[n];
    }
    return n;
}

/* Puts as many of a class as possible; `queue` is what the queue has left for its label. */
static size_t pack_class(struct packing *p, const struct capacity_class *c,
                         struct deploy_size *queue)
{
    size_t left = c->count;

    for (size_t i = 0; i < p->n_bins && left; i++) {
        struct bin *b = &p->bins[i];
        int64_t n, limit = times(queue, &c->size, false);

        if (!capacity_usable(p->f, b->node, c->label))
            continue;
        n = times(&b->left, &c->size, c->apart);
        n = n < limit ? n : limit;
        n = n < (int64_t)left ? n : (int64_t)left;
        take_from(&b->left, &c->size, n);
        take_from(queue, &c->size, n);
        left -= (size_t)n;
    }
    return c->count - left;
}

/* The queue's remaining share of a label, after the classes packed before. */
static struct deploy_size queue_left(const struct packing *p, const char *label, bool now)
{
    struct deploy_size left = queue_most(p->f, label);

    /* Usage is known only for nodes without a label. */
    for (size_t t = 0; now && !*label && t <= DEPLOY_CORES; t++)
        left.v[t] -= p->f->queue.used.v[t];
    for (size_t i = 0; i < p->j->n; i++)
        if (str_eq(p->j->v[i].label, label))
            take_from(&left, &p->j->v[i].size, (int64_t)p->placed[i]);
    return left;
}

/* Fills the nodes, as they are when empty or as they are now. Returns how many containers found
 * room. The master is the first to be granted one; on empty nodes it goes by its size. */
static size_t pack_nodes(struct packing *p, bool now, bool with_master)
{
    const struct capacity_class *order[SPEC_ROLES_MAX + 1];
    size_t total = 0, n;

    memset(p->placed, 0, sizeof(p->placed));
    for (size_t i = 0; i < p->n_bins; i++) {
        p->bins[i].left = p->bins[i].node->total;
        if (now)
            take_from(&p->bins[i].left, &p->bins[i].node->used, 1);
    }
    n = sort_classes(p, order);
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            bool master = !order[i]->role, first = now && master;
            struct deploy_size queue;

            if (first != (pass == 0) || (master && !with_master))
                continue;
            queue = queue_left(p, order[i]->label, now);
            total += p->placed[order[i] - p->j->v] = pack_class(p, order[i], &queue);
        }
    return total;
}

/* ---- proofs that it cannot be ---- */

static struct deploy_size nodes_total(const struct packing *p, const char *label)
{
    struct deploy_size sum = { { 0 } };

    for (size_t i = 0; i < p->n_bins; i++)
        if (capacity_usable(p->f, p->bins[i].node, label))
            take_from(&sum, &p->bins[i].node->total, -1);
    return sum;
}

/* The first type of which the classes with the label of `c` need more than `has`. */
static bool sum_lacks(const struct packing *p, const struct capacity_class *c,
                      const struct deploy_size *has, size_t from, struct lack *ret)
{
    struct deploy_size need = { { 0 } };

    for (size_t i = from; i < p->j->n; i++)
        if (str_eq(p->j->v[i].label, c->label))
            take_from(&need, &p->j->v[i].size, -(int64_t)p->j->v[i].count);
    for (size_t t = 0; t < p->f->types.n; t++)
        if (need.v[t] > has->v[t]) {
            *ret = (struct lack){ .class = c, .type = t, .need = need.v[t], .has = has->v[t] };
            return true;
        }
    return false;
}

/* Places for containers of the size of `c`, when the master is where it costs fewest of them. */
static int64_t places(const struct packing *p, const struct capacity_class *c,
                      const struct capacity_class *master)
{
    int64_t sum = 0, least = INT64_MAX;

    for (size_t i = 0; i < p->n_bins; i++) {
        const struct deploy_node *n = p->bins[i].node;
        int64_t here =
            capacity_usable(p->f, n, c->label) ? times(&n->total, &c->size, c->apart) : 0;
        struct deploy_size rest = n->total;
        int64_t cost;

        sum += here;
        if (!master || !capacity_usable(p->f, n, master->label) ||
            !capacity_goes_into(&master->size, &n->total))
            continue;
        take_from(&rest, &master->size, 1);
        cost = here ? here - times(&rest, &c->size, c->apart) : 0;
        least = cost < least ? cost : least;
    }
    return least == INT64_MAX ? sum : sum - least;
}

/* Containers that could stand in no smaller place than one of `c`. */
static int64_t at_least_as_large(const struct packing *p, const struct capacity_class *c)
{
    int64_t n = 0;

    for (size_t i = 1; i < p->j->n; i++) {
        const struct capacity_class *d = &p->j->v[i];

        if (d == c ||
            (!c->apart && str_eq(d->label, c->label) && capacity_goes_into(&c->size, &d->size)))
            n += (int64_t)d->count;
    }
    return n;
}

/* Looks for a proof, for the tasks alone or with the master. */
static struct lack find_lack(const struct packing *p, bool with_master)
{
    const struct capacity_class *master = with_master ? &p->j->v[0] : NULL;
    size_t from = with_master ? 0 : 1;
    struct lack l = { 0 };

    for (size_t i = 1; i < p->j->n; i++) {
        const struct capacity_class *c = &p->j->v[i];
        int64_t need = at_least_as_large(p, c), has = places(p, c, master);

        if (need > has)
            return (struct lack){ LACK_COUNT, c, 0, need, has };
    }
    for (size_t i = from; i < p->j->n; i++) {
        struct deploy_size has = nodes_total(p, p->j->v[i].label);

        if (sum_lacks(p, &p->j->v[i], &has, from, &l)) {
            l.kind = LACK_SUM;
            return l;
        }
    }
    for (size_t i = from; i < p->j->n; i++) {
        struct deploy_size has = queue_most(p->f, p->j->v[i].label);

        if (sum_lacks(p, &p->j->v[i], &has, from, &l)) {
            l.kind = LACK_QUEUE;
            return l;
        }
    }
    return (struct lack){ .kind = LACK_NONE };
}

/* ---- in words ---- */

/* "the cluster", "the queue 'x'", "the queue 'x' with the label 'gpu'", … */
static const char *where(const struct packing *p, const struct lack *l, char out[192])
{
    const char *label = l->class->label;
    size_t at = 0;

    if (l->kind == LACK_QUEUE)
        at = (size_t)snprintf(out, 192, "the queue '%.64s'", p->f->queue.name);
    else
        at = (size_t)snprintf(out, 192, *label ? "the nodes" : "the cluster");
    if (*label)
        snprintf(out + at, 192 - at, " with the label '%.64s'", label);
    return out;
}

/* The tasks fit, but not the master beside them. */
static int say_one_too_many(struct packing *p, const struct lack *l, size_t tasks, bool all)
{
    char text[192];

    return capacity_fault(p->j, "roles",
                          "needs %zu containers (%zu + the master); %s can hold %s%zu", tasks + 1,
                          tasks, where(p, l, text), all ? "" : "at most ", tasks);
}

static int say_too_many(struct packing *p, const struct lack *l, size_t tasks)
{
    char key[80], text[192], size[CAPACITY_SIZE_TEXT], need[CAPACITY_SIZE_TEXT],
        has[CAPACITY_SIZE_TEXT];

    if (l->kind == LACK_COUNT) {
        bool others = l->need > (int64_t)l->class->count;

        snprintf(key, sizeof(key), "roles.%.40s.count", l->class->role->name);
        return capacity_fault(
            p->j, key,
            "needs %zu containers (%zu + the master), %lld of them with %s%s; %s can "
            "hold %lld such%s",
            tasks + 1, tasks, (long long)l->need, capacity_size_text(p->f, &l->class->size, size),
            others ? " or more" : "", where(p, l, text), (long long)l->has,
            l->class->apart ? ", one on a node" : "");
    }
    return capacity_fault(p->j, "roles",
                          "needs %zu containers (%zu + the master), tasks with %s in all; %s %s %s",
                          tasks + 1, tasks, capacity_amount_text(p->f, l->type, l->need, need),
                          where(p, l, text), l->kind == LACK_QUEUE ? "can hold" : "has",
                          capacity_amount_text(p->f, l->type, l->has, has));
}

/* "needs 9 containers (8 + the master); there is room for 5 now, and 4 of 'worker' (1 GB) have to
 * wait" */
static void say_waiting(const struct packing *p, struct capacity *ret)
{
    size_t at = 0, shown = 0;

    at = (size_t)snprintf(
        ret->text, sizeof(ret->text),
        "needs %zu containers (%zu + the master); there is room for %zu now, waiting for",
        ret->needed, ret->needed - 1, ret->now);
    for (size_t i = 0; i < p->j->n && at < sizeof(ret->text); i++) {
        const struct capacity_class *c = &p->j->v[i];
        char size[CAPACITY_SIZE_TEXT], name[64];

        if (p->placed[i] == c->count)
            continue;
        snprintf(name, sizeof(name), c->role ? "'%.40s'" : "%s",
                 c->role ? c->role->name
                         : "the "
                           "master");
        at += (size_t)snprintf(ret->text + at, sizeof(ret->text) - at, "%s %zu more of %s (%s)",
                               shown++ ? "," : "", c->count - p->placed[i], name,
                               capacity_size_text(p->f, &c->size, size));
    }
}

static int capacity_packing_judge(struct packing *p, struct capacity *ret)
{
    size_t tasks = ret->needed - 1;
    struct lack alone = find_lack(p, false), both;

    ret->too_small = alone.kind != LACK_NONE;
    if (ret->too_small)
        return say_too_many(p, &alone, tasks);
    both = find_lack(p, true);
    ret->too_small = both.kind != LACK_NONE;
    if (ret->too_small)
        return say_one_too_many(p, &both, tasks, pack_nodes(p, false, false) == tasks);
    ret->unsure = pack_nodes(p, false, true) < ret->needed;
    ret->now = pack_nodes(p, true, true);
    ret->fits_now = ret->now == ret->needed;
    if (!ret->fits_now)
        say_waiting(p, ret);
    return 0;
}

int capacity_pack(struct capacity_job *j, struct capacity *ret)
{
    struct packing p = { .j = j, .f = j->f };
    int r = open_bins(&p);

    for (size_t i = 0; i < j->n; i++)
        ret->needed += j->v[i].count;
    if (r == 0)
        r = capacity_packing_judge(&p, ret);
    free(p.bins);
    return r;
}
