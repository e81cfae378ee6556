/* node_cache_prune.c - what is in a node's cache, and what may go. A version is removed by whoever
 * holds both of its locks; the lock's file goes last, and who was waiting for it makes a new one.
 * See node_cache.h. */
#include "base/array.h"
#include "base/path.h"
#include "model/node/node_cache.h"
#include "model/node/node_dir.h"
#include "model/node/node_entry.h"
#include "model/node/node_lock.h"

#include <string.h>
#include <sys/stat.h>

static void node_cache_entry_done(struct node_cache_entry *e)
{
    free(e->path);
    free(e->hash);
    free(e->model);
}

void node_cache_entries_done(struct node_cache_entries *l)
{
    for (size_t i = 0; i < l->n; i++)
        node_cache_entry_done(&l->v[i]);
    free(l->v);
    *l = (struct node_cache_entries){ 0 };
}

/* ---- looking ---- */

/* The hashes that any name in the directory belongs to, each once. */
static int list_hashes(const char *models, struct strs *ret, struct err *err)
{
    static const char *const ends[] = { "", NODE_DIR_PART, NODE_DIR_OLD, NODE_DIR_LOCK };
    AUTO_DIR DIR *d = opendir(models);
    const struct dirent *e;

    if (!d)
        return err_sys(err, "list '%s'", models);
    while ((e = readdir(d))) {
        for (size_t i = 0; i < COUNT_OF(ends); i++)
            if (node_dir_is_hash(e->d_name, ends[i]) &&
                strs_addn(ret, e->d_name, SHA256_TEXT - 1) < 0)
                return err_oom(err);
    }
    strs_sort(ret);
    return 0;
}

struct looking {
    char *entry, *lock_path;
    int lock;
};

static void looking_done(struct looking *x)
{
    if (x->lock >= 0)
        close(x->lock);
    free(x->entry);
    free(x->lock_path);
}
#define AUTO_LOOKING AUTO_DONE(looking_done) struct looking

static int looking_begin(struct looking *x, const char *models, const char *hash, struct err *err)
{
    x->lock = -1;
    x->entry = path_join(models, hash);
    x->lock_path = str_printf("%s/%s" NODE_DIR_LOCK, models, hash);
    return x->entry && x->lock_path ? node_lock_open(x->lock_path, &x->lock, err) : err_oom(err);
}

/* Nobody uses it, and nobody does until the locks are given back: 1.
 *
 * Two locks, of a byte each:
 *
 *     use      shared by each that serves the version; alone: it can be removed
 *     fetch    alone: by who writes HASH.part and puts it in place */
static int lock_both(const struct looking *x, struct err *err)
{
    int r = node_lock_take(x->lock, NODE_LOCK_USE, NODE_LOCK_ALONE, err);

    if (r == 1) {
        r = node_lock_take(x->lock, NODE_LOCK_FETCH, NODE_LOCK_ALONE, err);
        if (r != 1)
            (void)node_lock_take(x->lock, NODE_LOCK_USE, NODE_LOCK_NONE, NULL);
    }
    return r;
}

static void unlock_both(const struct looking *x)
{
    (void)node_lock_take(x->lock, NODE_LOCK_FETCH, NODE_LOCK_NONE, NULL);
    (void)node_lock_take(x->lock, NODE_LOCK_USE, NODE_LOCK_NONE, NULL);
}

static int describe(const struct looking *x, const char *hash, struct node_cache_entry *ret,
                    struct err *err)
{
    AUTO_MANIFEST m = { 0 };
    struct stat st;
    int locked = x->lock >= 0 ? lock_both(x, NULL) : -EBADF;

    if (locked == 1)
        unlock_both(x);
    if (locked == 0) /* since whenever: it is used now */
        node_lock_used(x->lock);
    ret->in_use = locked != 1;
    if (node_entry_manifest(x->entry, hash, &m, NULL) == 1) {
        ret->version = m.version;
        ret->size = m.bytes;
    }
    if (x->lock >= 0 && fstat(x->lock, &st) == 0)
        ret->used_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    ret->path = strdup(x->entry);
    ret->hash = strdup(hash);
    ret->model = strdup(m.doc ? m.name : "");
    return ret->path && ret->hash && ret->model ? 0 : err_oom(err);
}

static int list_one(const char *models, const char *hash, struct node_cache_entries *ret,
                    struct err *err)
{
    AUTO_LOOKING x = { .lock = -1 };
    struct node_cache_entry one = { 0 };
    AUTO_FREE char *entry = path_join(models, hash);
    int r;

    if (!entry)
        return err_oom(err);
    if (access(entry, F_OK) < 0)
        return 0;
    r = looking_begin(&x, models, hash, NULL);
    /* What cannot be locked is not to be removed, either. */
    r = r == -ENOMEM ? err_oom(err) : describe(&x, hash, &one, err);
    if (r == 0 && ARRAY_ADD(ret->v, ret->n, one) < 0)
        r = err_oom(err);
    if (r < 0)
        node_cache_entry_done(&one);
    return r;
}

static int by_use(const void *a, const void *b)
{
    const struct node_cache_entry *x = a, *y = b;

    return x->used_ms != y->used_ms ? (x->used_ms < y->used_ms ? 1 : -1) : strcmp(x->hash, y->hash);
}

