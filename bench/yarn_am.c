/* yarn_am.c - the barest application master: the floor that bench/yarn measures jobs against.
 *
 * It asks for so many containers of 64 MB, starts the same shell command in each, with one call per
 * node and all nodes at once, and finishes when all have ended. Nobody watches a task, keeps its
 * output, or starts it again. ydl-test-submit brings it to a cluster.
 *
 *     YDL_TEST_DIR     has the file `plan`: "COUNT star" (rows for `*` alone, as most masters ask)
 *                      or "COUNT hosts" (strict rows that spread over the nodes), and on the lines
 *                      after that the shell text
 *     YDL_TEST_HOSTS   the names of the nodes, with spaces */
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/am.h"
#include "hadoop/yarn/launch_context.h"
#include "loop/fiber.h"

#include <stdio.h>
#include <string.h>

#define GIVE_UP_MS 300000
#define MOST_TASKS 10000
#define MOST_NODES 64

struct bare {
    struct loop *loop;
    struct session *session;
    struct nm_pool *nodes;
    struct am *am;
    Yarn__ContainerLaunchContext *launch; /* of all tasks */
    Yarn__Container **fresh;              /* granted, not started yet; copies */
    size_t count, n_fresh, ended;
    struct strs hosts;
    bool star;
    int64_t deadline;
    struct err err;
};

/* ---- asking ---- */

/* The share of the i-th of n nodes. */
static int32_t share(size_t count, size_t n, size_t i)
{
    return (int32_t)(count / n + (i < count % n));
}

static int ask_on(struct bare *b, size_t n, size_t i)
{
    struct ask_place place = { .host = b->hosts.v[i] };
    struct ask ask = { .priority = 1,
                       .id = (int64_t)i,
                       .count = share(b->count, n, i),
                       .resource = { .memory_mb = 64, .vcores = 1 },
                       .places = &place,
                       .n_places = b->star ? 0 : 1,
                       .strict = !b->star };

    return ask.count > 0 ? amrm_ask(am_rm(b->am), &ask, &b->err) : 0;
}

static int ask_all(struct bare *b)
{
    size_t n = b->star ? 1 : b->hosts.n;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = ask_on(b, n, i);
    return r;
}

/* ---- starting ---- */

struct start {
    struct bare *b;
    struct nm_at at;
    struct nm_item *items;
    size_t n;
};

static int start_node(void *arg, struct err *err)
{
    struct start *s = arg;
    int r = nm_start(s->b->nodes, &s->at, s->items, s->n, err);

    for (size_t i = 0; i < s->n && r == 0; i++)
        if (s->items[i].err.code)
            r = err_set(err, s->items[i].err.code, "%s", s->items[i].err.text);
    return r;
}

static bool is_at(const struct start *s, const Yarn__NodeId *node)
{
    return s->at.port == node->port && str_eq(s->at.host, node->host);
}

/* Puts all that are fresh into one call per node; how many calls, or an error. */
static int sort_fresh(struct bare *b, struct start *calls, struct nm_item *items)
{
    size_t n = 0, used = 0;

    for (size_t i = 0; i < b->n_fresh; i++) {
        const Yarn__NodeId *node = b->fresh[i]->node_id;
        size_t k = 0;

        while (k < n && !is_at(&calls[k], node))
            k++;
        if (k < n)
            continue;
        if (n == MOST_NODES)
            return err_set(&b->err, -E2BIG, "more than %d nodes", MOST_NODES);
        calls[n] = (struct start){ .b = b,
                                   .at = { .host = node->host, .port = node->port },
                                   .items = items + used };
        for (k = i; k < b->n_fresh; k++)
            if (is_at(&calls[n], b->fresh[k]->node_id))
                calls[n].items[calls[n].n++] =
                    (struct nm_item){ .id = yarn_container_id_of(b->fresh[k]->id),
                                      .token = b->fresh[k]->container_token,
                                      .launch = b->launch };
        used += calls[n++].n;
    }
    return (int)n;
}

static int start_fresh(struct bare *b)
{
    struct start calls[MOST_NODES] = { { 0 } };
    AUTO_FREE struct nm_item *items = calloc(b->n_fresh + 1, sizeof(*items));
    struct group all;
    int n = items ? sort_fresh(b, calls, items) : err_oom(&b->err), r = n < 0 ? n : 0;

    group_init(&all, b->loop, 0);
    for (int i = 0; i < n && r == 0; i++)
        r = group_go(&all, start_node, &calls[i], &b->err);
    if (group_wait(&all, r < 0 ? NULL : &b->err) < 0)
        r = r < 0 ? r : all.result;
    while (b->n_fresh > 0)
        message_free(b->fresh[--b->n_fresh]);
    return r;
}

