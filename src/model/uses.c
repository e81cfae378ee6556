/* uses.c - aliases and deployments, as one list of who needs which version. See uses.h. */
#include "model/uses.h"
#include "base/array.h"
#include "model/aliases.h"
#include "model/generations.h"
#include "model/layout.h"

#include <string.h>

#define VERSIONS_MOST 1000 /* of one deployment */

void use_list_done(struct use_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].name);
    free(l->v);
    *l = (struct use_list){ 0 };
}

static int uses_add(struct use_list *l, int64_t version, bool deployment, const char *name,
                    struct err *err)
{
    struct use one = { version, deployment, strdup(name) };

    if (one.name && ARRAY_ADD(l->v, l->n, one) == 0)
        return 0;
    free(one.name);
    return err_oom(err);
}

static int uses_add_aliases(const struct models *r, const char *model, struct use_list *l,
                            struct err *err)
{
    AUTO_ALIAS_LIST all = { 0 };
    int x = alias_all(r, model, &all, err);

    for (size_t i = 0; x == 0 && i < all.n; i++)
        x = uses_add(l, all.v[i].version, false, all.v[i].name, err);
    return x;
}

/* ---- deployments ---- */

static int uses_add_file(const struct models *r, const struct fs_entry *e, struct use_list *l,
                         struct err *err)
{
    AUTO_FREE char *name = strdup(e->name);
    AUTO_JSON *doc = NULL;
    const json_t *list, *one;
    size_t i;
    int x = name ? generations_read(r, e->path, &doc, err) : err_oom(err);

    if (x == -ENOENT) { /* it ended just now */
        err_clear(err);
        return 0;
    }
    if (x < 0)
        return x;
    list = json_object_get(doc, "versions");
    if (!json_is_array(list) || json_array_size(list) > VERSIONS_MOST)
        return err_set(err, -EBADMSG, "'%s' does not list its versions", e->path);
    json_array_foreach(list, i, one)
    {
        if (!json_is_integer(one))
            return err_set(err, -EBADMSG, "'%s' does not list its versions", e->path);
        if (x == 0)
            x = uses_add(l, json_integer_value(one), true, name, err);
    }
    return x;
}

static int uses_add_deployments(const struct models *r, const char *model, struct use_list *l,
                                struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int x = models_path(r, model, &dir, err, LAYOUT_DEPLOYMENTS);

    if (x == 0)
        x = fs_list_open(r->fs, dir, &list, err);
    if (x == -ENOENT) {
        err_clear(err);
        return 0;
    }
    while (x == 0 && (x = fs_list_next(list, &e, err)) > 0)
        x = e->type == FS_FILE && *e->name != '.' ? uses_add_file(r, e, l, err) : 0;
    return x;
}

int uses_of(const struct models *r, const char *model, struct use_list *ret, struct err *err)
{
    int x = uses_add_deployments(r, model, ret, err);

    return x < 0 ? x : uses_add_aliases(r, model, ret, err);
}

const struct use *uses_find(const struct use_list *l, int64_t version)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].version == version)
            return &l->v[i];
    return NULL;
}
