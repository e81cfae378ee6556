/* node_cache.c - see node_cache.h. One directory after the other:
 *
 *     use lock, shared ──► whole? ──yes──────────────────────────────────────────► got
 *                            │ no                                                  ▲
 *                            ├──► fetch lock ──► whole by now? ──yes───────────────┤
 *                            │        │                │ no                        │
 *                            │        │                └─► .part ─► rename ────────┘
 *                            └────────┴─ others have it: wait, as long as it moves
 *
 * A version that is not whole any more is moved aside when the new one is there: replicas that have
 * it open go on reading the old files. */
#include "model/node/node_cache.h"
#include "base/path.h"
#include "hadoop/session/session.h"
#include "loop/fiber.h"
#include "model/layout.h"
#include "model/node/node_dir.h"
#include "model/node/node_entry.h"
#include "model/node/node_fetch.h"
#include "model/node/node_lock.h"

#include <string.h>

#define LOOK_MS 100
#define PRUNE_MS 60000    /* for somebody who removes the version just now */
#define STALL_MS 600000   /* a fetch of another process without a byte: it gave up before that */
#define MARGIN (16 * MIB) /* of a disk, beyond the model's bytes */

struct getting {
    struct loop *loop;
    const struct node_cache_want *want;
    struct node_source source;
    struct manifest m; /* when it was read */
    struct buf text;
    char hash[SHA256_TEXT];
    /* in the directory that is tried */
    char *dir, *entry, *part, *lock_path;
    int lock;
};

/* ---- one directory ---- */

static void getting_leave(struct getting *g)
{
    if (g->lock >= 0)
        close(g->lock);
    g->lock = -1;
    free(g->dir);
    free(g->entry);
    free(g->part);
    free(g->lock_path);
    g->dir = g->entry = g->part = g->lock_path = NULL;
}

static int getting_enter(struct getting *g, const char *dir, struct err *err)
{
    int r = node_dir_make(dir, &g->dir, err);

    if (r < 0)
        return r;
    g->entry = path_join(g->dir, g->hash);
    g->part = str_printf("%s/%s" NODE_DIR_PART, g->dir, g->hash);
    g->lock_path = str_printf("%s/%s" NODE_DIR_LOCK, g->dir, g->hash);
    return g->entry && g->part && g->lock_path ? 0 : err_oom(err);
}

/* Nobody removes the version from now on. The file may have been removed with a version, between
 * our opening and locking it. */
static int use(struct getting *g, struct err *err)
{
    int64_t until = loop_in(g->loop, PRUNE_MS);

    for (;;) {
        int r = g->lock < 0 ? node_lock_open(g->lock_path, &g->lock, err) : 0;

        if (r == 0)
            r = node_lock_take(g->lock, NODE_LOCK_USE, NODE_LOCK_SHARED, err);
        if (r < 0 || (r == 1 && node_lock_is_there(g->lock, g->lock_path)))
            return r < 0 ? r : 0;
        if (r == 1) {
            close(g->lock);
            g->lock = -1;
            continue;
        }
        if (loop_now(g->loop) > until)
            return err_set(err, -ETIMEDOUT, "another process keeps '%s' locked", g->lock_path);
        if (fiber_sleep(g->loop, LOOK_MS) < 0)
            return err_set(err, -ECANCELED, "interrupted");
    }
}

static int is_whole(struct getting *g, bool all, struct err *err)
{
    struct err why = ERR_INIT;
    int r = node_entry_check(g->loop, g->entry, g->hash, all, NULL, &why);

    if (r < 0 && err)
        *err = why;
    return r;
}

/* ---- fetching ---- */

static void on_fetched(void *user, uint64_t done, uint64_t total)
{
    struct getting *g = user;

    node_lock_tell(g->lock, done, total);
    g->want->on_progress(g->want->user, done, total);
}

/* By the kernel's words for it, what failed is known as the disk's fault: the node is to blame, and
 * the task goes to another one (agent/tasks/finish.c). */
static int no_room(const struct getting *g, uint64_t there, uint64_t reserve, struct err *err)
{
    char need[STR_SIZE_MAX], have[STR_SIZE_MAX], keep[STR_SIZE_MAX];

    return err_set(err, -ENOSPC,
                   "'%s' has no room for %s:%lld, which needs %s: %s are free, and %s are to stay "
                   "free: No space left on device",
                   g->dir, g->want->model, (long long)g->want->version, str_size(g->m.bytes, need),
                   str_size(there, have), str_size(reserve, keep));
}

