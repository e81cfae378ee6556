/* node_cache.h - versions of models from HDFS on the disks of this node: fetched once, however many
 * replicas want them.
 *
 *     DIR/models/              ours alone (0700)
 *         HASH/                a version as it is in the registry: MANIFEST.json, model/…, warmup/…
 *                              HASH is the SHA-256 of MANIFEST.json, which has those of all files
 *         HASH.part/           the same on its way; it gets its name when every byte was checked
 *         HASH.lock            who uses it and who fetches it (node_lock.h); its time is that of
 *                              the last use
 *
 * A process that is killed leaves a .part at most, which the next one removes. Whoever got a
 * version holds its lock, and nobody removes it meanwhile. Fibers only. */
#pragma once
#include "base/str.h"
#include "loop/loop.h"

struct session;

#define NODE_CACHE_LIMIT (INT64_C(50) << 30) /* bytes, unless somebody says otherwise */

/* Per cent of a disk that the cache leaves free in the directories of a NodeManager, which takes a
 * disk that is fuller than 90 % for bad, and with it perhaps the node
 * (yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage). */
#define NODE_CACHE_KEEP_FREE 10

struct node_cache_want {
    const struct strs *dirs; /* DIR, in the order in which they are tried */
    uint64_t limit;          /* bytes in each of them, beyond which unused versions are removed */
    unsigned keep_free;      /* per cent of a disk, unless others have filled more of it by then */
    const char *registry;    /* hdfs://… */
    const char *model;
    int64_t version;
    const char
        *hash;      /* of its manifest, from whoever chose the version; NULL: as it is there now */
    bool check_all; /* read every byte of what is there already: it may be why we failed before */
    /* Signs in, for each attempt anew, so that newer tokens count. *ret becomes the cache's. */
    int (*connect)(void *user, struct session **ret, struct err *err);
    /* How far the fetch is, ours or that of the process that is waited for. Must not wait. */
    void (*on_progress)(void *user, uint64_t done, uint64_t total);
    void *user;
};

struct node_cache_got {
    char *path; /* of the version; the caller's */
    int lock;   /* is held as long as this descriptor is open, also by a program that inherits it */
    bool fetched; /* by us, now */
};

/* Finds the version here, or fetches it, or waits for another process that does. -EACCES where the
 * user may not read it, -EBADMSG when the registry's files are damaged, -ESTALE when the manifest
 * is not the one that was chosen, -ENOSPC when it fits nowhere, -ETIMEDOUT when nothing moved for
 * minutes. Without the registry's help where it is here already and `hash` is known. */
int node_cache_get(struct loop *l, const struct node_cache_want *w, struct node_cache_got *ret,
                   struct err *err);

/* ---- looking and pruning; these do not wait ---- */

struct node_cache_entry {
    char *path, *hash, *model;
    int64_t version, used_ms; /* of the last use, since 1970 */
    uint64_t size;
    bool in_use;
};
struct node_cache_entries {
    struct node_cache_entry *v;
    size_t n;
};
void node_cache_entries_done(struct node_cache_entries *l);
#define AUTO_NODE_CACHE_ENTRIES AUTO_DONE(node_cache_entries_done) struct node_cache_entries

/* What is in DIR, last used first. None where there is no such directory. */
int node_cache_list(const char *dir, struct node_cache_entries *ret, struct err *err);

struct node_cache_prune {
    uint64_t keep;  /* bytes that may stay */
    int64_t before; /* and only what was used last before that; INT64_MAX: whatever it was */
    bool dry;
};
/* Removes versions that nobody uses, those that were used longest ago first, and what killed
 * processes left. `ret` gets what was removed, or with `dry` would be. One that cannot be removed
 * keeps no other; the first failure is returned. */
int node_cache_prune(const char *dir, const struct node_cache_prune *how,
                     struct node_cache_entries *ret, struct err *err);
