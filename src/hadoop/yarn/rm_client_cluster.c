/* rm_client_cluster.c - what the ResourceManager says of the whole cluster: applications, nodes,
 * labels, rights in queues. Older releases lack some of these calls or fields; where the meaning is
 * clear an answer is made up, so that callers need not know. See rm_client.h. */
#include "base/str.h"
#include "hadoop/yarn/message.h"
#include "hadoop/yarn/rm_client_private.h"

#include <ctype.h>
#include <string.h>

/* clang-format off */
static const struct rpc_method
    get_apps       = METHOD("getApplications", get_applications, RPC_IDEMPOTENT),
    get_nodes      = METHOD("getClusterNodes", get_cluster_nodes, RPC_IDEMPOTENT),
    get_metrics    = METHOD("getClusterMetrics", get_cluster_metrics, RPC_IDEMPOTENT),
    get_types      = METHOD("getResourceTypeInfo", get_all_resource_type_info, RPC_IDEMPOTENT),
    get_labels     = METHOD("getClusterNodeLabels", get_cluster_node_labels, RPC_IDEMPOTENT),
    get_queue_acls = METHOD("getQueueUserAcls", get_queue_user_acls_info, RPC_IDEMPOTENT);
/* clang-format on */

/* Tags are kept in lower case, so only lower case finds them. */
static int lower_tags(const struct yarn_filter *f, struct strs *ret)
{
    for (size_t i = 0; i < f->n_tags; i++) {
        if (strs_add(ret, f->tags[i]) < 0)
            return -ENOMEM;
        for (char *p = ret->v[i]; *p; p++)
            *p = (char)tolower((unsigned char)*p);
    }
    return 0;
}

int yarn_list(struct yarn_client *c, const struct yarn_filter *f,
              Yarn__GetApplicationsResponse **ret, struct err *err)
{
    Yarn__GetApplicationsRequest m = YARN__GET_APPLICATIONS_REQUEST__INIT;
    AUTO_STRS tags = { 0 };

    if (lower_tags(f, &tags) < 0)
        return err_oom(err);
    m.types = (void *)f->types;
    m.n_types = f->n_types;
    m.users = (void *)f->users;
    m.n_users = f->n_users;
    m.queues = (void *)f->queues;
    m.n_queues = f->n_queues;
    m.tags = (void *)tags.v;
    m.n_tags = tags.n;
    m.states = (Yarn__ApplicationState *)f->states;
    m.n_states = f->n_states;
    m.name = f->name;
    m.has_scope = f->own;
    m.scope = f->own ? YARN__APPLICATIONS_SCOPE__SCOPE_OWN : YARN__APPLICATIONS_SCOPE__SCOPE_ALL;
    return rpc_call(c->service, &get_apps, &m, ret, 0, err);
}

int yarn_nodes(struct yarn_client *c, const Yarn__NodeState *states, size_t n,
               Yarn__GetClusterNodesResponse **ret, struct err *err)
{
    Yarn__GetClusterNodesRequest m = YARN__GET_CLUSTER_NODES_REQUEST__INIT;

    m.states = (Yarn__NodeState *)states;
    m.n_states = n;
    return rpc_call(c->service, &get_nodes, &m, ret, 0, err);
}

int yarn_metrics(struct yarn_client *c, Yarn__GetClusterMetricsResponse **ret, struct err *err)
{
    Yarn__GetClusterMetricsRequest m = YARN__GET_CLUSTER_METRICS_REQUEST__INIT;
    AUTO_RPC Yarn__GetClusterMetricsResponse *answer = NULL;
    int r = rpc_call(c->service, &get_metrics, &m, &answer, 0, err);

    if (r < 0)
        return r;
    if (!answer->metrics)
        return err_set(err, -EPROTO, "the ResourceManager answered without its metrics");
    if (!answer->metrics->has_num_active_nms) { /* before 2.8 there was no other number */
        answer->metrics->has_num_active_nms = true;
        answer->metrics->num_active_nms = answer->metrics->num_node_managers;
    }
    *ret = take(answer);
    return 0;
}

int yarn_resource_types(struct yarn_client *c, Yarn__GetAllResourceTypeInfoResponse **ret,
                        struct err *err)
{
    Yarn__GetAllResourceTypeInfoRequest m = YARN__GET_ALL_RESOURCE_TYPE_INFO_REQUEST__INIT;
    struct err local = ERR_INIT;
    int r = rpc_call(c->service, &get_types, &m, ret, 0, &local);

    if (r < 0 && local.detail == RPC_EX_NO_SUCH_METHOD) {
        /* Before 2.10 there are memory and cores, and nobody has to say so. */
        *ret = MESSAGE_NEW(yarn__get_all_resource_type_info_response);
        return *ret ? 0 : err_oom(err);
    }
    if (r < 0 && err)
        *err = local;
    return r;
}

int yarn_labels(struct yarn_client *c, Yarn__GetClusterNodeLabelsResponse **ret, struct err *err)
{
    Yarn__GetClusterNodeLabelsRequest m = YARN__GET_CLUSTER_NODE_LABELS_REQUEST__INIT;

    return rpc_call(c->service, &get_labels, &m, ret, 0, err);
}

int yarn_queue_acls(struct yarn_client *c, Yarn__GetQueueUserAclsInfoResponse **ret,
                    struct err *err)
{
    Yarn__GetQueueUserAclsInfoRequest m = YARN__GET_QUEUE_USER_ACLS_INFO_REQUEST__INIT;

    return rpc_call(c->service, &get_queue_acls, &m, ret, 0, err);
}
