/* node_dir.h - the names in one directory of a node's cache. Any thread; nothing waits. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

#define NODE_DIR_MODELS "models"
#define NODE_DIR_PART ".part"
#define NODE_DIR_OLD ".old"
#define NODE_DIR_LOCK ".lock"

/* DIR/models, made if needed: nobody else may be able to exchange what is in it. *ret is the
 * caller's. */
int node_dir_make(const char *dir, char **ret, struct err *err);
/* The same without making it: -ENOENT. */
int node_dir_find(const char *dir, char **ret, struct err *err);
/* The disk that it is on, in bytes: what may still be written there (UINT64_MAX where nobody
 * knows), and all there is (0 where nobody knows). */
struct node_dir_disk {
    uint64_t free, total;
};
struct node_dir_disk node_dir_disk(const char *path);
/* Is it "HASH", or with `end` behind it? */
bool node_dir_is_hash(const char *name, const char *end);
