/* cluster_facts_queue.c - the queue that a job is to go to; see cluster_facts.h */
#include "base/str.h"
#include "launch/capacity/cluster_facts_private.h"

#include <string.h>

#define OTHERS_MAX 4096 /* names kept for hints */

void facts_queue_done(struct deploy_queue *q)
{
    for (size_t i = 0; i < q->n_shares; i++)
        free(q->shares[i].label);
    free(q->shares);
    free(q->name);
    free(q->default_label);
    strs_done(&q->labels);
    strs_done(&q->others);
    *q = (struct deploy_queue){ 0 };
}

/* ---- what it may take ---- */

static struct deploy_size partition_total(const struct deploy_facts *f, const char *label)
{
    struct deploy_size sum = { { 0 } };

    for (size_t i = 0; i < f->n_nodes; i++)
        for (size_t t = 0; t < f->types.n; t++)
            if (f->nodes[i].running && str_eq(f->nodes[i].label, label))
                sum.v[t] += f->nodes[i].total.v[t];
    return sum;
}

/* A share of the partition; rounded up, for what is certainly too much is looked for. */
static struct deploy_size facts_part_of(const struct deploy_facts *f, const char *label,
                                        double share)
{
    struct deploy_size s = partition_total(f, label);

    for (size_t t = 0; t < f->types.n; t++) {
        double v = (double)s.v[t] * share + 1;

        s.v[t] = v < (double)DEPLOY_MOST ? (int64_t)v : DEPLOY_MOST;
    }
    return s;
}

static bool facts_is_share(bool has, float share)
{
    return has && share >= 0 && share <= 1;
}

static int read_share(const Yarn__QueueConfigurationsMap *m, struct deploy_facts *f,
                      struct err *err)
{
    const Yarn__QueueConfigurations *c = m->configurations;
    struct deploy_share *s = &f->queue.shares[f->queue.n_shares];

    s->label = strdup(m->partition);
    if (!s->label)
        return err_oom(err);
    f->queue.n_shares++;
    s->limited = true;
    /* What the RM works with, where it tells; else from its percentage. */
    if (c && c->effective_max_capacity && yarn_memory(c->effective_max_capacity) > 0)
        s->most = facts_size(f, c->effective_max_capacity);
    else if (c && facts_is_share(c->has_absolute_max_capacity, c->absolute_max_capacity))
        s->most = facts_part_of(f, s->label, (double)c->absolute_max_capacity);
    else
        s->limited = false;
    return 0;
}

/* The fair scheduler has no partitions, and says what is most since 3.4; of cores never, because
 * its release writes them into another field. */
static int read_fair_share(const Yarn__QueueInfo *i, struct deploy_facts *f, struct err *err)
{
    struct deploy_share *s = f->queue.shares;

    if (i->max_resource_memory <= 0)
        return 0;
    s->label = strdup("");
    if (!s->label)
        return err_oom(err);
    f->queue.n_shares = 1;
    s->limited = true;
    for (size_t t = 0; t < DEPLOY_TYPES; t++)
        s->most.v[t] = DEPLOY_MOST;
    s->most.v[DEPLOY_MEMORY] =
        i->max_resource_memory < DEPLOY_MOST ? i->max_resource_memory : DEPLOY_MOST;
    if (i->max_resource_vcore > 0)
        s->most.v[DEPLOY_CORES] = i->max_resource_vcore;
    return 0;
}

static int read_shares(const Yarn__QueueInfo *i, struct deploy_facts *f, struct err *err)
{
    int r = 0;

    f->queue.shares = calloc(i->n_configurations + 1, sizeof(*f->queue.shares));
    if (!f->queue.shares)
        return err_oom(err);
    for (size_t n = 0; n < i->n_configurations && r == 0; n++)
        r = read_share(i->configurations[n], f, err);
    if (r == 0 && i->n_configurations == 0)
        r = read_fair_share(i, f, err);
    return r;
}

