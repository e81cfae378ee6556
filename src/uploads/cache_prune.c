/* cache_prune.c - lists the cache, and removes what is no longer needed. See cache.h. */
#include "base/array.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "uploads/app_dirs.h"
#include "uploads/cache_name.h"
#include "uploads/cache_private.h"

#include <string.h>

/* A submit under way may count on what it has touched since its directory was made; clocks of two
 * machines differ a little. */
#define CLOCKS_MS ((int64_t)10 * 60 * 1000)

/* ---- the list ---- */

static void cache_entry_done(struct cache_entry *e)
{
    free(e->hash);
    free(e->name);
    strs_done(&e->users);
}

void cache_entries_done(struct cache_entries *l)
{
    for (size_t i = 0; i < l->n; i++)
        cache_entry_done(&l->v[i]);
    free(l->v);
    *l = (struct cache_entries){ 0 };
}

/* Takes what `e` has over, also when it fails. */
static int cache_push(struct cache_entries *l, struct cache_entry e, struct err *err)
{
    if (e.hash && e.name && ARRAY_ADD(l->v, l->n, e) == 0)
        return 0;
    cache_entry_done(&e);
    return err_oom(err);
}

/* The files below one hash; one without any has the name "". */
static int list_hash(struct cache *c, const struct cache_entry *hash, struct cache_entries *ret,
                     struct err *err)
{
    AUTO_FREE char *dir = path_join(c->dir, hash->hash);
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    size_t n = 0;
    int r = dir ? fs_list_open(c->fs, dir, &list, err) : err_oom(err);

    if (r < 0)
        return err_forgive(err, r, -ENOENT); /* somebody else prunes */
    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        n++;
        r = cache_push(ret,
                       (struct cache_entry){ .hash = strdup(hash->hash),
                                             .name = strdup(e->name),
                                             .size = e->length,
                                             .used = hash->used },
                       err);
    }
    if (r == 0 && n == 0)
        r = cache_push(ret,
                       (struct cache_entry){
                           .hash = strdup(hash->hash), .name = strdup(""), .used = hash->used },
                       err);
    return r;
}

static int list_hashes(struct cache *c, struct cache_entries *ret, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(c->fs, c->dir, &list, err);

    if (r < 0)
        return err_forgive(err, r, -ENOENT);
    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        r = 0;
        if (e->type == FS_DIRECTORY && hashes_is_hash(e->name, strlen(e->name)))
            r = cache_push(ret,
                           (struct cache_entry){
                               .hash = strdup(e->name), .name = strdup(""), .used = e->mtime },
                           err);
    }
    return r;
}

static int last_used_first(const void *a, const void *b)
{
    const struct cache_entry *x = a, *y = b;
    int d = strcmp(x->name, y->name);

    if (x->used != y->used)
        return x->used < y->used ? 1 : -1;
    return d ? d : strcmp(x->hash, y->hash);
}

static int list_files(struct cache *c, struct cache_entries *ret, struct err *err)
{
    AUTO_CACHE_ENTRIES hashes = { 0 };
    int r = list_hashes(c, &hashes, err);

    for (size_t i = 0; r == 0 && i < hashes.n; i++)
        r = list_hash(c, &hashes.v[i], ret, err);
    if (ret->n > 1)
        qsort(ret->v, ret->n, sizeof(*ret->v), last_used_first);
    return r;
}

/* ---- who needs them ---- */

static int add_users(struct cache_entry *e, const struct app_dirs *jobs, struct err *err)
{
    AUTO_FREE char *key = str_printf("%s/%s", e->hash, e->name);

    if (!key)
        return err_oom(err);
    for (size_t i = 0; i < jobs->n; i++)
        if (strs_has(&jobs->v[i].uses, key) && strs_add(&e->users, jobs->v[i].app) < 0)
            return err_oom(err);
    return 0;
}

static int cache_list_all(struct cache *c, const struct app_dirs_alive *alive,
                          struct cache_entries *ret, struct app_dirs *jobs, struct err *err)
{
    int r = list_files(c, ret, err);

    if (r == 0)
        r = app_dirs(c->fs, c->base, alive, jobs, err);
    for (size_t i = 0; r == 0 && i < ret->n; i++)
        r = add_users(&ret->v[i], jobs, err);
    return r;
}

