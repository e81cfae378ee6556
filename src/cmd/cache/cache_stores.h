/* cache_stores.h - what the verbs of `ydl cache` share: the cache, and who knows which applications
 * live. Fibers only. */
#pragma once
#include "base/json.h"
#include "cli/cli.h"
#include "client/connect.h"
#include "uploads/app_dirs.h"
#include "uploads/cache.h"

extern const struct cli_verb verb_cache_list, verb_cache_prune;

struct store {
    struct connection *x;
    struct fs *fs;
    char *base; /* BASE as a path there */
    struct cache *cache;
    struct app_dirs_alive alive;
};

typedef int store_fn(struct store *s, struct err *err);

/* A verb's `run` for the cluster: calls their function with the cache below --staging, which is the
 * first member of their arguments. */
int store_run(struct cli *c, struct err *err);

/* The arguments of the running verb. */
static inline const void *store_args(const struct store *s)
{
    return s->x->cli->args;
}

/* A list of {hash, name, size, used_ms, users: [application…]}. *ret is the caller's. */
int store_entries(const struct cache_entries *all, json_t **ret, struct err *err);

#define STORE_STAGING ".ydl" /* in the home directory */
#define STORE_STAGING_HELP "directory of jobs on the cluster"
