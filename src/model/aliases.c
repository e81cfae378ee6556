/* aliases.c - where an alias points to, and moving it. See aliases.h. */
#include "model/aliases.h"
#include "base/array.h"
#include "base/path.h"
#include "base/str.h"
#include "model/generations.h"
#include "model/layout.h"

#include <stdio.h>
#include <string.h>

static void alias_done(struct alias *a)
{
    free(a->name);
    free(a->by);
    *a = (struct alias){ 0 };
}

void alias_list_done(struct alias_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        alias_done(&l->v[i]);
    free(l->v);
    *l = (struct alias_list){ 0 };
}

static bool alias_version_ok(int64_t v)
{
    return v >= 0 && v <= MODEL_VERSION_MOST;
}

/* All zero but for the name when there is none. */
static int alias_read(const struct models *r, const char *model, const char *alias,
                      struct alias *ret, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_JSON *doc = NULL;
    const char *by;
    int x = models_path(r, model, &dir, err, LAYOUT_ALIASES "/%s", alias);

    *ret = (struct alias){ 0 };
    if (x == 0)
        x = generations_newest(r, dir, &ret->generation, &doc, err);
    if (x < 0)
        return err_wrap(err, x, "alias %s@%s", model, alias);
    by = json_string_value(json_object_get(doc, "by"));
    ret->version = doc ? json_int_or(doc, "version", 0) : 0;
    ret->previous = doc ? json_int_or(doc, "previous", 0) : 0;
    ret->at_ms = doc ? json_int_or(doc, "at_ms", 0) : 0;
    if (!alias_version_ok(ret->version) || !alias_version_ok(ret->previous))
        return err_set(err, -EBADMSG, "alias %s@%s: its newest record is damaged", model, alias);
    ret->name = strdup(alias);
    ret->by = strdup(by ? by : "");
    if (ret->name && ret->by)
        return 0;
    alias_done(ret);
    return err_oom(err);
}

int alias_get(const struct models *r, const char *model, const char *alias, int64_t *ret,
              struct err *err)
{
    struct alias a;
    int x = alias_read(r, model, alias, &a, err);

    if (x < 0)
        return x;
    *ret = a.version;
    alias_done(&a);
    if (*ret)
        return 0;
    err_set(err, -ENOENT, "there is no alias '%s' of '%s' in '%s'", alias, model, r->root);
    err_hint(err, "'ydl model alias %s@%s VERSION' makes it", model, alias);
    return -ENOENT;
}

static int alias_add(const struct models *r, const char *model, const char *alias,
                     struct alias_list *to, struct err *err)
{
    struct alias a;
    int x = alias_read(r, model, alias, &a, err);

    if (x < 0)
        return x;
    if (a.version && ARRAY_ADD(to->v, to->n, a) == 0)
        return 0;
    x = a.version ? err_oom(err) : 0;
    alias_done(&a);
    return x;
}

int alias_all(const struct models *r, const char *model, struct alias_list *ret, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int x = models_path(r, model, &dir, err, LAYOUT_ALIASES);

    if (x == 0)
        x = fs_list_open(r->fs, dir, &list, err);
    if (x == -ENOENT) {
        err_clear(err);
        return 0;
    }
    while (x == 0 && (x = fs_list_next(list, &e, err)) > 0)
        x = e->type == FS_DIRECTORY && model_name_ok(e->name)
                ? alias_add(r, model, e->name, ret, err)
                : 0;
    return x;
}

/* ---- moving ---- */

static int alias_is_published(const struct models *r, const char *model, int64_t version,
                              struct err *err)
{
    AUTO_MANIFEST m = { 0 };
    struct model_ref ref = { .version = version };

    snprintf(ref.name, sizeof(ref.name), "%s", model);
    return models_find(r, &ref, &m, err);
}

static int alias_write(const struct models *r, const char *model, const struct alias *a,
                       int64_t version, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_JSON *doc = NULL;
    int x = models_path(r, model, &dir, err, LAYOUT_ALIASES "/%s", a->name);

    if (x == 0)
        x = json_make(&doc, err, "{s:I, s:I}", "version", (json_int_t)version, "previous",
                      (json_int_t)a->version);
    if (x == 0)
        x = generations_add(r, dir, a->generation + 1, doc, err);
    if (x == -EEXIST) {
        err_set(err, x, "somebody else moved %s@%s at the same time", model, a->name);
        err_hint(err, "look where it is now: ydl model list %s", model);
    }
    return x;
}

/* Somebody may have removed the version between our look and our record: then the alias goes back
 * to where it was, and whoever removes looks at aliases after the version is hidden
 * (withdraw.c). */
static int alias_move(const struct models *r, const char *model, struct alias *a, int64_t version,
                      struct err *err)
{
    int x = version ? alias_is_published(r, model, version, err) : 0;

    if (x == 0)
        x = alias_write(r, model, a, version, err);
    if (x < 0 || !version)
        return x;
    x = alias_is_published(r, model, version, err);
    if (x == -ENOENT) {
        struct alias now = { .name = a->name, .version = version, .generation = a->generation + 1 };

        (void)alias_write(r, model, &now, a->version, NULL);
    }
    return x;
}

int alias_set(const struct models *r, const char *model, const char *alias, int64_t version,
              int64_t *ret_previous, struct err *err)
{
    struct alias a;
    int x = alias_read(r, model, alias, &a, err);

    if (x < 0)
        return x;
    if (!version && !a.version)
        x = err_set(err, -ENOENT, "there is no alias '%s' of '%s'", alias, model);
    else if (version != a.version)
        x = alias_move(r, model, &a, version, err);
    if (ret_previous)
        *ret_previous = a.version;
    alias_done(&a);
    return x;
}