int cache_list(struct cache *c, const struct app_dirs_alive *alive, struct cache_entries *ret,
               struct err *err)
{
    AUTO_APP_DIRS jobs = { 0 };
    size_t n = 0;
    int r = cache_list_all(c, alive, ret, &jobs, err);

    for (size_t i = 0; i < ret->n; i++) { /* without hashes that hold nothing */
        if (*ret->v[i].name)
            ret->v[n++] = ret->v[i];
        else
            cache_entry_done(&ret->v[i]);
    }
    ret->n = n;
    return r;
}

/* ---- pruning ---- */

/* A job that is being submitted has not written its list of files yet (`settled`): everything that
 * was used since its directory was made may be among them. Three reasons to stay: it was used
 * lately, a living application has it in its list, or a submit that has no list yet may have found
 * it. */
static bool cache_may_go(const struct cache_entries *all, const struct app_dirs *jobs,
                         const struct cache_entry *e, int64_t before)
{
    if (e->used >= before)
        return false;
    for (size_t i = 0; i < all->n; i++) /* a hash goes as a whole */
        if (all->v[i].users.n && str_eq(all->v[i].hash, e->hash))
            return false;
    for (size_t i = 0; i < jobs->n; i++)
        if (!jobs->v[i].settled && e->used >= jobs->v[i].since - CLOCKS_MS)
            return false;
    return true;
}

/* Hides it first: a client that looks for it from now on uploads it again; one that found it just
 * before has marked it as used, and then it is put back.
 *
 *     prune:   rename away ──► has its time changed? ──yes──► rename back
 *                                                   └─no ──► delete
 *     submit:  find ──► touch ── fails: it is gone, send it */
static int remove_hash(struct cache *c, const struct cache_entry *e, bool *ret_gone,
                       struct err *err)
{
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *from = path_join(c->dir, e->hash);
    AUTO_FREE char *to = NULL;
    AUTO_FS_ENTRY now = { 0 };
    int r = cache_gone(e->hash, &name, err);

    *ret_gone = false;
    if (r == 0)
        to = path_join(c->dir, name);
    if (r == 0 && (!from || !to))
        r = err_oom(err);
    if (r == 0)
        r = fs_rename(c->fs, from, to, false, err);
    if (r < 0)
        return err_forgive(err, r, -ENOENT);
    r = fs_stat(c->fs, to, &now, err);
    if (r == 0 && now.mtime != e->used && fs_rename(c->fs, to, from, false, NULL) == 0)
        return 0;
    if (r == 0)
        r = fs_delete(c->fs, to, true, err);
    *ret_gone = r == 0;
    return r;
}

/* Removes the hash of all->v[i] and moves what was in it, which stands together, to `ret`. */
static int prune_hash(struct cache *c, struct cache_entries *all, size_t i, bool dry,
                      struct cache_entries *ret, struct err *err)
{
    bool gone = true;
    int r = 0;

    if (!dry) {
        fiber_shield(c->loop, true);
        r = remove_hash(c, &all->v[i], &gone, err);
        fiber_shield(c->loop, false);
    }
    for (size_t j = i; r == 0 && gone && j < all->n; j++) {
        struct cache_entry *e = &all->v[j];

        if (*e->name && str_eq(e->hash, all->v[i].hash))
            r = cache_push(ret,
                           (struct cache_entry){ .hash = strdup(e->hash),
                                                 .name = strdup(e->name),
                                                 .size = e->size,
                                                 .used = e->used },
                           err);
    }
    return r;
}

static bool cache_is_first(const struct cache_entries *all, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (str_eq(all->v[j].hash, all->v[i].hash))
            return false;
    return true;
}

int cache_prune(struct cache *c, const struct app_dirs_alive *alive, int64_t before, bool dry,
                struct cache_entries *ret, struct err *err)
{
    AUTO_CACHE_ENTRIES all = { 0 };
    AUTO_APP_DIRS jobs = { 0 };
    int r = cache_list_all(c, alive, &all, &jobs, err);

    for (size_t i = 0; r == 0 && i < all.n; i++) {
        if (fiber_cancelled(c->loop))
            return err_set(err, -ECANCELED, "interrupted");
        if (cache_is_first(&all, i) && cache_may_go(&all, &jobs, &all.v[i], before))
            r = prune_hash(c, &all, i, dry, ret, err);
    }
    if (r == 0 && !dry)
        cache_remove_stale(c);
    return r;
}
