/* cluster_facts.c - see cluster_facts.h. The cluster as a whole; its queue is in
 * cluster_facts_queue.c. */
#include "base/path.h"
#include "hadoop/session/session.h"
#include "launch/capacity/cluster_facts_private.h"
#include "loop/fiber.h"

#include <string.h>

#define SCHEDULER_FILE "capacity-scheduler.xml"
#define SCHEDULER_MAX (4 * MIB)

/* ---- life ---- */

static void cluster_facts_node_done(struct deploy_node *n)
{
    free(n->host);
    free(n->rack);
    free(n->label);
}

void deploy_facts_done(struct deploy_facts *f)
{
    for (size_t i = 0; i < f->n_nodes; i++)
        cluster_facts_node_done(&f->nodes[i]);
    for (size_t i = 0; i < f->n_labels; i++)
        free(f->labels[i].name);
    free(f->nodes);
    free(f->labels);
    free(f->user);
    strs_done(&f->types);
    facts_queue_done(&f->queue);
    *f = (struct deploy_facts){ 0 };
}

int deploy_type(const struct deploy_facts *f, const char *name)
{
    for (size_t i = 0; i < f->types.n; i++)
        if (str_eq(f->types.v[i], name))
            return (int)i;
    return -1;
}

const struct deploy_share *deploy_share(const struct deploy_queue *q, const char *label)
{
    for (size_t i = 0; i < q->n_shares; i++)
        if (str_eq(q->shares[i].label, label))
            return &q->shares[i];
    return NULL;
}

static int64_t facts_bounded(int64_t v)
{
    return v < 0 ? 0 : v > DEPLOY_MOST ? DEPLOY_MOST : v;
}

struct deploy_size facts_size(const struct deploy_facts *f, const Yarn__Resource *r)
{
    struct deploy_size s = { { [DEPLOY_MEMORY] = facts_bounded(yarn_memory(r)),
                               [DEPLOY_CORES] = facts_bounded(yarn_vcores(r)) } };

    for (size_t i = DEPLOY_CORES + 1; i < f->types.n; i++)
        s.v[i] = facts_bounded(yarn_amount_of(r, f->types.v[i]));
    return s;
}

/* ---- types, nodes, labels ---- */

/* Memory and cores first, whatever order the RM has. */
static int read_types(const Yarn__GetAllResourceTypeInfoResponse *answer, struct deploy_facts *f,
                      struct err *err)
{
    if (strs_add(&f->types, "memory-mb") < 0 || strs_add(&f->types, "vcores") < 0)
        return err_oom(err);
    for (size_t i = 0; i < answer->n_types; i++) {
        const char *name = answer->types[i]->name;

        if (strs_has(&f->types, name))
            continue;
        if (f->types.n == DEPLOY_TYPES)
            f->more_types = true;
        else if (strs_add(&f->types, name) < 0)
            return err_oom(err);
    }
    return 0;
}

static int facts_add_node(struct deploy_facts *f, const Yarn__NodeReport *m, struct err *err)
{
    struct deploy_node *n = &f->nodes[f->n_nodes++];

    n->host = strdup(m->node_id ? m->node_id->host : "");
    n->rack = strdup(m->rack_name);
    n->label = strdup(m->n_labels ? m->labels[0] : "");
    n->port = m->node_id ? m->node_id->port : 0;
    n->running = m->state == YARN__NODE_STATE__NODE_RUNNING;
    n->total = facts_size(f, m->capability);
    n->used = facts_size(f, m->used);
    return n->host && n->rack && n->label ? 0 : err_oom(err);
}

static int facts_read_nodes(const Yarn__GetClusterNodesResponse *answer, struct deploy_facts *f,
                            struct err *err)
{
    int r = 0;

    f->nodes = calloc(answer->n_nodes + 1, sizeof(*f->nodes));
    if (!f->nodes)
        return err_oom(err);
    for (size_t i = 0; i < answer->n_nodes && r == 0; i++)
        r = facts_add_node(f, answer->nodes[i], err);
    return r;
}

static int read_labels(const Yarn__GetClusterNodeLabelsResponse *answer, struct deploy_facts *f,
                       struct err *err)
{
    f->labels = calloc(answer->n_labels + 1, sizeof(*f->labels));
    if (!f->labels)
        return err_oom(err);
    for (size_t i = 0; i < answer->n_labels; i++) {
        struct deploy_label *l = &f->labels[f->n_labels];

        if (!*answer->labels[i]->name)
            continue;
        l->name = strdup(answer->labels[i]->name);
        l->exclusive = answer->labels[i]->exclusive;
        if (!l->name)
            return err_oom(err);
        f->n_labels++;
    }
    return 0;
}

/* ---- what the RM does not tell ---- */

/* The calculator that a capacity-scheduler.xml beside the configuration names. Most clients have
 * none, and a broken one is not our business. */