/* Unused versions go first. A disk of which others have filled more than it was to be is one that
 * may be so full: YARN gives out no others.
 *
 * Pruning leaves `how.keep` bytes of the cache: what there is, less what is missing for this
 * version. */
static int make_room(const struct getting *g, struct err *err)
{
    struct node_dir_disk disk = node_dir_disk(g->dir);
    uint64_t keep = disk.total / 100 * g->want->keep_free;
    uint64_t wanted = g->m.bytes + keep + MARGIN, there = disk.free;
    AUTO_NODE_CACHE_ENTRIES all = { 0 };
    AUTO_NODE_CACHE_ENTRIES gone = { 0 };
    AUTO_FREE char *above = path_dir(g->dir);
    struct node_cache_prune how = { .before = INT64_MAX };
    int r = above ? 0 : err_oom(err);

    if (r < 0 || there >= wanted)
        return r;
    if (node_cache_list(above, &all, NULL) == 0)
        for (size_t i = 0; i < all.n; i++)
            how.keep += all.v[i].size;
    how.keep -= wanted - there < how.keep ? wanted - there : how.keep;
    (void)node_cache_prune(above, &how, &gone, NULL);
    there = node_dir_disk(g->dir).free;
    if (there < keep)
        keep = 0;
    return there >= g->m.bytes + keep + MARGIN ? 0 : no_room(g, there, keep + MARGIN, err);
}

/* The new one takes its name; what was there is moved out of the way and removed.
 *
 * One that is killed between the two renames leaves the version without its name, and both halves
 * with the endings that the next one sweeps: it is fetched again. */
static int put_in_place(const struct getting *g, struct err *err)
{
    AUTO_FREE char *old = str_printf("%s" NODE_DIR_OLD, g->entry);

    if (!old)
        return err_oom(err);
    (void)path_remove(old, NULL);
    if (rename(g->entry, old) < 0 && errno != ENOENT)
        return err_sys(err, "move '%s' away", g->entry);
    if (rename(g->part, g->entry) < 0)
        return err_sys(err, "name '%s'", g->entry);
    (void)path_remove(old, NULL);
    return 0;
}

static void prune_others(const struct getting *g)
{
    const struct node_cache_prune how = { .keep = g->want->limit, .before = INT64_MAX };
    AUTO_NODE_CACHE_ENTRIES gone = { 0 };
    AUTO_FREE char *above = path_dir(g->dir);

    if (above)
        (void)node_cache_prune(above, &how, &gone, NULL);
}

/* With the fetch lock. */
static int fetch(struct getting *g, struct err *err)
{
    const struct node_fetch f = { .source = &g->source,
                                  .part = g->part,
                                  .m = &g->m,
                                  .text = &g->text,
                                  .on_progress = on_fetched,
                                  .user = g };
    int r = path_remove(g->part, err);

    node_source_begin(&g->source);
    if (r == 0 && !g->m.doc)
        r = node_source_manifest(&g->source, &g->text, &g->m, err);
    if (r == 0)
        r = make_room(g, err);
    if (r == 0) {
        on_fetched(g, 0, g->m.bytes);
        r = node_fetch(&f, err);
    }
    if (r == 0)
        r = put_in_place(g, err);
    if (r < 0) {
        (void)path_remove(g->part, NULL);
        return r;
    }
    prune_others(g);
    return 0;
}

/* ---- waiting for the one who fetches ---- */

struct waiting {
    uint64_t done;
    int64_t moved;
};

static int await_other(struct getting *g, struct waiting *w, struct err *err)
{
    uint64_t done = 0, total = 0;

    if (node_lock_told(g->lock, &done, &total)) {
        if (done != w->done)
            w->moved = loop_now(g->loop);
        w->done = done;
        g->want->on_progress(g->want->user, done, total);
    }
    if (loop_now(g->loop) - w->moved > STALL_MS)
        return err_set(err, -ETIMEDOUT,
                       "another process has been fetching %s:%lld into '%s' for %d minutes without "
                       "progress",
                       g->want->model, (long long)g->want->version, g->dir, STALL_MS / 60000);
    return fiber_sleep(g->loop, LOOK_MS) < 0 ? err_set(err, -ECANCELED, "interrupted") : 0;
}

/* 1: fetched by us; 0: it is there.
 *
 * Who has waited does not read all bytes again: whoever fetched them has just compared each of
 * them. */
