/* cache_stores.c - the frame of every verb of `ydl cache`: the session, the file system with the
 * cache, and the ResourceManager, which knows what lives. See cache_stores.h. */
#include "cmd/cache/cache_stores.h"
#include "hadoop/fs/fs.h"
#include "hadoop/yarn/rm_client.h"

static int store_work(struct store *s, struct fs_set *set, struct err *err)
{
    const char *staging = *(const char *const *)s->x->cli->args; /* the first of them */
    AUTO_YARN_CLIENT *yarn = NULL;
    AUTO_CACHE *cache = NULL;
    AUTO_FREE char *base = NULL;
    int r = yarn_client_new(s->x->session, &yarn, err);

    if (r == 0)
        r = fs_find(set, staging, FS_ON_CLUSTER, &s->fs, &base, err);
    if (r == 0)
        r = cache_open(s->x->loop, set, staging, &cache, err);
    if (r < 0)
        return r;
    s->base = base;
    s->cache = cache;
    s->alive = (struct app_dirs_alive){ app_dirs_ask_yarn, yarn };
    return ((store_fn *)s->x->cli->verb->work)(s, err);
}

static int cache_stores_run(struct connection *x, void *arg, struct err *err)
{
    AUTO_FS_SET *set = NULL;
    struct store s = { .x = x };
    int r = connect_user(x, err);

    (void)arg;
    if (r == 0)
        r = fs_set_new(x->loop, x->session, &set, err);
    return r < 0 ? r : store_work(&s, set, err);
}

int store_run(struct cli *c, struct err *err)
{
    return connect_run(c, CONNECT_CONFIGURED, cache_stores_run, NULL, err);
}

static json_t *store_entry(const struct cache_entry *e)
{
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:s, s:o, s:I, s:I, s:o}", "hash", e->hash, "name",
                    json_text(e->name), "size", (json_int_t)e->size, "used_ms", (json_int_t)e->used,
                    "users", json_texts(e->users.v, e->users.n));
    return v;
}

int store_entries(const struct cache_entries *all, json_t **ret, struct err *err)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; i < all->n; i++)
        if (json_array_append_new(list, store_entry(&all->v[i])) < 0)
            return err_oom(err);
    *ret = take(list);
    return *ret ? 0 : err_oom(err);
}