static bool file_says_dominant(const struct conf *conf)
{
    AUTO_FREE char *path = str_printf("%s/%s", conf_dir(conf), SCHEDULER_FILE);
    AUTO_FREE char *name = NULL;
    AUTO_BUF text = { .max = SCHEDULER_MAX };
    AUTO_CONF *file = NULL;

    if (!*conf_dir(conf) || !path || path_read(path, &text, NULL) < 0 || text.len == 0 ||
        conf_parse(SCHEDULER_FILE, text.data, text.len, &file, NULL) < 0 ||
        conf_str(file, "yarn.scheduler.capacity.resource-calculator", &name, NULL) < 0)
        return false;
    return name && strstr(name, "Dominant");
}

static bool is_fair(const struct conf *conf)
{
    AUTO_FREE char *name = NULL;

    return conf_str(conf, "yarn.resourcemanager.scheduler.class", &name, NULL) == 0 && name &&
           strstr(name, "FairScheduler");
}

static int64_t at_least(const struct conf *conf, const char *key)
{
    int64_t v = 1;

    return conf_int(conf, key, &v, NULL) < 0 || v < 1 ? 1 : facts_bounded(v);
}

/* The capacity scheduler rounds up to multiples of its minimum; the fair one has an increment of
 * its own. It also counts every resource always. */
static void guess_scheduler(const struct conf *conf, struct deploy_facts *f)
{
    bool fair = is_fair(conf);

    f->counts_cores =
        fair || f->types.n > DEPLOY_CORES + 1 || f->more_types || file_says_dominant(conf);
    f->queue.may_come |= fair;
    f->queue.silent = fair && f->queue.found && f->queue.n_shares == 0;
    f->least.v[DEPLOY_MEMORY] = at_least(conf, "yarn.scheduler.minimum-allocation-mb");
    f->least.v[DEPLOY_CORES] = at_least(conf, "yarn.scheduler.minimum-allocation-vcores");
    f->step = f->least;
    if (fair)
        f->step.v[DEPLOY_MEMORY] = f->step.v[DEPLOY_CORES] = 1;
}

/* ---- asking ----
 * All at the same time: a submit is mostly waiting for answers. */

struct answers {
    struct yarn_client *client;
    const char *queue;
    Yarn__GetAllResourceTypeInfoResponse *types;
    Yarn__GetClusterNodesResponse *nodes;
    Yarn__GetClusterNodeLabelsResponse *labels;
    Yarn__GetNewApplicationResponse *fresh;
    struct facts_queue_answers of_queue;
};

#define ASK(name, call)                                                                            \
    static int name(void *arg, struct err *err)                                                    \
    {                                                                                              \
        struct answers *a = arg;                                                                   \
        return call;                                                                               \
    }
ASK(ask_types, yarn_resource_types(a->client, &a->types, err))
ASK(ask_nodes, yarn_nodes(a->client, NULL, 0, &a->nodes, err))
ASK(ask_labels, yarn_labels(a->client, &a->labels, err))
ASK(ask_queue, facts_queue_ask(a->client, a->queue, &a->of_queue, err))
ASK(ask_acls, yarn_queue_acls(a->client, &a->of_queue.acls, err))
ASK(ask_fresh, yarn_new_application(a->client, &a->fresh, err))

/* The new application's id is among the answers, because the same answer has the largest container
 * that the cluster gives. */
static int facts_ask(struct loop *l, struct answers *a, struct err *err)
{
    static int (*const asks[])(void *, struct err *) = { ask_types, ask_nodes, ask_labels,
                                                         ask_queue, ask_acls,  ask_fresh };

    return group_all(l, asks, COUNT_OF(asks), a, err);
}

static int facts_read(const struct answers *a, struct deploy_facts *f, struct err *err)
{
    int r = read_types(a->types, f, err); /* before all that has sizes in it */

    if (r == 0)
        r = facts_read_nodes(a->nodes, f, err);
    if (r == 0)
        r = read_labels(a->labels, f, err);
    if (r == 0)
        r = facts_queue(a->client, a->queue, &a->of_queue, f, err);
    if (r < 0)
        return r;
    f->app = yarn_app_id_of(a->fresh->application_id);
    f->largest = facts_size(f, a->fresh->maximum_capability);
    return 0;
}

static int facts_get(struct loop *l, struct answers *a, struct deploy_facts *f, struct err *err)
{
    int r = facts_ask(l, a, err);

    if (r == 0)
        r = facts_read(a, f, err);
    a->types = rpc_free(a->types);
    a->nodes = rpc_free(a->nodes);
    a->labels = rpc_free(a->labels);
    a->fresh = rpc_free(a->fresh);
    facts_queue_answers_done(&a->of_queue);
    return r;
}

int deploy_facts_get(struct yarn_client *c, struct session *s, const char *queue,
                     struct deploy_facts *ret, struct err *err)
{
    struct answers a = { .client = c, .queue = queue ? queue : "default" };
    AUTO_DEPLOY_FACTS f = { 0 };
    int r = session_find_user(s, err);

    if (r < 0)
        return r;
    f.user = strdup(session_user(s));
    if (!f.user)
        return err_oom(err);
    r = facts_get(session_loop(s), &a, &f, err);
    if (r < 0)
        return r;
    guess_scheduler(session_conf(s), &f);
    *ret = f;
    f = (struct deploy_facts){ 0 };
    return 0;
}
