/* doctor_rm.c - the ResourceManagers, their nodes, and the queue. */
#include "base/str.h"
#include "cmd/cluster/cluster.h"
#include "cmd/doctor/doctor_probe.h"
#include "hadoop/ha.pb-c.h"
#include "launch/capacity/cluster_facts.h"

#include <string.h>

static const struct rpc_protocol client_protocol = {
    .name = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
    .title = "ResourceManager",
};
static const struct rpc_method get_metrics = {
    .name = "getClusterMetrics",
    .request = &yarn__get_cluster_metrics_request__descriptor,
    .response = &yarn__get_cluster_metrics_response__descriptor,
};
static const struct rpc_protocol admin_protocol = {
    .name = "org.apache.hadoop.ha.HAServiceProtocol",
    .title = "ResourceManager's administration",
};
static const struct rpc_method get_status = {
    .name = "getServiceStatus",
    .request = &ha__get_service_status_request__descriptor,
    .response = &ha__get_service_status_response__descriptor,
};

/* ---- who is there ---- */

/* A standby does not open its clients' port, but that for administrators, where it answers even
 * those it refuses. */
static bool stands_by(struct doctor *d, size_t i)
{
    Ha__GetServiceStatusRequest request = HA__GET_SERVICE_STATUS_REQUEST__INIT;
    AUTO_RPC Ha__GetServiceStatusResponse *answer = NULL;
    AUTO_RPC_SERVICE *s = NULL;
    AUTO_HOSTS hosts = { 0 };
    struct err err = ERR_INIT;
    struct hosts one;
    int r = conf_resourcemanagers(session_conf(d->x->session), RM_ADMIN, &hosts, &err);

    if (r < 0 || i >= hosts.n)
        return false;
    one = (struct hosts){ .v = &hosts.v[i], .n = 1 };
    r = session_service(d->x->session, &admin_protocol, &one, NULL, &s, &err);
    if (r == 0)
        r = rpc_call(s, &get_status, &request, &answer, 0, &err);
    return r == 0 ? answer->state == HA__SERVICE_STATE__STATE_STANDBY : r == -EACCES;
}

void check_rm(struct doctor *d)
{
    Yarn__GetClusterMetricsRequest request = YARN__GET_CLUSTER_METRICS_REQUEST__INIT;
    struct probe p = { .protocol = &client_protocol,
                       .method = &get_metrics,
                       .request = &request,
                       .stands_by = stands_by };
    AUTO_HOSTS hosts = { 0 };
    struct err err = ERR_INIT;
    int r = conf_resourcemanagers(session_conf(d->x->session), RM_CLIENT, &hosts, &err);

    if (r < 0)
        doctor_error(d, LEVEL_FAILED, r, &err, NULL);
    else if (probe_hosts(d, &p, &hosts))
        d->have |= NEED_RM;
}

/* ---- nodes ---- */

void check_nodes(struct doctor *d)
{
    AUTO_RPC Yarn__GetClusterMetricsResponse *answer = NULL;
    AUTO_YARN_CLIENT *c = NULL;
    const Yarn__ClusterMetrics *m;
    struct err err = ERR_INIT;
    int r = yarn_client_new(d->x->session, &c, &err);

    if (r == 0)
        r = yarn_metrics(c, &answer, &err);
    if (r != 0) {
        doctor_error(d, LEVEL_FAILED, r, &err, NULL);
        return;
    }
    m = answer->metrics;
    if (m->num_active_nms <= 0)
        doctor_say(d, LEVEL_FAILED, "are the NodeManagers running? If not, see their logs",
                   "no node is running");
    else if (m->num_lost_nms > 0 || m->num_unhealthy_nms > 0)
        doctor_say(d, LEVEL_WARNING, "show which ones, and why: ydl cluster nodes",
                   "%d running, %d lost, %d unhealthy", (int)m->num_active_nms,
                   (int)m->num_lost_nms, (int)m->num_unhealthy_nms);
    else
        doctor_say(d, LEVEL_OK, NULL, "%d running", (int)m->num_active_nms);
}

/* ---- the queue ---- */

/* What the checks of a queue share. */
struct queue {
    struct doctor *d;
    struct yarn_client *yarn;
    struct yarn_queue *q;
    int64_t least_mb; /* the smallest container */
};

