/* test_am_start.c - the test application master asks for containers and starts them; see
 * test_am.c. */
#include "hadoop/rpc/exception.h"
#include "hadoop/yarn/launch_context.h"
#include "test_am.h"

#include <string.h>

/* ---- asking ---- */

int ask_for(struct test *t, size_t i)
{
    struct ask_place place = { .host = i < TASKS ? t->hosts.v[i % 3] : NULL };
    struct ask ask = {
        .priority = i < TASKS / 2 ? 1 : 2,
        .id = (int64_t)i,
        .count = 1,
        .resource = { .memory_mb = 64, .vcores = 1 },
        .places = &place,
        .n_places = i < TASKS ? 1 : 0,
        .strict = true,
    };

    return amrm_ask(am_rm(t->am), &ask, &t->err);
}

/* ---- starting ---- */

static int launch_of(struct test *t, size_t i, Yarn__ContainerLaunchContext **ret)
{
    static const char script[] = "exec 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr\n"
                                 "echo \"$CONTAINER_ID $NM_HOST\" >\"$DIR/task-$TASK\"\n"
                                 "[ \"$TASK\" = 6 ] && exec sleep 600\n"
                                 "while [ ! -e \"$DIR/go\" ]; do sleep 0.1; done\n"
                                 "exit $TASK\n";
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = yarn_launch_new();
    char number[8];
    int r = c ? 0 : err_oom(&t->err);

    snprintf(number, sizeof(number), "%zu", i);
    if (r == 0)
        r = yarn_launch_env(c, "DIR", t->dir, &t->err);
    if (r == 0)
        r = yarn_launch_env(c, "TASK", number, &t->err);
    if (r == 0)
        r = yarn_launch_script(c, script, &t->err);
    if (r == 0)
        *ret = take(c);
    return r;
}

static bool waits_for_start(const struct task *k)
{
    return k->container && !k->started && !k->done;
}

static bool same_node(const Yarn__Container *a, const Yarn__Container *b)
{
    return a->node_id->port == b->node_id->port && str_eq(a->node_id->host, b->node_id->host);
}

/* What a call says of each: a container of the RM before the restart is void, and asked for anew.
 */
static int after_start(struct test *t, const struct nm_item *item, size_t i)
{
    struct task *k = &t->tasks[i];

    if (item->err.code == 0) {
        k->started = true;
        say(t, "started task=%zu", i);
        return 0;
    }
    say(t, "refused task=%zu why=%s", i, item->err.text);
    if (item->err.detail != RPC_EX_INVALID_CONTAINER) {
        t->err = item->err;
        return item->err.code;
    }
    (void)amrm_release(am_rm(t->am), item->id, NULL);
    k->container = message_free(k->container);
    return ask_for(t, i);
}

/* Starts all that were granted on the node of `first` with one call. */
static int start_on_node(struct test *t, size_t first)
{
    const Yarn__Container *node = t->tasks[first].container;
    struct nm_at at = { .host = node->node_id->host, .port = node->node_id->port };
    AUTO_FREE struct nm_item *items = calloc(TASKS + 1, sizeof(*items));
    Yarn__ContainerLaunchContext *launches[TASKS + 1] = { NULL };
    size_t which[TASKS + 1], n = 0;
    int r = items ? 0 : err_oom(&t->err);

    for (size_t i = first; i <= TASKS && r == 0; i++) {
        const struct task *k = &t->tasks[i];

        if (!waits_for_start(k) || !same_node(k->container, node))
            continue;
        r = launch_of(t, i, &launches[n]);
        items[n] = (struct nm_item){ .id = yarn_container_id_of(k->container->id),
                                     .token = k->container->container_token,
                                     .launch = launches[n] };
        which[n++] = i;
    }
    if (r == 0) {
        say(t, "starting %zu on %s", n, at.host);
        r = nm_start(t->nodes, &at, items, n, &t->err);
    }
    for (size_t i = 0; i < n && r == 0; i++)
        r = after_start(t, &items[i], which[i]);
    for (size_t i = 0; i < n; i++)
        message_free(launches[i]);
    return r;
}

int start_granted(struct test *t)
{
    int r = 0;

    for (size_t i = 0; i <= TASKS && r == 0; i++)
        if (waits_for_start(&t->tasks[i]))
            r = start_on_node(t, i);
    return r;
}