static int fetch_or_wait(struct getting *g, struct err *err)
{
    struct waiting w = { .moved = loop_now(g->loop) };
    bool waited = false;

    for (;;) {
        int r = node_lock_take(g->lock, NODE_LOCK_FETCH, NODE_LOCK_ALONE, err);

        if (r < 0)
            return r;
        if (r == 1) {
            r = is_whole(g, g->want->check_all && !waited, err);
            if (r == 0) {
                r = fetch(g, err);
                r = r < 0 ? r : 2;
            }
            (void)node_lock_take(g->lock, NODE_LOCK_FETCH, NODE_LOCK_NONE, NULL);
            return r < 0 ? r : r - 1;
        }
        waited = true;
        r = await_other(g, &w, err);
        if (r < 0)
            return r;
    }
}

/* ---- all directories ---- */

static int got(struct getting *g, bool fetched, struct node_cache_got *ret)
{
    node_lock_used(g->lock);
    *ret = (struct node_cache_got){ .path = take(g->entry),
                                    .lock = take_fd(g->lock),
                                    .fetched = fetched };
    return 0;
}

/* It would be the same in another directory. */
static bool is_of_us(int r)
{
    return r == -ENOMEM || r == -ECANCELED;
}

/* 1: it is here and whole; 0: not. */
static int find_in(struct getting *g, const char *dir, struct err *err)
{
    AUTO_FREE char *models = NULL;
    AUTO_FREE char *entry = NULL;
    int r = node_dir_find(dir, &models, NULL);

    if (r < 0)
        return 0;
    entry = path_join(models, g->hash);
    if (!entry)
        return err_oom(err);
    if (access(entry, F_OK) < 0)
        return 0;
    r = getting_enter(g, dir, err);
    if (r == 0)
        r = use(g, err);
    if (r == 0)
        r = is_whole(g, g->want->check_all, err);
    if (r != 1)
        getting_leave(g);
    return r;
}

/* Is it the disk that does not work? Then another one may. */
static bool is_of_disk(int r)
{
    return r == -ENOSPC || r == -EDQUOT || r == -EROFS || r == -EPERM || r == -ENOTDIR ||
           r == -EIO || r == -EFBIG;
}

/* 1: fetched by us; 0: it is there. *ret_next: another directory may do. */
static int fetch_in(struct getting *g, const char *dir, bool *ret_next, struct err *err)
{
    int r = getting_enter(g, dir, err);

    if (r == 0)
        r = use(g, err);
    *ret_next = r < 0 && !is_of_us(r);
    if (r == 0) {
        r = fetch_or_wait(g, err);
        *ret_next = is_of_disk(r);
    }
    if (r < 0)
        getting_leave(g);
    return r;
}

/* First all directories are asked whether they have it, then one after the other is asked to take
 * it: a version on the second disk is not fetched to the first. */
static int get(struct getting *g, struct node_cache_got *ret, struct err *err)
{
    const struct strs *dirs = g->want->dirs;
    bool next = true;
    int r = 0;

    for (size_t i = 0; i < dirs->n; i++) {
        r = find_in(g, dirs->v[i], err);
        if (is_of_us(r))
            return r;
        err_clear(err);
        if (r == 1)
            return got(g, false, ret);
    }
    r = err_set(err, -ENOENT, "there is no directory for models");
    for (size_t i = 0; i < dirs->n && next; i++) {
        struct err why = ERR_INIT;

        r = fetch_in(g, dirs->v[i], &next, &why);
        if (r >= 0) {
            err_clear(err);
            return got(g, r == 1, ret);
        }
        if (err)
            *err = why;
    }
    return r;
}

int node_cache_get(struct loop *l, const struct node_cache_want *w, struct node_cache_got *ret,
                   struct err *err)
{
    struct getting g = { .loop = l, .want = w, .text = { .max = MANIFEST_MOST }, .lock = -1 };
    int r = 0;

    node_source_init(&g.source, l, w);
    if (w->hash && !node_dir_is_hash(w->hash, ""))
        r = err_set(err, -EINVAL, "'%.80s' is not the hash of a manifest", w->hash);
    else if (!w->hash)
        r = node_source_manifest(&g.source, &g.text, &g.m, err);
    if (r == 0) {
        (void)snprintf(g.hash, sizeof(g.hash), "%s", w->hash ? w->hash : g.m.sha256);
        r = get(&g, ret, err);
    }
    getting_leave(&g);
    node_source_done(&g.source);
    manifest_done(&g.m);
    buf_done(&g.text);
    return r;
}
