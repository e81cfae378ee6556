/* cache_put.c - puts one file into the cache: hash it, look for it, send it under a temporary
 * name while hashing again, rename it. Hashing and reading run in the work pool; renaming cannot
 * be interrupted, so that no file without an owner is left. See cache.h. */
#include "base/path.h"
#include "loop/fiber.h"
#include "loop/loop.h"
#include "loop/work.h"
#include "uploads/cache_name.h"
#include "uploads/cache_private.h"

#include <string.h>

#define CHUNK (512 * KIB)      /* bytes on their way from the disk to the cluster */
#define HASH_CHUNK (256 * KIB) /* what is hashed stays in a processor's own memory */
#define HASH_TURN (16 * MIB)   /* before a worker thread reports */

/* ---- the source, in a worker thread ---- */

struct turn {
    struct source *source;
    void *bytes;
    ssize_t n; /* read, or hashed */
    char *hash;
    struct err err;
};

static int begin_work(void *arg)
{
    struct turn *t = arg;

    return source_begin(t->source, &t->err);
}

static int read_work(void *arg)
{
    struct turn *t = arg;

    t->n = source_read(t->source, t->bytes, CHUNK, &t->err);
    return t->n < 0 ? (int)t->n : 0;
}

static int hash_work(void *arg)
{
    struct turn *t = arg;
    ssize_t got = 1;

    for (t->n = 0; got > 0 && t->n < (ssize_t)HASH_TURN; t->n += got) {
        got = source_read(t->source, t->bytes, HASH_CHUNK, &t->err);
        if (got < 0)
            return (int)got;
    }
    return 0;
}

static int end_work(void *arg)
{
    struct turn *t = arg;

    return source_end(t->source, t->hash, &t->err);
}

/* A thread cannot be interrupted, so we look between two turns. */
static int cache_part_turn(struct cache *c, int (*fn)(void *arg), struct turn *t, struct err *err)
{
    int r;

    if (fiber_cancelled(c->loop))
        return err_set(err, -ECANCELED, "interrupted");
    r = work_run(c->loop, fn, t);
    if (r < 0 && err)
        *err = t->err;
    return r;
}

/* ---- its hash ---- */

struct look {
    struct cache_part *part;
    char key[SHA256_TEXT];
    bool keep; /* the key tells what it is now */
    struct err err;
};

static int cache_part_look_work(void *arg)
{
    struct look *k = arg;
    int r = source_new(k->part->list, k->part->item, &k->part->source, &k->err);

    k->keep = r == 0 && source_key(k->part->source, k->key);
    return r;
}

static int cache_part_hash_all(struct cache_part *p, struct err *err)
{
    AUTO_FREE void *bytes = malloc(HASH_CHUNK);
    struct turn t = { .source = p->source, .bytes = bytes, .hash = p->hash };
    int r = bytes ? cache_part_turn(p->cache, begin_work, &t, err) : err_oom(err);

    progress_label(p->progress, source_name(p->source));
    do {
        if (r == 0)
            r = cache_part_turn(p->cache, hash_work, &t, err);
        if (r == 0)
            progress_add(p->progress, (uint64_t)t.n);
    } while (r == 0 && t.n > 0);
    return r < 0 ? r : cache_part_turn(p->cache, end_work, &t, err);
}

/* What was hashed once is remembered under a key of size and times (cache_hashes.h). `keep` is
 * false when a file was changed a moment ago: its time would not show another change in the same
 * tick. */
int cache_part_hash(void *arg, struct err *err)
{
    struct cache_part *p = arg;
    struct look k = { .part = p };
    int r;

    if (p->item && p->item->remote)
        return 0;
    r = work_run(p->cache->loop, cache_part_look_work, &k);
    if (r < 0) {
        if (err)
            *err = k.err;
        return r;
    }
    if (k.keep && hashes_find(p->cache->hashes, k.key, p->hash)) {
        progress_add(p->progress, source_size(p->source));
        return 0;
    }
    r = cache_part_hash_all(p, err);
    if (r == 0 && k.keep)
        hashes_add(p->cache->hashes, k.key, p->hash);
    return r;
}

/* ---- where it is ---- */