/* ---- events ---- */

static int on_event(struct bare *b, const struct amrm_event *e)
{
    if (e->type == AMRM_REGISTERED)
        return e->again ? 0 : ask_all(b);
    if (e->type == AMRM_GRANTED && b->n_fresh < b->count) {
        b->fresh[b->n_fresh] = message_copy(e->container);
        return b->fresh[b->n_fresh++] ? 0 : err_oom(&b->err);
    }
    if (e->type == AMRM_COMPLETED) {
        b->ended++;
        if (e->status->exit_status != 0)
            return err_set(&b->err, -EIO, "a task failed: %s", e->status->diagnostics);
    }
    return 0;
}

static int until_all_ended(struct bare *b)
{
    const struct amrm_event *e = NULL;
    int r = 0;

    while (r == 0 && b->ended < b->count) {
        r = am_next(b->am, &e, b->deadline, &b->err);
        while (r == 0) { /* whatever came together is started together */
            r = on_event(b, e);
            if (r == 0)
                r = am_next(b->am, &e, loop_now(b->loop), NULL);
        }
        if (r == -ETIMEDOUT && loop_now(b->loop) < b->deadline)
            r = b->n_fresh > 0 ? start_fresh(b) : 0;
    }
    return r;
}

/* ---- all of it ---- */

static int read_plan(struct bare *b, const char *dir)
{
    AUTO_FREE char *path = str_printf("%s/plan", dir);
    AUTO_BUF text = { .max = 64 * KIB };
    const char *all, *script;
    AUTO_STRS words = { 0 };
    int64_t count = 0;
    int r = path ? path_read(path, &text, &b->err) : err_oom(&b->err);

    all = r == 0 ? buf_text(&text) : NULL;
    script = all ? strchr(all, '\n') : NULL;
    if (!script || strs_split(&words, all, " \n") < 0 || words.n < 2 ||
        str_to_i64(words.v[0], 1, MOST_TASKS, &count) < 0)
        return r < 0 ? r : err_set(&b->err, -EINVAL, "%s: not a plan", path);
    b->count = (size_t)count;
    b->star = str_eq(words.v[1], "star");
    b->fresh = calloc(b->count, sizeof(*b->fresh));
    b->launch = yarn_launch_new();
    if (!b->fresh || !b->launch)
        return err_oom(&b->err);
    r = yarn_launch_script(b->launch, "exec 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr;", &b->err);
    if (r == 0)
        r = yarn_launch_script(b->launch, script + 1, &b->err);
    return r;
}

static int set_up(struct bare *b)
{
    struct session_options options = { .caller = "yarn-am", .patient = true };
    struct am_conf conf = { .shown = { .host = "yarn-am", .rpc_port = -1, .tracking_url = "" } };
    int r = session_new(b->loop, &options, &b->session, &b->err);

    if (r == 0)
        r = nm_pool_new(b->session, 0, &b->nodes, &b->err);
    conf.nodes = b->nodes;
    if (r == 0)
        r = am_new(b->session, &conf, &b->am, &b->err);
    if (r == 0)
        r = am_start(b->am, &b->err);
    b->deadline = loop_in(b->loop, GIVE_UP_MS);
    return r;
}

static int run(void *arg)
{
    struct bare *b = arg;
    int r = set_up(b);
    Yarn__FinalStatus how;

    if (r == 0)
        r = until_all_ended(b);
    how = r == 0 ? YARN__FINAL_STATUS__FINAL_SUCCEEDED : YARN__FINAL_STATUS__FINAL_FAILED;
    if (b->am && am_finish(b->am, how, b->err.text, "", loop_in(b->loop, 10000), NULL) < 0)
        r = r < 0 ? r : -EIO;
    b->am = am_free(b->am);
    b->nodes = nm_pool_free(b->nodes);
    b->session = session_free(b->session);
    return r;
}

int main(void)
{
    const char *dir = getenv("YDL_TEST_DIR"), *hosts = getenv("YDL_TEST_HOSTS");
    struct bare b = { .err = ERR_INIT };
    int r = -EINVAL;

    log_init("yarn-am");
    if (dir && hosts && strs_split(&b.hosts, hosts, " ") == 0 && b.hosts.n > 0 &&
        read_plan(&b, dir) == 0 && loop_new(&b.loop, &b.err) == 0)
        r = loop_run(b.loop, run, &b, true);
    if (r < 0)
        fprintf(stderr, "yarn-am: %s\n", b.err.text);
    if (b.loop)
        b.loop = loop_free(b.loop);
    message_free(b.launch);
    free(b.fresh);
    strs_done(&b.hosts);
    return r < 0;
}
