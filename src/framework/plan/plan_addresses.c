/* plan_addresses.c - made-up addresses for a plan: containers are spread over the nodes one after
 * the other, and ports are counted up. So a plan shows every variable that a real job would have,
 * without asking anybody. See plan.h. */
#include "framework/plan/plan.h"

#define FIRST_PORT 10000
#define LAST_PORT 65535

struct plan_places {
    struct cluster cluster;
    struct strs nodes;
    unsigned port; /* the next one */
    size_t slots;  /* containers so far, over all roles */
};

struct plan_places *plan_places_free(struct plan_places *p)
{
    if (!p)
        return NULL;
    for (size_t i = 0; i < p->cluster.n; i++)
        free(p->cluster.roles[i].tasks);
    free(p->cluster.roles);
    strs_done(&p->nodes);
    free(p);
    return NULL;
}

static void give_ports(struct plan_places *p, struct cluster_task *c, int n)
{
    for (int i = 0; i < n && i < CLUSTER_PORTS_MAX; i++) {
        c->port[c->n_ports++] = (unsigned short)p->port;
        /* A plan of more tasks than there are ports still is one: begin again. */
        p->port = p->port < LAST_PORT ? p->port + 1 : FIRST_PORT;
    }
}

static int plan_places_add_role(struct plan_places *p, const struct spec_role *r,
                                struct cluster_role *c)
{
    unsigned procs = r->procs > 0 ? r->procs : 1;

    *c = (struct cluster_role){ .name = r->name, .n = (size_t)r->count * procs };
    c->tasks = calloc(c->n ? c->n : 1, sizeof(*c->tasks));
    if (!c->tasks)
        return -ENOMEM;
    for (size_t i = 0; i < c->n; i++) {
        size_t slot = i / procs;

        c->tasks[i].host = "127.0.0.1";
        c->tasks[i].node = p->nodes.v[(p->slots + slot) % p->nodes.n];
        c->tasks[i].slot = (unsigned)slot;
        c->tasks[i].local_rank = (unsigned)(i % procs);
        give_ports(p, &c->tasks[i], r->ports);
    }
    p->slots += r->count;
    return 0;
}

int plan_places_new(const struct spec *s, struct plan_places **ret)
{
    AUTO(plan_places) struct plan_places *p = calloc(1, sizeof(*p));
    unsigned nodes = s->nodes > 0 ? s->nodes : 1;
    int r = 0;

    if (!p)
        return -ENOMEM;
    p->port = s->port_low > 0 ? s->port_low : FIRST_PORT;
    for (unsigned i = 0; i < nodes && r == 0; i++)
        r = strs_take(&p->nodes, str_printf("node%u", i));
    if (r < 0)
        return r;
    p->cluster.roles = calloc(s->n_roles ? s->n_roles : 1, sizeof(*p->cluster.roles));
    if (!p->cluster.roles)
        return -ENOMEM;
    for (; p->cluster.n < s->n_roles; p->cluster.n++) {
        r = plan_places_add_role(p, &s->roles[p->cluster.n], &p->cluster.roles[p->cluster.n]);
        if (r < 0)
            return r;
    }
    r = cluster_find_neighbours(&p->cluster);
    if (r == 0)
        *ret = take(p);
    return r;
}

const struct cluster *plan_places_cluster(const struct plan_places *p)
{
    return &p->cluster;
}

int plan_places_next_port(const struct plan_places *p)
{
    return (int)p->port;
}