static int list_in(const char *models, struct node_cache_entries *ret, struct err *err)
{
    AUTO_STRS hashes = { 0 };
    int r = list_hashes(models, &hashes, err);

    for (size_t i = 0; r == 0 && i < hashes.n; i++)
        if (i == 0 || !str_eq(hashes.v[i], hashes.v[i - 1]))
            r = list_one(models, hashes.v[i], ret, err);
    if (ret->n > 1)
        qsort(ret->v, ret->n, sizeof(ret->v[0]), by_use);
    return r;
}

int node_cache_list(const char *dir, struct node_cache_entries *ret, struct err *err)
{
    AUTO_FREE char *models = NULL;
    int r = node_dir_find(dir, &models, err);

    if (r == -ENOENT) {
        err_clear(err);
        return 0;
    }
    return r < 0 ? r : list_in(models, ret, err);
}

/* ---- pruning ---- */

/* 1: removed; 0: somebody uses it by now. It loses its name first: what has one is whole, also
 * when we are killed here. */
static int remove_one(const char *models, const char *hash, struct err *err)
{
    AUTO_LOOKING x = { .lock = -1 };
    AUTO_FREE char *old = str_printf("%s/%s" NODE_DIR_OLD, models, hash);
    int r = old ? looking_begin(&x, models, hash, err) : err_oom(err);

    if (r == 0)
        r = lock_both(&x, err);
    if (r != 1 || !node_lock_is_there(x.lock, x.lock_path))
        return r < 0 ? r : 0;
    r = path_remove(old, err);
    if (r == 0 && rename(x.entry, old) < 0 && errno != ENOENT)
        r = err_sys(err, "move '%s' away", x.entry);
    if (r == 0)
        r = path_remove(old, err);
    if (r == 0 && unlink(x.lock_path) < 0 && errno != ENOENT)
        r = err_sys(err, "remove '%s'", x.lock_path);
    return r < 0 ? r : 1;
}

/* What a process that was killed left of this one; whoever fetches it now has the lock.
 *
 * The lock's file goes only where there is no version, and nobody holds it open to wait for one: it
 * would wait on a file that nobody finds any more. node_lock_is_there() tells those who do. */
static int sweep_one(const char *models, const char *hash, struct err *err)
{
    AUTO_LOOKING x = { .lock = -1 };
    AUTO_FREE char *part = str_printf("%s/%s" NODE_DIR_PART, models, hash);
    AUTO_FREE char *old = str_printf("%s/%s" NODE_DIR_OLD, models, hash);
    int r = part && old ? looking_begin(&x, models, hash, err) : err_oom(err);

    if (r == 0)
        r = node_lock_take(x.lock, NODE_LOCK_FETCH, NODE_LOCK_ALONE, err);
    if (r != 1 || !node_lock_is_there(x.lock, x.lock_path))
        return r < 0 ? r : 0;
    r = path_remove(part, err);
    if (r == 0)
        r = path_remove(old, err);
    if (r == 0 && access(x.entry, F_OK) < 0 &&
        node_lock_take(x.lock, NODE_LOCK_USE, NODE_LOCK_ALONE, NULL) == 1)
        (void)unlink(x.lock_path);
    return r;
}

/* The first failure is reported, and the others are pruned all the same. */
struct failing {
    int first;
    struct err *err;
};

static void failing_note(struct failing *f, int r, const struct err *why)
{
    if (r >= 0 || f->first < 0)
        return;
    f->first = r;
    if (f->err)
        *f->err = *why;
}

static void sweep(const char *models, struct failing *f)
{
    AUTO_STRS hashes = { 0 };
    struct err why = ERR_INIT;

    failing_note(f, list_hashes(models, &hashes, &why), &why);
    for (size_t i = 0; i < hashes.n; i++) {
        if (i > 0 && str_eq(hashes.v[i], hashes.v[i - 1]))
            continue;
        err_clear(&why);
        failing_note(f, sweep_one(models, hashes.v[i], &why), &why);
    }
}

static int prune_in(const char *models, const struct node_cache_prune *how,
                    struct node_cache_entries *ret, struct err *err)
{
    AUTO_NODE_CACHE_ENTRIES all = { 0 };
    struct failing f = { .err = err };
    uint64_t total = 0;
    int r;

    if (!how->dry)
        sweep(models, &f);
    r = list_in(models, &all, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < all.n; i++)
        total += all.v[i].size;
    for (size_t i = all.n; i > 0 && (total > how->keep || how->keep == 0); i--) {
        struct node_cache_entry *e = &all.v[i - 1];
        struct err why = ERR_INIT;

        if (e->in_use || e->used_ms >= how->before)
            continue;
        r = how->dry ? 1 : remove_one(models, e->hash, &why);
        failing_note(&f, r, &why);
        if (r != 1)
            continue;
        total -= e->size;
        if (ARRAY_ADD(ret->v, ret->n, *e) < 0)
            return err_oom(err);
        *e = (struct node_cache_entry){ 0 };
    }
    return f.first;
}

int node_cache_prune(const char *dir, const struct node_cache_prune *how,
                     struct node_cache_entries *ret, struct err *err)
{
    AUTO_FREE char *models = NULL;
    int r = node_dir_find(dir, &models, err);

    if (r == -ENOENT) {
        err_clear(err);
        return 0;
    }
    return r < 0 ? r : prune_in(models, how, ret, err);
}
