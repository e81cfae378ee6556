/* cache_private.h - what the files of cache.h share. */
#pragma once
#include "cli/progress.h"
#include "uploads/cache.h"
#include "uploads/cache_source.h"

struct cache {
    struct loop *loop;
    struct fs_set *set;
    struct fs *fs; /* where BASE is */
    char *base;    /* BASE as a path there */
    char *dir;     /* BASE/cache */
    struct hashes *hashes;
    bool ready; /* BASE/cache is there, and what killed clients left is not */
};

/* One file that is to be in the cache. */
struct cache_part {
    struct cache *cache;
    struct progress *progress;
    struct uploads_list *list;
    const struct uploads_item *item; /* NULL: the bundle */
    struct source *source;           /* NULL for what is on HDFS already */
    char hash[SHA256_TEXT];          /* "" until it is known */
    bool missing;                    /* it is not in the cache */
    struct cache_file *file;         /* what becomes of it */
};

/* The three steps, each for group_go(). `arg` is a struct cache_part. */
int cache_part_hash(void *arg, struct err *err); /* reads it, unless its hash is known */
int cache_part_find(void *arg, struct err *err); /* fills `file`, or sets `missing` */
int cache_part_send(void *arg, struct err *err); /* sends what is missing, fills `file` */

/* Removes what killed clients left behind in BASE/cache. Failures are ignored. */
void cache_remove_stale(struct cache *c);
