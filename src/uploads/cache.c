/* cache.c - the steps of a cache_put(), each over all files at once:
 *
 *     hash ──► look in the cache ──► send what is missing ──► look again ──► done
 *                       ▲                                         │ something is missing still
 *                       └─────────────────────────────────────────┘
 *
 * The same content is sent once, however many files have it; the second look finds it for the
 * others. See cache.h. */
#include "uploads/cache.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "loop/loop.h"
#include "uploads/cache_name.h"
#include "uploads/cache_private.h"

#include <string.h>
#include <time.h>

#define READ_AT_ONCE 2 /* files: more would only make a disk seek */
#define ASK_AT_ONCE 16
#define SEND_AT_ONCE 4
#define FAR_STALE_MS ((int64_t)24 * 3600 * 1000)

/* ---- the handle ---- */

static struct hashes *open_hashes(void)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *path = NULL;

    /* Anyone who can write there could replace a cached file. */
    if (path_xdg(PATH_CACHE, "ydl", &dir, NULL) == 0 && path_trusted(dir, NULL) != -EPERM)
        path = path_join(dir, "hashes");
    return hashes_open(path);
}

int cache_open(struct loop *l, struct fs_set *set, const char *base, struct cache **ret,
               struct err *err)
{
    AUTO_CACHE *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return err_oom(err);
    c->loop = l;
    c->set = set;
    r = sha256_prime(err);
    if (r == 0)
        r = fs_find(set, base, FS_ON_CLUSTER, &c->fs, &c->base, err);
    if (r < 0)
        return r;
    c->dir = path_join(c->base, "cache");
    c->hashes = open_hashes();
    if (!c->dir || !c->hashes)
        return err_oom(err);
    *ret = take(c);
    return 0;
}

struct cache *cache_close(struct cache *c)
{
    if (!c)
        return NULL;
    hashes_close(c->hashes);
    free(c->base);
    free(c->dir);
    free(c);
    return NULL;
}

static void cache_file_done(struct cache_file *f)
{
    free(f->to);
    free(f->role);
    free(f->url);
    free(f->key);
}

void cache_files_done(struct cache_files *l)
{
    for (size_t i = 0; i < l->n; i++)
        cache_file_done(&l->v[i]);
    free(l->v);
    *l = (struct cache_files){ 0 };
}

const struct cache_file *cache_files_find(const struct cache_files *l, const char *to)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i].to, to))
            return &l->v[i];
    return NULL;
}

/* ---- what killed clients left ---- */

static bool cache_is_stale(const struct fs_entry *e, int64_t now)
{
    switch (cache_temp_maker(e->name)) {
    case CACHE_TEMP_DEAD:
        return true;
    case CACHE_TEMP_FAR:
        return now - e->mtime > FAR_STALE_MS;
    case CACHE_TEMP_NONE:
        return cache_is_gone(e->name) && now - e->mtime > FAR_STALE_MS;
    case CACHE_TEMP_LIVES:
        break;
    }
    return false;
}

/* Names that begin with a dot sort before all hashes, so the listing stops at the first that does
 * not. */
void cache_remove_stale(struct cache *c)
{
    AUTO_FS_LIST *list = NULL;
    AUTO_STRS stale = { 0 };
    const struct fs_entry *e;
    int64_t now = loop_wall();

    if (fs_list_open_after(c->fs, c->dir, ".", &list, NULL) < 0)
        return;
    while (fs_list_next(list, &e, NULL) > 0 && e->name[0] == '.')
        if (cache_is_stale(e, now) && strs_add(&stale, e->path) < 0)
            return;
    for (size_t i = 0; i < stale.n; i++)
        if (fs_delete(c->fs, stale.v[i], true, NULL) == 0)
            trace(LOG_HDFS, "removed '%s', which a client that was killed left", stale.v[i]);
}

/* ---- putting ---- */

/* The parts of one cache_put(). */
struct parts {
    struct cache_part *v;
    size_t n;
};

static void cache_parts_done(struct parts *l)
{
    for (size_t i = 0; i < l->n; i++)
        source_free(l->v[i].source);
    free(l->v);
}

static int cache_add_part(struct parts *parts, struct cache_files *files,
                          const struct cache_part *like, struct err *err)
{
    const struct uploads_item *item = like->item;
    struct cache_part *p = &parts->v[parts->n++];
    struct cache_file *f = &files->v[files->n++];

    *p = *like;
    p->file = f;
    f->to = strdup(item ? item->to : UPLOADS_BUNDLE);
    f->role = item && item->role ? strdup(item->role) : NULL;
    f->archive = !item || item->archive || item->directory;
    if (item && item->remote)
        f->archive = item->archive;
    return f->to && (!item || !item->role || f->role) ? 0 : err_oom(err);
}

static int cache_make_parts(struct cache *c, struct uploads_list *list, struct parts *parts,
                            struct cache_files *files, struct err *err)
{
    struct cache_part part = { .cache = c, .list = list };
    int r = 0;

    parts->v = calloc(list->n + 1, sizeof(*parts->v));
    files->v = calloc(list->n + 1, sizeof(*files->v));
    if (!parts->v || !files->v)
        return err_oom(err);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        part.item = &list->v[i];
        if (!part.item->found)
            r = cache_add_part(parts, files, &part, err);
    }
    part.item = NULL;
    return r == 0 && list->bundle.n ? cache_add_part(parts, files, &part, err) : r;
}

