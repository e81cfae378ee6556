/* uses.c - aliases and deployments, as one list of who needs which version. See uses.h. */
#include "model/uses.h"
#include "base/array.h"
#include "base/path.h"
#include "model/aliases.h"
#include "model/generations.h"
#include "model/layout.h"
#include "model/store.h"
#include "model/uses_job.h"

#include <string.h>

#define VERSIONS_MOST 1000 /* of one deployment */

static void use_done(struct use *u)
{
    free(u->name);
    free(u->path);
}

void use_list_done(struct use_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        use_done(&l->v[i]);
    free(l->v);
    *l = (struct use_list){ 0 };
}

/* `path`: of a deployment's file; NULL: an alias. */
static int uses_add(struct use_list *l, int64_t version, const char *name, const char *path,
                    struct err *err)
{
    struct use one = { version, path != NULL, strdup(name), path ? strdup(path) : NULL };

    if (one.name && (!path || one.path) && ARRAY_ADD(l->v, l->n, one) == 0)
        return 0;
    use_done(&one);
    return err_oom(err);
}

static int uses_add_aliases(const struct models *r, const char *model, struct use_list *l,
                            struct err *err)
{
    AUTO_ALIAS_LIST all = { 0 };
    int x = alias_all(r, model, &all, err);

    for (size_t i = 0; x == 0 && i < all.n; i++)
        x = uses_add(l, all.v[i].version, all.v[i].name, NULL, err);
    return x;
}

/* ---- deployments ---- */

/* It was killed, or its machine was, and could not delete its file. */
static bool uses_is_over(const json_t *doc)
{
    int64_t at = json_int_or(doc, "at_ms", 0);

    return (at > 0 && loop_wall() - at > USES_DAY_MS) || uses_job_has_ended(doc);
}

static int uses_add_file(const struct models *r, const struct fs_entry *e, struct use_list *l,
                         struct err *err)
{
    AUTO_FREE char *id = strdup(e->name);
    AUTO_FREE char *path = strdup(e->path);
    AUTO_JSON *doc = NULL;
    const json_t *list, *one;
    const char *name;
    size_t i;
    int x = id && path ? generations_read(r, path, &doc, err) : err_oom(err);

    if (x == -ENOENT) { /* it ended just now */
        err_clear(err);
        return 0;
    }
    if (x < 0)
        return x;
    list = json_object_get(doc, "versions");
    if (!json_is_array(list) || json_array_size(list) > VERSIONS_MOST)
        return err_set(err, -EBADMSG, "'%s' does not list its versions", path);
    if (uses_is_over(doc))
        return 0;
    name = json_string_value(json_object_get(doc, "name"));
    json_array_foreach(list, i, one)
    {
        if (!json_is_integer(one))
            return err_set(err, -EBADMSG, "'%s' does not list its versions", path);
        if (x == 0)
            x = uses_add(l, json_integer_value(one), name && *name ? name : id, path, err);
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

/* ---- saying so ---- */

static int uses_path(const struct models *r, const char *model, const char *id, char **ret,
                     struct err *err)
{
    int x = model_name_check("deployment", id, err);

    return x < 0 ? x : models_path(r, model, ret, err, LAYOUT_DEPLOYMENTS "/%s.json", id);
}

/* Unlike generations this replaces what is there: only one deployment has this id, and its past is
 * of no use to anybody. */
static int uses_write(const struct models *r, const char *tmp, const char *path, const char *text,
                      struct err *err)
{
    AUTO_FREE char *file = path_join(tmp, "record");
    int x = file ? fs_mkdirs(r->fs, tmp, 0700, false, err) : err_oom(err);

    if (x == 0)
        x = model_store_put(r, file, text, err);
    return x < 0 ? x : fs_rename(r->fs, file, path, true, err);
}

int uses_say(const struct models *r, const struct uses_record *u, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *tmp = NULL;
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_JSON *doc = NULL;
    int x =
        json_make(&doc, err, "{s:O, s:o, s:o, s:I}", "versions", u->versions, "name",
                  json_text(u->name), "job", json_text(u->job), "at_ms", (json_int_t)loop_wall());

    if (x == 0)
        x = uses_job_mark(doc, err);
    if (x == 0 && !(text = json_dumps(doc, JSON_COMPACT)))
        x = err_oom(err);
    if (x == 0)
        x = uses_path(r, u->model, u->id, &path, err);
    if (x == 0 && !(dir = path_dir(path)))
        x = err_oom(err);
    if (x == 0)
        x = model_store_begin(r, err);
    if (x == 0)
        x = model_store_mkdir(r, dir, err);
    if (x == 0)
        x = model_store_staging(r, &tmp, err);
    if (x < 0)
        return x;
    x = uses_write(r, tmp, path, text, err);
    (void)model_store_remove(r, tmp, NULL);
    return x < 0 ? x : model_store_sync_dir(r->fs, dir, err);
}

int uses_forget(const struct models *r, const char *model, const char *id, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int x = uses_path(r, model, id, &path, err);

    return x < 0 ? x : model_store_remove(r, path, err);
}
