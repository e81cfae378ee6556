/* capacity_testing.c - see capacity_testing.h */
#include "launch/capacity/capacity_testing.h"

#include <string.h>

static int add_types(const struct room_cluster *c, struct deploy_facts *f)
{
    if (strs_add(&f->types, "memory-mb") < 0 || strs_add(&f->types, "vcores") < 0)
        return -ENOMEM;
    for (size_t i = 0; i < COUNT_OF(c->types) && c->types[i]; i++)
        if (strs_add(&f->types, c->types[i]) < 0)
            return -ENOMEM;
    return 0;
}

static int add_nodes(const struct room_cluster *c, struct deploy_facts *f)
{
    f->nodes = calloc(ROOM_TESTING_MAX, sizeof(*f->nodes));
    if (!f->nodes)
        return -ENOMEM;
    for (size_t k = 0; k < COUNT_OF(c->nodes); k++)
        for (size_t i = 0; i < c->nodes[k].n && f->n_nodes < ROOM_TESTING_MAX; i++) {
            struct deploy_node *n = &f->nodes[f->n_nodes++];

            n->host = str_printf("n%zu", f->n_nodes);
            n->rack = strdup("/r");
            n->label = strdup(c->nodes[k].label ? c->nodes[k].label : "");
            n->running = !c->nodes[k].away;
            n->total =
                (struct deploy_size){ { c->nodes[k].mb, c->nodes[k].cores, c->nodes[k].gpus } };
            n->used.v[DEPLOY_MEMORY] = c->nodes[k].used_mb;
            for (size_t t = 0; t < DEPLOY_TYPES && n->running; t++)
                if (n->total.v[t] > f->largest.v[t])
                    f->largest.v[t] = n->total.v[t];
            if (!n->host || !n->rack || !n->label)
                return -ENOMEM;
        }
    return 0;
}

static int add_labels(const struct room_cluster *c, struct deploy_facts *f)
{
    f->labels = calloc(COUNT_OF(c->labels), sizeof(*f->labels));
    if (!f->labels)
        return -ENOMEM;
    for (size_t i = 0; i < COUNT_OF(c->labels) && c->labels[i]; i++) {
        f->labels[i].exclusive = *c->labels[i] != '!';
        f->labels[i].name = strdup(c->labels[i] + !f->labels[i].exclusive);
        if (!f->labels[i].name)
            return -ENOMEM;
        f->n_labels++;
    }
    return 0;
}

static int add_share(struct deploy_queue *q, const char *label, int64_t mb)
{
    struct deploy_share *s = &q->shares[q->n_shares];

    if (mb == 0)
        return 0;
    s->label = strdup(label);
    if (!s->label)
        return -ENOMEM;
    q->n_shares++;
    s->limited = true;
    for (size_t t = 0; t < DEPLOY_TYPES; t++)
        s->most.v[t] = DEPLOY_MOST;
    s->most.v[DEPLOY_MEMORY] = mb;
    return 0;
}

static int add_queue(const struct room_cluster *c, struct deploy_queue *q)
{
    *q = (struct deploy_queue){
        .name = strdup(c->queue ? c->queue : "default"),
        .found = !c->no_queue,
        .leaf = !c->parent,
        .running = !c->stopped,
        .may_submit = !c->forbidden,
        .may_come = c->may_come,
        .used = { { c->queue_used_mb } },
        .shares = calloc(2, sizeof(struct deploy_share)),
        .default_label = strdup(""),
    };
    if (!q->name || !q->shares || !q->default_label || strs_add(&q->others, "default") < 0 ||
        strs_add(&q->others, "prod") < 0 || add_share(q, "", c->queue_mb) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < COUNT_OF(c->may_use) && c->may_use[i]; i++)
        if (strs_add(&q->labels, c->may_use[i]) < 0)
            return -ENOMEM;
    return c->queue_label_mb ? add_share(q, c->labels[0], c->queue_label_mb) : 0;
}

int room_cluster(const struct room_cluster *c, struct deploy_facts *f)
{
    *f = (struct deploy_facts){ 0 };
    f->user = strdup("alice");
    f->counts_cores = !c->ignores_cores;
    f->least.v[DEPLOY_MEMORY] = c->step ? c->step : 64;
    f->least.v[DEPLOY_CORES] = 1;
    f->step = f->least;
    if (!f->user || add_types(c, f) < 0 || add_nodes(c, f) < 0 || add_labels(c, f) < 0 ||
        add_queue(c, &f->queue) < 0)
        return -ENOMEM;
    if (c->most_mb)
        f->largest.v[DEPLOY_MEMORY] = c->most_mb;
    return 0;
}
