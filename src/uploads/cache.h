/* cache.h - files on the cluster by their content, so that what was sent once is not sent again.
 *
 *     BASE/cache/                     0700
 *         HASH/NAME                   0600: SHA-256 of its bytes; NAME ends as YARN needs it to
 *                                     unpack it. The time of the directory HASH is when it was last
 *                                     used; that of the file never changes: it is the key by which
 *                                     NodeManagers keep their copies.
 *         .put-…                      on its way; gets its name when all of it has arrived
 *     BASE/jobs/APP/uses              HASH/NAME lines: what this application needs
 *
 * An upload is hashed once more on its way, so that every file really has the hash in its name,
 * whatever happened to the file meanwhile. Two clients that send the same at once both succeed. An
 * unfinished upload of a killed client is never used; it is removed by the next upload from the
 * same machine, and a day later by one from anywhere.
 *
 * Fibers only. One fiber per cache; it starts others while it uploads. */
#pragma once
#include "hadoop/fs/fs.h"
#include "loop/loop.h"
#include "uploads/uploads.h"

struct cache; /* opaque */

/* `base` is BASE as a path or URI of the cluster. Makes BASE/cache when something is put. Reads
 * $XDG_CACHE_HOME/ydl/hashes, which is never missed. All borrowed. *ret is the caller's. */
int cache_open(struct loop *l, struct fs_set *set, const char *base, struct cache **ret,
               struct err *err);
struct cache *cache_close(struct cache *c); /* NULL is fine; always NULL */
AUTO_DEFINE(cache, struct cache *, cache_close);
#define AUTO_CACHE AUTO(cache) struct cache

/* Something on the cluster that a container can be given. */
struct cache_file {
    char *to, *role; /* as in uploads_item; the bundle's `to` is UPLOADS_BUNDLE */
    char *url;       /* "hdfs://ns/user/me/.ydl/cache/HASH/NAME" */
    char *key;       /* "HASH/NAME"; NULL for what is not in the cache */
    uint64_t size;
    int64_t timestamp; /* its modification time in ms, which YARN wants to be told */
    bool archive;
    bool sent; /* it was not there before */
};

struct cache_files {
    struct cache_file *v;
    size_t n;
};
void cache_files_done(struct cache_files *l);
#define AUTO_CACHE_FILES AUTO_DONE(cache_files_done) struct cache_files /* = { 0 } */
const struct cache_file *cache_files_find(const struct cache_files *l, const char *to);

/* Uploads everything in the list, each named file by itself and the found ones as one archive;
 * several at a time, with a progress line unless `quiet`. `ret` was zeroed. -ESTALE when a file
 * changes meanwhile, -ENOENT for a file on HDFS that is not there. On failure nothing of this call
 * is half there. */
int cache_put(struct cache *c, struct uploads_list *list, bool quiet, struct cache_files *ret,
              struct err *err);

/* Says that the application needs these: prune keeps them as long as it lives. BASE/jobs/APP must
 * be there, made before cache_put(): its presence tells prune that a submit is under way. */
int cache_use(struct cache *c, const char *app, const struct cache_files *files, struct err *err);

/* ---- looking and pruning ---- */

struct cache_entry {
    char *hash, *name;
    uint64_t size;
    int64_t used;      /* ms since 1970 */
    struct strs users; /* living applications that need it */
};

struct cache_entries {
    struct cache_entry *v;
    size_t n;
};
void cache_entries_done(struct cache_entries *l);
#define AUTO_CACHE_ENTRIES AUTO_DONE(cache_entries_done) struct cache_entries /* = { 0 } */

struct app_dirs_alive; /* app_dirs.h */

/* All of it, last used first. An empty or missing cache is no error. */
int cache_list(struct cache *c, const struct app_dirs_alive *alive, struct cache_entries *ret,
               struct err *err);

/* Removes what was not used since `before` (ms since 1970) and what killed clients left; never
 * what a living application needs, or what a submit under way may be counting on. `ret` gets what
 * was removed, or with `dry` would be. */
int cache_prune(struct cache *c, const struct app_dirs_alive *alive, int64_t before, bool dry,
                struct cache_entries *ret, struct err *err);
