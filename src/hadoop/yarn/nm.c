/* nm.c - the calls to a NodeManager: start, stop, change, look at, signal containers. One call
 * carries many containers, and each of them has its own result: what the answer does not mention
 * has failed. See nm.h. */
#include "base/auto.h"
#include "hadoop/yarn/method.h"
#include "hadoop/yarn/nm_private.h"
#include "hadoop/yarn/records.h"

#include <string.h>

/* clang-format off */
static const struct rpc_method
    /* Starting is repeated after a lost answer: the NodeManager refuses a second start of the same
     * container, and forgive_repeats() reads that refusal as success. */
    start        = METHOD("startContainers", start_containers, RPC_IDEMPOTENT),
    stop         = METHOD("stopContainers", stop_containers, RPC_IDEMPOTENT),
    update       = METHOD("updateContainer", container_update, RPC_IDEMPOTENT),
    statuses     = METHOD("getContainerStatuses", get_container_statuses, RPC_IDEMPOTENT),
    send_signal  = METHOD("signalToContainer", signal_container, RPC_ONCE),
    reinitialize = METHOD("reInitializeContainer", re_initialize_container, RPC_ONCE),
    localize     = METHOD("localize", resource_localization, RPC_IDEMPOTENT);

static const struct rpc_method actions[NM_ACTIONS_] = {
    [NM_RESTART]  = METHOD2("restartContainer", container_id, restart_container_response, RPC_ONCE),
    [NM_ROLLBACK] = METHOD2("rollbackLastReInitialization", container_id, rollback_response, RPC_ONCE),
    [NM_COMMIT]   = METHOD2("commitLastReInitialization", container_id, commit_response, RPC_ONCE),
};
/* clang-format on */

/* ---- what became of each ---- */

static struct nm_item *item_of(struct nm_item *items, size_t n, const Yarn__ContainerId *m)
{
    struct yarn_container_id id = yarn_container_id_of(m);

    for (size_t i = 0; i < n; i++)
        if (yarn_container_id_cmp(items[i].id, id) == 0)
            return &items[i];
    return NULL;
}

/* Until the answer says something of a container, nothing is known of it. */
static void expect(struct nm_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        err_clear(&items[i].err);
        err_set(&items[i].err, -EPROTO, "the NodeManager said nothing about this container");
    }
}

static void note_good(struct nm_item *items, size_t n, Yarn__ContainerId *const *ids, size_t n_ids)
{
    for (size_t i = 0; i < n_ids; i++) {
        struct nm_item *item = item_of(items, n, ids[i]);

        if (item)
            err_clear(&item->err);
    }
}

static void note_bad(struct nm_item *items, size_t n, Yarn__ContainerException *const *failed,
                     size_t n_failed)
{
    for (size_t i = 0; i < n_failed; i++) {
        struct nm_item *item = item_of(items, n, failed[i]->container_id);

        if (!item)
            continue;
        err_clear(&item->err);
        (void)yarn_exception_err(failed[i]->exception, &item->err);
    }
}

/* ---- start, stop, update, statuses ---- */

/* A connection may break between a start and its answer; then it is sent again, and this is how
 * the NodeManager says that the first one worked. */
static void forgive_repeats(struct nm_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].err.code && (strstr(items[i].err.text, "Attempt to relaunch the same") ||
                                  strstr(items[i].err.text, "already is running on this node")))
            err_clear(&items[i].err);
}

int nm_start(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
             struct err *err)
{
    Yarn__StartContainersRequest request = YARN__START_CONTAINERS_REQUEST__INIT;
    AUTO_FREE Yarn__StartContainerRequest *rows = calloc(n, sizeof(*rows));
    AUTO_FREE Yarn__StartContainerRequest **list = calloc(n, sizeof(*list));
    AUTO_RPC Yarn__StartContainersResponse *answer = NULL;
    struct nm_call call = { &start, &request };
    int r;

    if (!rows || !list)
        return err_oom(err);
    for (size_t i = 0; i < n; i++) {
        rows[i] = (Yarn__StartContainerRequest)YARN__START_CONTAINER_REQUEST__INIT;
        rows[i].launch_context = (Yarn__ContainerLaunchContext *)items[i].launch;
        rows[i].container_token = (Hadoop__Token *)items[i].token;
        list[i] = &rows[i];
    }
    request.requests = list;
    request.n_requests = n;
    expect(items, n);
    r = nm_pool_call(p, at, &call, &answer, err);
    if (r < 0)
        return r;
    note_good(items, n, answer->succeeded, answer->n_succeeded);
    note_bad(items, n, answer->failed, answer->n_failed);
    forgive_repeats(items, n);
    return 0;
}

/* Ids for a request: storage for `n` of them, in one block that the caller frees. */
struct id_list {
    Yarn__ContainerId **v;
    struct yarn_id_message *messages;
};

static int id_list(const struct nm_item *items, size_t n, struct id_list *ret, struct err *err)
{
    ret->messages = calloc(n, sizeof(*ret->messages));
    ret->v = calloc(n, sizeof(*ret->v));
    if (!ret->messages || !ret->v)
        return err_oom(err);
    for (size_t i = 0; i < n; i++)
        ret->v[i] = yarn_container_id_message(&ret->messages[i], items[i].id);
    return 0;
}