static int cache_part_fill(struct cache_part *p, struct fs *fs, const struct fs_entry *e,
                           const char *key, struct err *err)
{
    struct cache_file *f = p->file;
    int r = fs_uri(fs, e->path, &f->url, err);

    if (r < 0)
        return r;
    f->key = key ? strdup(key) : NULL;
    if (key && !f->key)
        return err_oom(err);
    f->size = e->length;
    f->timestamp = e->mtime;
    return 0;
}

/* Files that are on HDFS already are used in place. Its time and length go to YARN as they are now:
 * a NodeManager refuses a file that was changed after that. */
static int cache_part_find_remote(struct cache_part *p, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FS_ENTRY e = { 0 };
    struct fs *fs;
    int r = fs_find(p->cache->set, p->item->from, FS_ON_CLUSTER, &fs, &path, err);

    if (r == 0)
        r = fs_stat(fs, path, &e, err);
    if (r == 0 && p->item->archive && e.type == FS_DIRECTORY)
        r = err_set(err, -EISDIR, "'%s' is a directory, not an archive", p->item->from);
    return r < 0 ? r : cache_part_fill(p, fs, &e, NULL, err);
}

/* Whether YARN would treat this file of the same content as it is to treat ours. */
static bool cache_part_serves(const struct cache_part *p, const struct fs_entry *e)
{
    const char *from = p->item && !p->item->directory ? p->item->from : ".tar";
    const char *name = source_packed(p->source) ? "x.tar" : from;

    if (e->type != FS_FILE || e->length != source_size(p->source) ||
        fs_is_ours(p->cache->fs, e, NULL) <= 0)
        return false; /* damaged, or somebody else's: not used */
    return !p->file->archive || str_eq(cache_ending(e->name), cache_ending(name));
}

/* Another name for the same content is as good. */
static int find_in(struct cache_part *p, const char *dir, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(p->cache->fs, dir, &list, err);

    while (r == 0) {
        r = fs_list_next(list, &e, err);
        if (r <= 0)
            return r;
        if (cache_part_serves(p, e)) {
            AUTO_FREE char *key = str_printf("%s/%s", p->hash, e->name);

            r = key ? cache_part_fill(p, p->cache->fs, e, key, err) : err_oom(err);
            return r < 0 ? r : 1;
        }
        r = 0;
    }
    return r;
}

/* Touching is the handshake with cache_prune.c: it is done after the file was seen, and prune looks
 * at the time after it has hidden the directory. Whichever of the two is second notices the
 * other. */
int cache_part_find(void *arg, struct err *err)
{
    struct cache_part *p = arg;
    AUTO_FREE char *dir = NULL;
    int r;

    if (!p->source)
        return cache_part_find_remote(p, err);
    dir = path_join(p->cache->dir, p->hash);
    if (!dir)
        return err_oom(err);
    r = find_in(p, dir, err);
    /* From here on prune sees that the file is in use; had it been quicker, it is gone now. */
    if (r > 0)
        r = fs_set_times(p->cache->fs, dir, loop_wall(), -1, err) < 0 ? -ENOENT : 1;
    if (r < 0 && r != -ENOENT)
        return r;
    p->missing = r <= 0;
    if (p->missing) {
        free(take(p->file->url));
        free(take(p->file->key));
        err_clear(err);
    }
    return 0;
}

/* ---- sending ---- */

/* Hashed once more while it is sent: what lies under a hash must have it, whatever happened to the
 * file between the two. */
static int send_bytes(struct cache_part *p, struct fs_writer *w, struct err *err)
{
    AUTO_FREE void *bytes = malloc(CHUNK);
    char hash[SHA256_TEXT];
    struct turn t = { .source = p->source, .bytes = bytes, .hash = hash };
    int r = bytes ? cache_part_turn(p->cache, begin_work, &t, err) : err_oom(err);

    progress_label(p->progress, source_name(p->source));
    do {
        if (r == 0)
            r = cache_part_turn(p->cache, read_work, &t, err);
        if (r == 0 && t.n > 0)
            r = fs_write(w, bytes, (size_t)t.n, err);
        if (r == 0)
            progress_add(p->progress, (uint64_t)t.n);
    } while (r == 0 && t.n > 0);
    if (r == 0)
        r = cache_part_turn(p->cache, end_work, &t, err);
    if (r == 0 && !str_eq(hash, p->hash)) {
        r = err_set(err, -ESTALE, "'%s' changed while it was sent", source_name(p->source));
        err_hint(err, "try again when nobody writes to it");
    }
    return r;
}

