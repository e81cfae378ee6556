/* cache_stores.c - see cache_stores.h */
#include "cmd/cache/cache_stores.h"
#include "hadoop/fs/fs.h"
#include "hadoop/yarn/rm_client.h"

struct job {
    const char *staging;
    store_fn *fn;
};

static int store_work(struct store *s, const struct job *j, struct fs_set *set, struct err *err)
{
    AUTO_YARN_CLIENT *yarn = NULL;
    AUTO_CACHE *cache = NULL;
    AUTO_FREE char *base = NULL;
    int r = yarn_client_new(s->x->session, &yarn, err);

    if (r == 0)
        r = fs_find(set, j->staging, FS_ON_CLUSTER, &s->fs, &base, err);
    if (r == 0)
        r = cache_open(s->x->loop, set, j->staging, &cache, err);
    if (r < 0)
        return r;
    s->base = base;
    s->cache = cache;
    s->alive = (struct app_dirs_alive){ app_dirs_ask_yarn, yarn };
    return j->fn(s, err);
}

static int cache_stores_run(struct connection *x, void *arg, struct err *err)
{
    AUTO_FS_SET *set = NULL;
    struct store s = { .x = x };
    int r = connect_user(x, err);

    if (r == 0)
        r = fs_set_new(x->loop, x->session, &set, err);
    return r < 0 ? r : store_work(&s, arg, set, err);
}

int store_run(const struct cli *c, const char *staging, store_fn *fn, struct err *err)
{
    struct job j = { .staging = staging, .fn = fn };

    return connect_run(c, CONNECT_CONFIGURED, cache_stores_run, &j, err);
}

json_t *store_entry(const struct cache_entry *e)
{
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:s, s:o, s:I, s:I, s:o}", "hash", e->hash, "name",
                    json_text(e->name), "size", (json_int_t)e->size, "used_ms", (json_int_t)e->used,
                    "users", json_texts(e->users.v, e->users.n));
    return v;
}
