/* nm.c - the calls to a NodeManager: start, stop and look at containers. One call carries many
 * containers, and each of them has its own result: what the answer does not mention has failed. See
 * nm.h. */
#include "base/auto.h"
#include "hadoop/yarn/method.h"
#include "hadoop/yarn/nm_private.h"
#include "hadoop/yarn/records.h"

#include <string.h>

/* clang-format off */
static const struct rpc_method
    /* Starting is repeated after a lost answer: the NodeManager refuses a second start of the same
     * container, and forgive_repeats() reads that refusal as success. */
    start = METHOD("startContainers", start_containers, RPC_IDEMPOTENT),
    stop  = METHOD("stopContainers", stop_containers, RPC_IDEMPOTENT),
    look  = METHOD("getContainerStatuses", get_container_statuses, RPC_IDEMPOTENT);
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

/* "Good" of a start says that the NodeManager took it on. It downloads files and runs the command
 * later, and what goes wrong then comes as the container's end, through the RM. */
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

/* ---- start, stop ---- */

/* A connection may break between a start and its answer; then it is sent again, and this is how
 * the NodeManager says that the first one worked. */
static void forgive_repeats(struct nm_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].err.code && (strstr(items[i].err.text, "Attempt to relaunch the same") ||
                                  strstr(items[i].err.text, "already is running on this node")))
            err_clear(&items[i].err);
}

/* The token of each container is what the RM gave, byte for byte: it is signed, names the node and
 * the RM that made it, can be used once, and expires after 10 minutes by the node's clock. */
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

int nm_stop(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
            struct err *err)
{
    Yarn__StopContainersRequest request = YARN__STOP_CONTAINERS_REQUEST__INIT;
    AUTO_RPC Yarn__StopContainersResponse *answer = NULL;
    AUTO_FREE struct yarn_id_message *ids = calloc(n, sizeof(*ids));
    AUTO_FREE Yarn__ContainerId **list = calloc(n, sizeof(*list));
    struct nm_call call = { &stop, &request };
    int r;

    if (!ids || !list)
        return err_oom(err);
    for (size_t i = 0; i < n; i++)
        list[i] = yarn_container_id_message(&ids[i], items[i].id);
    request.container_ids = list;
    request.n_container_ids = n;
    expect(items, n);
    r = nm_pool_call(p, at, &call, &answer, err);
    if (r < 0)
        return r;
    note_good(items, n, answer->succeeded, answer->n_succeeded);
    note_bad(items, n, answer->failed, answer->n_failed);
    return 0;
}

/* ---- look ---- */

/* NodeManagers forget a container some time after it has ended. */
static void note_forgotten(struct nm_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].err.code && (strstr(items[i].err.text, "is not handled by this NodeManager") ||
                                  strstr(items[i].err.text, "was recently stopped"))) {
            err_clear(&items[i].err);
            items[i].ended = true;
        }
}

static void note_states(struct nm_item *items, size_t n, Yarn__ContainerStatus *const *states,
                        size_t n_states)
{
    for (size_t i = 0; i < n_states; i++) {
        struct nm_item *item = item_of(items, n, states[i]->container_id);

        if (!item)
            continue;
        err_clear(&item->err);
        item->ended =
            states[i]->has_state && states[i]->state == YARN__CONTAINER_STATE__CONTAINER_COMPLETE;
    }
}

int nm_look(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
            struct err *err)
{
    Yarn__GetContainerStatusesRequest request = YARN__GET_CONTAINER_STATUSES_REQUEST__INIT;
    AUTO_RPC Yarn__GetContainerStatusesResponse *answer = NULL;
    AUTO_FREE struct yarn_id_message *ids = calloc(n, sizeof(*ids));
    AUTO_FREE Yarn__ContainerId **list = calloc(n, sizeof(*list));
    struct nm_call call = { &look, &request };
    int r;

    if (!ids || !list)
        return err_oom(err);
    for (size_t i = 0; i < n; i++) {
        list[i] = yarn_container_id_message(&ids[i], items[i].id);
        items[i].ended = false;
    }
    request.container_ids = list;
    request.n_container_ids = n;
    expect(items, n);
    r = nm_pool_call(p, at, &call, &answer, err);
    if (r < 0)
        return r;
    note_states(items, n, answer->states, answer->n_states);
    note_bad(items, n, answer->failed, answer->n_failed);
    note_forgotten(items, n);
    return 0;
}
