/* cache_models.c - the cache of replicas that run on this machine, as its user sees it: no cluster
 * is needed. See cache_models.h. */
#include "cmd/cache/cache_models.h"
#include "base/json.h"
#include "base/path.h"
#include "cli/doc.h"
#include "cli/globals.h"

#include <stdio.h>

/* clang-format off */
static const struct table_column columns[] = {
    { "MODEL",     false, "{model}" },
    { "VERSION",   true,  "{version}" },
    { "SIZE",      true,  "{size|size}" },
    { "LAST USED", false, "{used_ms|when}" },
    { "USE",       false, "{use}" },
};
/* clang-format on */

static json_t *models_json(const struct node_cache_entries *all)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < all->n; i++) {
        const struct node_cache_entry *e = &all->v[i];

        if (json_array_append_new(list,
                                  json_pack("{s:o, s:I, s:I, s:I, s:b, s:s, s:s, s:o}", "model",
                                            json_text(*e->model ? e->model : "?"), "version",
                                            (json_int_t)e->version, "size", (json_int_t)e->size,
                                            "used_ms", (json_int_t)e->used_ms, "in_use", e->in_use,
                                            "use", e->in_use ? "served now" : "-", "hash", e->hash,
                                            "path", json_text(e->path))) < 0)
            return NULL;
    }
    return take(list);
}

int cache_models_list(const struct cli *c, struct err *err)
{
    AUTO_NODE_CACHE_ENTRIES all = { 0 };
    AUTO_FREE char *dir = NULL;
    AUTO_JSON *list = NULL;
    int r = path_xdg(PATH_CACHE, "ydl", &dir, err);

    if (r == 0)
        r = node_cache_list(dir, &all, err);
    if (r < 0)
        return r;
    list = models_json(&all);
    if (!list)
        return err_oom(err);
    return globals_of(c)->json ? doc_print(err, "{s:O}", "models", list)
                               : doc_table(list, columns, COUNT_OF(columns), err);
}

static int print_gone(const struct node_cache_entries *gone, uint64_t bytes, bool dry,
                      struct err *err)
{
    char size[STR_SIZE_MAX];

    for (size_t i = 0; i < gone->n; i++)
        printf("%s %s:%lld (%s)\n", dry ? "would remove" : "removed",
               *gone->v[i].model ? gone->v[i].model : "?", (long long)gone->v[i].version,
               str_size(gone->v[i].size, size));
    printf("%zu version%s, %s%s\n", gone->n, gone->n == 1 ? "" : "s", str_size(bytes, size),
           dry ? " could go" : "");
    return fflush(stdout) < 0 || ferror(stdout) ? err_sys(err, "write the output") : 0;
}

int cache_models_prune(const struct cli *c, const struct node_cache_prune *how, struct err *err)
{
    AUTO_NODE_CACHE_ENTRIES gone = { 0 };
    AUTO_FREE char *dir = NULL;
    uint64_t bytes = 0;
    json_t *list;
    int r = path_xdg(PATH_CACHE, "ydl", &dir, err);

    if (r == 0)
        r = node_cache_prune(dir, how, &gone, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < gone.n; i++)
        bytes += gone.v[i].size;
    if (!globals_of(c)->json)
        return print_gone(&gone, bytes, how->dry, err);
    list = models_json(&gone);
    return list ? doc_print(err, "{s:o, s:I, s:b}", "removed", list, "bytes", (json_int_t)bytes,
                            "dry_run", how->dry)
                : err_oom(err);
}