typedef int part_fn(void *arg, struct err *err);
typedef bool part_test(const struct cache_part *p);

/* One step for all parts that it concerns, several at a time. The failure that counts is the first
 * one. What could not even be begun is not in the group, so it is remembered here (r). */
static int cache_each(struct cache *c, struct parts *parts, part_fn *fn, part_test *test,
                      size_t at_once, struct err *err)
{
    struct group g;
    int r = 0, ended;

    group_init(&g, c->loop, at_once);
    for (size_t i = 0; r == 0 && i < parts->n; i++)
        if (test(&parts->v[i]))
            r = group_go(&g, fn, &parts->v[i], err);
    ended = group_wait(&g, r < 0 ? NULL : err);
    return r < 0 ? r : ended; /* what could not even be begun counts too */
}

static bool any(const struct cache_part *p)
{
    (void)p;
    return true;
}

static bool cache_is_missing(const struct cache_part *p)
{
    return p->missing;
}

/* Is what lies there ours? When nothing does, nothing can be wrong with it. */
static int trust_cache(struct cache *c, struct err *err)
{
    int r = err_forgive(err, fs_trusted(c->fs, c->dir, err), -ENOENT);

    return r < 0 ? err_wrap(err, r, "the cache is not safe") : 0;
}

/* BASE and BASE/cache, where nobody else may look.
 * Done once, and only when something is to be written: a submit that finds all of its files there
 * changes nothing. The directories' owner is checked after they are made, because another user may
 * have been faster. */
static int cache_make_ready(struct cache *c, struct err *err)
{
    int r;

    if (c->ready)
        return 0;
    r = fs_mkdirs(c->fs, c->base, 0700, true, err);
    if (r == 0)
        r = fs_mkdirs(c->fs, c->dir, 0700, true, err);
    if (r == 0)
        r = trust_cache(c, err);
    if (r < 0)
        return r;
    cache_remove_stale(c);
    c->ready = true;
    return 0;
}

static void set_progress(struct parts *parts, struct progress *p)
{
    for (size_t i = 0; i < parts->n; i++)
        parts->v[i].progress = p;
}

static int cache_hash_all(struct cache *c, struct parts *parts, bool quiet, struct err *err)
{
    AUTO_PROGRESS *progress = NULL;
    uint64_t total = 0;
    int r;

    for (size_t i = 0; i < parts->n; i++) {
        const struct cache_part *p = &parts->v[i];

        total += p->item ? p->item->size : p->list->bundle.bytes;
    }
    r = progress_begin("reading", total, quiet, &progress, err);
    if (r < 0)
        return r;
    set_progress(parts, progress);
    r = cache_each(c, parts, cache_part_hash, any, READ_AT_ONCE, err);
    set_progress(parts, NULL);
    return r;
}

/* The same content twice is sent once: the second is looked for when the first is there. */
static void drop_twins(struct parts *parts)
{
    for (size_t i = 0; i < parts->n; i++)
        for (size_t j = 0; parts->v[i].missing && j < i; j++)
            if (parts->v[j].missing && str_eq(parts->v[i].hash, parts->v[j].hash))
                parts->v[i].missing = false;
}

static bool has_none(const struct cache_part *p)
{
    return !p->file->url;
}

static int cache_send_all(struct cache *c, struct parts *parts, bool quiet, struct err *err)
{
    AUTO_PROGRESS *progress = NULL;
    uint64_t total = 0;
    int r;

    for (size_t i = 0; i < parts->n; i++)
        total += parts->v[i].missing ? source_size(parts->v[i].source) : 0;
    r = progress_begin("sending", total, quiet, &progress, err);
    if (r < 0)
        return r;
    set_progress(parts, progress);
    r = cache_each(c, parts, cache_part_send, cache_is_missing, SEND_AT_ONCE, err);
    set_progress(parts, NULL);
    return r;
}

/* Until everything is there: once for what is missing, once more for those of the same content
 * under an ending that the first does not serve. */
static int send_missing(struct cache *c, struct parts *parts, bool quiet, struct err *err)
{
    int r = 0;

    for (;;) {
        size_t missing = 0;

        drop_twins(parts);
        for (size_t i = 0; i < parts->n; i++)
            missing += parts->v[i].missing;
        if (missing == 0)
            return 0;
        r = cache_make_ready(c, err);
        if (r == 0)
            r = cache_send_all(c, parts, quiet, err);
        for (size_t i = 0; i < parts->n; i++)
            parts->v[i].missing = false;
        if (r == 0)
            r = cache_each(c, parts, cache_part_find, has_none, ASK_AT_ONCE, err);
        if (r < 0)
            return r;
    }
}

/* The cache is trusted or not before anything is read from it: what is found there runs as this
 * user. */
int cache_put(struct cache *c, struct uploads_list *list, bool quiet, struct cache_files *ret,
              struct err *err)
{
    AUTO_DONE(cache_parts_done) struct parts parts = { 0 };
    int r = cache_make_parts(c, list, &parts, ret, err);

    if (r == 0)
        r = trust_cache(c, err);
    if (r == 0)
        r = cache_hash_all(c, &parts, quiet, err);
    if (r == 0)
        r = cache_each(c, &parts, cache_part_find, any, ASK_AT_ONCE, err);
    if (r == 0)
        r = send_missing(c, &parts, quiet, err);
    return r;
}
