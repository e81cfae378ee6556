/* replica_fetch.c - see replica_fetch.h. Two fibers: one fetches, the other says how far it is, so
 * that a store that does not answer does not keep the first one waiting. */
#include "serve/deployment/replica_fetch.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "model/node/node_cache.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/registry_session.h"
#include "serve/deployment/task_store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TELL_MS 1000

struct fetching {
    const struct replica_task *t;
    struct line_client store;
    char *key;
    uint64_t done, total;
    bool began;
};

/* Where the platform has directories for this user on the node, which outlive containers; else with
 * the other caches of this user. */
static int cache_dirs(struct strs *ret, bool *ret_node, struct err *err)
{
    const char *node = getenv(REPLICA_NODE_DIRS_ENV);
    AUTO_STRS dirs = { 0 };
    AUTO_FREE char *own = NULL;
    int r;

    if (node && strs_split(&dirs, node, ",") < 0)
        return err_oom(err);
    for (size_t i = 0; i < dirs.n; i++)
        if (*dirs.v[i] == '/' && strs_take(ret, path_join(dirs.v[i], "ydl")) < 0)
            return err_oom(err);
    *ret_node = ret->n > 0;
    if (*ret_node)
        return 0;
    r = path_xdg(PATH_CACHE, "ydl", &own, err);
    return r < 0 ? r : strs_take(ret, take(own)) < 0 ? err_oom(err) : 0;
}

/* ---- how far it is ---- */

static void replica_fetch_on_progress(void *user, uint64_t done, uint64_t total)
{
    struct fetching *f = user;

    f->done = done;
    f->total = total;
    f->began = true;
}

static int tell(void *arg, struct err *err)
{
    struct fetching *f = arg;
    uint64_t told = UINT64_MAX;
    char text[48];

    (void)err;
    for (;;) {
        if (f->began && f->done != told) {
            told = f->done;
            (void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, f->done, f->total);
            (void)task_store_put(&f->store, f->key, text, NULL);
        }
        if (fiber_sleep(f->t->loop, TELL_MS) < 0)
            return 0;
    }
}

/* ---- the version ---- */

static int replica_fetch_connect(void *user, struct session **ret, struct err *err)
{
    const struct fetching *f = user;

    return registry_session_new(f->t->loop, false, ret, err);
}

/* It is open in the program that we become, too.
 *
 * The lock is on the open file, which the model server inherits by exec(2): the version cannot be
 * removed from the cache until that ends, however it ends. */
static int keep_lock(int fd, struct err *err)
{
    int flags = fcntl(fd, F_GETFD);

    return flags >= 0 && fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) == 0
               ? 0
               : err_sys(err, "keep the lock of a version");
}

static void note(const struct fetching *f, const struct node_cache_want *w,
                 const struct node_cache_got *got, int64_t ms)
{
    char size[STR_SIZE_MAX], text[400];

    if (got->fetched)
        (void)snprintf(text, sizeof(text), "fetched %s:%lld, %s, in %lld ms", w->model,
                       (long long)w->version, str_size(f->total, size), (long long)ms);
    else
        (void)snprintf(text, sizeof(text), "%s:%lld is on this node already", w->model,
                       (long long)w->version);
    f->t->note(f->t->user, text);
}

static int get_version(struct fetching *f, const json_t *plan, json_t *version, struct err *err)
{
    AUTO_STRS dirs = { 0 };
    bool node = false;
    int r = cache_dirs(&dirs, &node, err);
    const struct node_cache_want w = {
        .dirs = &dirs,
        .limit = (uint64_t)json_int_or(plan, "cache_limit", NODE_CACHE_LIMIT),
        .keep_free = node ? NODE_CACHE_KEEP_FREE : 0,
        .registry = json_string_value(json_object_get(plan, "registry")),
        .model = json_string_value(json_object_get(version, "model")),
        .version = json_int_or(version, "version", 0),
        .hash = json_string_value(json_object_get(version, "manifest")),
        .check_all = strcmp(f->t->attempt, "0") != 0,
        .connect = replica_fetch_connect,
        .on_progress = replica_fetch_on_progress,
        .user = f,
    };
    struct node_cache_got got = { .lock = -1 };
    int64_t began = loop_now(f->t->loop);
    AUTO_FREE char *path = NULL;

    if (r == 0)
        r = node_cache_get(f->t->loop, &w, &got, err);
    if (r < 0)
        return r;
    path = got.path;
    note(f, &w, &got, loop_now(f->t->loop) - began);
    r = keep_lock(got.lock, err);
    if (r == 0 && json_object_set_new(version, "path", json_string(path)) < 0)
        r = err_oom(err);
    return r;
}

static int fetch_and_tell(struct fetching *f, const json_t *plan, json_t *version, struct err *err)
{
    struct group g;
    int r;

    group_init(&g, f->t->loop, 0);
    r = group_go(&g, tell, f, err);
    if (r == 0)
        r = get_version(f, plan, version, err);
    group_cancel(&g);
    (void)group_wait(&g, NULL);
    if (f->began || strcmp(f->t->attempt, "0") != 0) /* or one before us was killed */
        (void)task_store_delete(&f->store, f->key, NULL);
    return r;
}

int replica_fetch(const struct replica_task *t, const json_t *plan, json_t *version,
                  struct err *err)
{
    struct fetching f = { .t = t };
    int r;

    f.key = str_printf(DEPLOYMENT_FETCH "%s/%lld/%s", t->role,
                       (long long)json_int_or(version, "serial", 0), t->index);
    if (!f.key)
        return err_oom(err);
    line_client_init(&f.store, t->loop, t->socket);
    r = fetch_and_tell(&f, plan, version, err);
    line_client_done(&f.store);
    free(f.key);
    return r;
}