int facts_queue_read(const struct yarn_queue *q, struct deploy_facts *f, struct err *err)
{
    const Yarn__QueueInfo *i = q->info;
    const Yarn__QueueStatistics *s = i->statistics;
    struct deploy_queue *out = &f->queue;

    out->found = true;
    out->leaf = q->n == 0;
    out->running = !i->has_state || i->state == YARN__QUEUE_STATE__QUEUE_RUNNING;
    if (s) {
        out->used.v[DEPLOY_MEMORY] = s->allocated_memory_mb > 0 ? s->allocated_memory_mb : 0;
        out->used.v[DEPLOY_CORES] = s->allocated_vcores > 0 ? s->allocated_vcores : 0;
    }
    out->default_label = strdup(i->default_node_label_expression);
    if (!out->default_label)
        return err_oom(err);
    for (size_t n = 0; n < i->n_accessible_node_labels; n++)
        if (strs_add(&out->labels, i->accessible_node_labels[n]) < 0)
            return err_oom(err);
    return read_shares(i, f, err);
}

/* ---- who may submit ---- */

/* By path where both are paths; releases before 3.4 tell the last part only. */
static bool same_queue(const char *a, const char *b)
{
    if (strchr(a, '.') && strchr(b, '.'))
        return str_eq(a, b);
    return str_eq(str_behind(a, '.'), str_behind(b, '.'));
}

int facts_may_submit(const Yarn__GetQueueUserAclsInfoResponse *acls, const char *name)
{
    int found = -1;

    for (size_t i = 0; i < acls->n_queues; i++) {
        const Yarn__QueueUserAclInfo *q = acls->queues[i];

        if (!same_queue(q->queue_name, name))
            continue;
        found = found < 0 ? 0 : found;
        for (size_t j = 0; j < q->n_user_acls; j++)
            if (q->user_acls[j] == YARN__QUEUE_ACL__QUEUE_SUBMIT)
                found = 1; /* of two queues with this name, one will do: it is not certain */
    }
    return found;
}

/* ---- others, for hints ---- */

static int add_leaves(const struct yarn_queue *q, struct strs *out)
{
    int r = 0;

    if (q->n == 0 && out->n < OTHERS_MAX)
        r = strs_add(out, q->info->queue_name);
    for (size_t i = 0; i < q->n && r == 0; i++)
        r = add_leaves(&q->children[i], out);
    return r;
}

static int get_others(struct yarn_client *c, struct deploy_queue *q, struct err *err)
{
    AUTO_YARN_QUEUE *root = NULL;
    int r = yarn_queue(c, NULL, true, &root, err);

    if (r < 0)
        return r;
    return add_leaves(root, &q->others) < 0 ? err_oom(err) : 0;
}

/* "root.users.alice" may be made by the scheduler when it is submitted to, if "root.users" is there
 * and set up for it, which nobody tells us. */
static int look_above(struct yarn_client *c, struct deploy_queue *q, struct err *err)
{
    AUTO_FREE char *above = strdup(q->name);
    AUTO_YARN_QUEUE *found = NULL;
    char *dot = above ? strrchr(above, '.') : NULL;
    int r;

    if (!above)
        return err_oom(err);
    if (!dot)
        return 0;
    *dot = '\0';
    if (str_eq(above, "root") || !*above)
        return 0;
    r = yarn_queue(c, above, false, &found, err);
    if (r == -ENOENT) {
        err_clear(err);
        return 0;
    }
    q->may_come = r == 0;
    return r;
}

int facts_queue_ask(struct yarn_client *c, const char *name, struct facts_queue_answers *a,
                    struct err *err)
{
    int r = yarn_queue(c, name, false, &a->queue, err);

    if (r != -ENOENT)
        return r;
    err_clear(err);
    return 0;
}

void facts_queue_answers_done(struct facts_queue_answers *a)
{
    a->queue = yarn_queue_free(a->queue);
    a->acls = rpc_free(a->acls);
}

/* The names of other queues are asked for only when this one cannot be used, as they are for the
 * hint: a cluster may have thousands. */
int facts_queue(struct yarn_client *c, const char *name, const struct facts_queue_answers *a,
                struct deploy_facts *f, struct err *err)
{
    struct deploy_queue *out = &f->queue;
    int r;

    out->name = strdup(name);
    if (!out->name)
        return err_oom(err);
    if (!a->queue) {
        r = look_above(c, out, err);
        return r < 0 ? r : get_others(c, out, err);
    }
    r = facts_queue_read(a->queue, f, err);
    if (r < 0)
        return r;
    out->may_submit = facts_may_submit(a->acls, name);
    if (out->leaf && out->running && out->may_submit != 0)
        return 0;
    return get_others(c, out, err);
}