static void auto_id_list_(struct id_list *l)
{
    free(l->v);
    free(l->messages);
}

int nm_stop(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
            struct err *err)
{
    Yarn__StopContainersRequest request = YARN__STOP_CONTAINERS_REQUEST__INIT;
    AUTO_RPC Yarn__StopContainersResponse *answer = NULL;
    AUTO(id_list) struct id_list ids = { 0 };
    struct nm_call call = { &stop, &request };
    int r = id_list(items, n, &ids, err);

    if (r < 0)
        return r;
    request.container_ids = ids.v;
    request.n_container_ids = n;
    expect(items, n);
    r = nm_pool_call(p, at, &call, &answer, err);
    if (r < 0)
        return r;
    note_good(items, n, answer->succeeded, answer->n_succeeded);
    note_bad(items, n, answer->failed, answer->n_failed);
    return 0;
}

int nm_update(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
              struct err *err)
{
    Yarn__ContainerUpdateRequest request = YARN__CONTAINER_UPDATE_REQUEST__INIT;
    AUTO_FREE Hadoop__Token **tokens = calloc(n, sizeof(*tokens));
    AUTO_RPC Yarn__ContainerUpdateResponse *answer = NULL;
    struct nm_call call = { &update, &request };
    int r;

    if (!tokens)
        return err_oom(err);
    for (size_t i = 0; i < n; i++)
        tokens[i] = (Hadoop__Token *)items[i].token;
    request.tokens = tokens;
    request.n_tokens = n;
    expect(items, n);
    r = nm_pool_call(p, at, &call, &answer, err);
    if (r < 0)
        return r;
    note_good(items, n, answer->succeeded, answer->n_succeeded);
    note_bad(items, n, answer->failed, answer->n_failed);
    return 0;
}

int nm_statuses(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
                Yarn__GetContainerStatusesResponse **ret, struct err *err)
{
    Yarn__GetContainerStatusesRequest request = YARN__GET_CONTAINER_STATUSES_REQUEST__INIT;
    AUTO(id_list) struct id_list ids = { 0 };
    struct nm_call call = { &statuses, &request };
    int r = id_list(items, n, &ids, err);

    if (r < 0)
        return r;
    request.container_ids = ids.v;
    request.n_container_ids = n;
    expect(items, n);
    r = nm_pool_call(p, at, &call, ret, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < (*ret)->n_statuses; i++)
        note_good(items, n, &(*ret)->statuses[i]->container_id, 1);
    note_bad(items, n, (*ret)->failed, (*ret)->n_failed);
    return 0;
}

/* ---- one container ---- */

int nm_signal(struct nm_pool *p, const struct nm_at *at, struct yarn_container_id id,
              Yarn__SignalCommand command, struct err *err)
{
    Yarn__SignalContainerRequest request = YARN__SIGNAL_CONTAINER_REQUEST__INIT;
    AUTO_RPC Yarn__SignalContainerResponse *answer = NULL;
    struct nm_call call = { &send_signal, &request };
    struct yarn_id_message m;

    request.container_id = yarn_container_id_message(&m, id);
    request.command = command;
    return nm_pool_call(p, at, &call, &answer, err);
}

int nm_reinitialize(struct nm_pool *p, const struct nm_at *at, struct yarn_container_id id,
                    const Yarn__ContainerLaunchContext *launch, bool commit, struct err *err)
{
    Yarn__ReInitializeContainerRequest request = YARN__RE_INITIALIZE_CONTAINER_REQUEST__INIT;
    AUTO_RPC Yarn__ReInitializeContainerResponse *answer = NULL;
    struct nm_call call = { &reinitialize, &request };
    struct yarn_id_message m;

    request.container_id = yarn_container_id_message(&m, id);
    request.launch_context = (Yarn__ContainerLaunchContext *)launch;
    request.has_auto_commit = true;
    request.auto_commit = commit;
    return nm_pool_call(p, at, &call, &answer, err);
}

int nm_act(struct nm_pool *p, const struct nm_at *at, struct yarn_container_id id,
           enum nm_action action, struct err *err)
{
    AUTO_RPC ProtobufCMessage *answer = NULL;
    struct yarn_id_message m;
    struct nm_call call = { &actions[action], yarn_container_id_message(&m, id) };

    return nm_pool_call(p, at, &call, &answer, err);
}

int nm_localize(struct nm_pool *p, const struct nm_at *at, struct yarn_container_id id,
                Yarn__StringLocalResourceMap *file, struct err *err)
{
    Yarn__ResourceLocalizationRequest request = YARN__RESOURCE_LOCALIZATION_REQUEST__INIT;
    AUTO_RPC Yarn__ResourceLocalizationResponse *answer = NULL;
    struct nm_call call = { &localize, &request };
    struct yarn_id_message m;

    request.container_id = yarn_container_id_message(&m, id);
    request.local_resources = &file;
    request.n_local_resources = 1;
    return nm_pool_call(p, at, &call, &answer, err);
}
