/* facts.c - see facts.h. The cluster as a whole; its queue is in facts_queue.c. */
#include "base/path.h"
#include "deploy/facts_private.h"
#include "hadoop/session/session.h"

#include <string.h>

#define SCHEDULER_FILE "capacity-scheduler.xml"
#define SCHEDULER_MAX (4 * MIB)

/* ---- life ---- */

static void node_done(struct deploy_node *n)
{
    free(n->host);
    free(n->rack);
    free(n->label);
}

void deploy_facts_done(struct deploy_facts *f)
{
    for (size_t i = 0; i < f->n_nodes; i++)
        node_done(&f->nodes[i]);
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

static int64_t cut(int64_t v)
{
    return v < 0 ? 0 : v > DEPLOY_MOST ? DEPLOY_MOST : v;
}

struct deploy_size facts_size(const struct deploy_facts *f, const Yarn__Resource *r)
{
    struct deploy_size s = {
        { [DEPLOY_MEMORY] = cut(yarn_memory(r)), [DEPLOY_CORES] = cut(yarn_vcores(r)) }
    };

    for (size_t i = DEPLOY_CORES + 1; i < f->types.n; i++)
        s.v[i] = cut(yarn_amount_of(r, f->types.v[i]));
    return s;
}

/* ---- types, nodes, labels ---- */

/* Memory and cores first, whatever order the RM has. */
static int get_types(struct yarn_client *c, struct deploy_facts *f, struct err *err)
{
    AUTO_RPC Yarn__GetAllResourceTypeInfoResponse *answer = NULL;
    int r = yarn_resource_types(c, &answer, err);

    if (r < 0)
        return r;
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

static int add_node(struct deploy_facts *f, const Yarn__NodeReport *m, struct err *err)
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

static int get_nodes(struct yarn_client *c, struct deploy_facts *f, struct err *err)
{
    AUTO_RPC Yarn__GetClusterNodesResponse *answer = NULL;
    int r = yarn_nodes(c, NULL, 0, &answer, err);

    if (r < 0)
        return r;
    f->nodes = calloc(answer->n_nodes + 1, sizeof(*f->nodes));
    if (!f->nodes)
        return err_oom(err);
    for (size_t i = 0; i < answer->n_nodes && r == 0; i++)
        r = add_node(f, answer->nodes[i], err);
    return r;
}

static int get_labels(struct yarn_client *c, struct deploy_facts *f, struct err *err)
{
    AUTO_RPC Yarn__GetClusterNodeLabelsResponse *answer = NULL;
    int r = yarn_labels(c, &answer, err);

    if (r < 0)
        return r;
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

static int get_largest(struct yarn_client *c, struct deploy_facts *f, struct err *err)
{
    AUTO_RPC Yarn__GetNewApplicationResponse *answer = NULL;
    int r = yarn_new_application(c, &answer, err);

    if (r < 0)
        return r;
    f->app = yarn_app_id_of(answer->application_id);
    f->largest = facts_size(f, answer->maximum_capability);
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

    return conf_int(conf, key, &v, NULL) < 0 || v < 1 ? 1 : cut(v);
}

/* The capacity scheduler rounds up to multiples of its minimum; the fair one has an increment of
 * its own. It also counts every resource always. */
static void guess(const struct conf *conf, struct deploy_facts *f)
{
    bool fair = is_fair(conf);

    f->counts_cores =
        fair || f->types.n > DEPLOY_CORES + 1 || f->more_types || file_says_dominant(conf);
    f->queue.may_come |= fair;
    f->least.v[DEPLOY_MEMORY] = at_least(conf, "yarn.scheduler.minimum-allocation-mb");
    f->least.v[DEPLOY_CORES] = at_least(conf, "yarn.scheduler.minimum-allocation-vcores");
    f->step = f->least;
    if (fair)
        f->step.v[DEPLOY_MEMORY] = f->step.v[DEPLOY_CORES] = 1;
}

static int get(struct yarn_client *c, const char *queue, struct deploy_facts *f, struct err *err)
{
    int r = get_types(c, f, err); /* before all that has sizes in it */

    if (r == 0)
        r = get_nodes(c, f, err);
    if (r == 0)
        r = get_labels(c, f, err);
    if (r == 0)
        r = facts_queue(c, queue ? queue : "default", f, err);
    return r < 0 ? r : get_largest(c, f, err); /* last: it uses up an id */
}

int deploy_facts_get(struct yarn_client *c, struct session *s, const char *queue,
                     struct deploy_facts *ret, struct err *err)
{
    AUTO_DEPLOY_FACTS f = { 0 };
    int r = session_find_user(s, err);

    if (r < 0)
        return r;
    f.user = strdup(session_user(s));
    if (!f.user)
        return err_oom(err);
    r = get(c, queue, &f, err);
    if (r < 0)
        return r;
    guess(session_conf(s), &f);
    *ret = f;
    f = (struct deploy_facts){ 0 };
    return 0;
}