/* Shielded, where a call that is cut off might still be carried out and leave a file that nobody
 * knows of. */
static int cache_part_send_to(struct cache_part *p, const char *tmp, struct err *err)
{
    struct cache *c = p->cache;
    struct fs_create options = { .mode = 0600 };
    AUTO_FS_WRITER *w = NULL;
    int r;

    if (fiber_cancelled(c->loop))
        return err_set(err, -ECANCELED, "interrupted");
    fiber_shield(c->loop, true);
    r = fs_create(c->fs, tmp, &options, &w, err);
    fiber_shield(c->loop, false);
    if (r == 0)
        r = send_bytes(p, w, err);
    return r < 0 ? r : fs_close(take(w), err);
}

/* Another ydl client was faster: theirs has the same content. A file with the name but another
 * length is damaged, and another user's file may be anything: both are replaced. */
static int yield_to(struct cache_part *p, const char *path, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_exists(p->cache->fs, path, &e, err);

    if (r < 0)
        return r;
    if (r > 0 && e.length == source_size(p->source) && fs_is_ours(p->cache->fs, &e, NULL) > 0)
        return 1;
    return r > 0 ? fs_delete(p->cache->fs, path, true, err) : 0;
}

/* Gives it its name.
 *
 *     make the directory ──► rename into it ──► done
 *              ▲                 ├─ it is there: same content ──► ours is removed, theirs is used
 *              └── 3 tries ◄─────┤              damaged, foreign ─► removed
 *                                └─ the directory is gone: prune was here */
static int commit(struct cache_part *p, const char *tmp, const char *dir, const char *path,
                  struct err *err)
{
    struct fs *fs = p->cache->fs;
    int r = -EAGAIN;

    for (int tries = 0; r < 0 && tries < 3; tries++) {
        err_clear(err);
        r = fs_mkdirs(fs, dir, 0700, true, err);
        if (r == 0)
            r = fs_rename(fs, tmp, path, false, err);
        if (r == -EEXIST) {
            err_clear(err);
            r = yield_to(p, path, err);
            if (r == 0)
                r = -EAGAIN;
            else if (r > 0)
                return fs_delete(fs, tmp, false, err);
        } else if (r < 0 && r != -ENOENT) { /* -ENOENT: prune took the empty directory away */
            return r;
        }
    }
    return r;
}

static int cache_part_finish(struct cache_part *p, const char *tmp, struct err *err)
{
    struct cache *c = p->cache;
    AUTO_FREE char *name =
        cache_name(p->item && !p->item->directory ? p->item->from : source_name(p->source),
                   source_packed(p->source));
    AUTO_FREE char *key = name ? path_join(p->hash, name) : NULL;
    AUTO_FREE char *dir = path_join(c->dir, p->hash);
    AUTO_FREE char *path = key ? path_join(c->dir, key) : NULL;
    AUTO_FS_ENTRY e = { 0 };
    int r = path && dir ? commit(p, tmp, dir, path, err) : err_oom(err);

    if (r == 0)
        r = fs_stat(c->fs, path, &e, err);
    if (r == 0)
        r = cache_part_fill(p, c->fs, &e, key, err);
    p->file->sent = r == 0;
    return r;
}

/* A temporary name carries who made it (cache_temp()), so that what a killed client leaves can be
 * told from what a living one is writing. */
int cache_part_send(void *arg, struct err *err)
{
    struct cache_part *p = arg;
    struct cache *c = p->cache;
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *tmp = NULL;
    int r = cache_temp(&name, err);

    if (r < 0)
        return r;
    tmp = path_join(c->dir, name);
    if (!tmp)
        return err_oom(err);
    r = cache_part_send_to(p, tmp, err);
    if (r < 0)
        return err_wrap(err, r, "send '%s'", source_name(p->source));
    fiber_shield(c->loop, true); /* from here on it is quicker to finish than to clean up */
    r = cache_part_finish(p, tmp, err);
    if (r < 0)
        (void)fs_delete(c->fs, tmp, false, NULL);
    fiber_shield(c->loop, false);
    return r;
}