static int look_at_state(struct queue *x, struct err *err)
{
    const Yarn__QueueInfo *i = x->q->info;

    if (!i->has_state || i->state == YARN__QUEUE_STATE__QUEUE_RUNNING)
        return 0;
    err_set(err, -EAGAIN, "the queue '%s' takes no applications: it is stopped", i->queue_name);
    err_hint(err, "choose one that 'ydl cluster queues' lists, or ask the administrator");
    return -EAGAIN;
}

/* "prod" of "root.prod". */
static int look_at_rights(struct queue *x, struct err *err)
{
    AUTO_RPC Yarn__GetQueueUserAclsInfoResponse *answer = NULL;
    bool known = false, submit = false;
    int r = yarn_queue_acls(x->yarn, &answer, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < answer->n_queues; i++) {
        const Yarn__QueueUserAclInfo *q = answer->queues[i];

        if (strcmp(str_behind(q->queue_name, '.'), str_behind(x->d->queue, '.')) != 0)
            continue;
        known = true;
        for (size_t j = 0; j < q->n_user_acls; j++)
            submit |= q->user_acls[j] == YARN__QUEUE_ACL__QUEUE_SUBMIT;
    }
    if (!known || submit)
        return 0;
    err_set(err, -EACCES, "%s may not submit applications to the queue '%s'",
            session_user(x->d->x->session), x->d->queue);
    err_hint(err,
             "choose one that 'ydl cluster queues' lists, or ask the administrator for permission");
    return -EACCES;
}

/* The most memory that is free on one node. */
static int64_t most_free(const struct deploy_facts *f)
{
    int64_t most = 0;

    for (size_t i = 0; i < f->n_nodes; i++) {
        const struct deploy_node *n = &f->nodes[i];
        int64_t mb = n->total.v[DEPLOY_MEMORY] - n->used.v[DEPLOY_MEMORY];

        if (n->running && mb > most && n->total.v[DEPLOY_CORES] > n->used.v[DEPLOY_CORES])
            most = mb;
    }
    return most;
}

/* How much more the queue may take of nodes without a label. What YARN calls available is not it: a
 * queue may take more than its own share, and the fair scheduler says 0 of an idle one. */
static int64_t check_queue_left(const struct deploy_queue *q)
{
    const struct deploy_share *s = deploy_share(q, "");

    return s && s->limited ? s->most.v[DEPLOY_MEMORY] - q->used.v[DEPLOY_MEMORY] : INT64_MAX;
}

/* As a submit sees it. */
static int look_at_room(struct queue *x, struct err *err)
{
    AUTO_DEPLOY_FACTS f = { 0 };
    int64_t free_mb;
    int r = deploy_facts_get(x->yarn, x->d->x->session, x->d->queue, &f, err);

    if (r < 0)
        return r;
    free_mb = most_free(&f);
    if (check_queue_left(&f.queue) < x->least_mb)
        doctor_say(x->d, LEVEL_WARNING, "applications wait until others in the queue have ended",
                   "'%s' runs, but is full: it has no room for a container of %lld MB", x->d->queue,
                   (long long)x->least_mb);
    else if (free_mb < x->least_mb)
        doctor_say(x->d, LEVEL_WARNING, "applications wait until others have ended",
                   "'%s' runs, but no node has room for a container of %lld MB now", x->d->queue,
                   (long long)x->least_mb);
    else
        doctor_say(x->d, LEVEL_OK, NULL, "'%s' runs and has room; the largest gap is %lld MB",
                   x->d->queue, (long long)free_mb);
    return 0;
}

void check_queue(struct doctor *d)
{
    struct queue x = { .d = d, .least_mb = 1024 };
    struct cluster k = { .x = d->x };
    struct err err = ERR_INIT;
    int r = yarn_client_new(d->x->session, &x.yarn, &err);

    (void)conf_int(session_conf(d->x->session), "yarn.scheduler.minimum-allocation-mb", &x.least_mb,
                   NULL);
    k.yarn = x.yarn;
    if (r == 0)
        r = cluster_check_queue(&k, d->queue, true, &err);
    if (r == 0)
        r = yarn_queue(x.yarn, d->queue, false, &x.q, &err);
    if (r == 0)
        r = look_at_state(&x, &err);
    if (r == 0)
        r = look_at_rights(&x, &err);
    if (r == 0)
        r = look_at_room(&x, &err);
    if (r < 0)
        doctor_error(d, LEVEL_FAILED, r, &err, NULL);
    yarn_queue_free(x.q);
    yarn_client_free(x.yarn);
}
