/* models.c - lists and looks at what is published; changes nothing. See models.h. */
#include "model/models.h"
#include "base/array.h"
#include "base/path.h"
#include "model/aliases.h"
#include "model/layout.h"

#include <stdio.h>
#include <string.h>

#define MODELS_MOST 100000

int models_open(struct loop *l, struct fs_set *set, const char *place, struct models *ret,
                struct err *err)
{
    AUTO_FREE char *own = NULL;
    AUTO_FREE char *from = NULL;
    int r = place ? 0 : models_place(&own, &from, err);

    *ret = (struct models){ .loop = l, .set = set };
    if (r == 0)
        r = fs_find(set, place ? place : own, FS_ON_LOCAL, &ret->fs, &ret->root, err);
    if (r < 0 && from)
        return err_wrap(err, r, "model.registry in '%s'", from);
    return r;
}

bool models_is_remote(const char *place)
{
    return place && *place != '/' && strstr(place, "://") && !str_starts(place, "file:");
}

void models_done(struct models *r)
{
    free(r->root);
    *r = (struct models){ 0 };
}

void version_list_done(struct version_list *l)
{
    free(l->v);
    *l = (struct version_list){ 0 };
}

static int models_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void version_list_sort(struct version_list *l)
{
    if (l->n > 1)
        qsort(l->v, l->n, sizeof(l->v[0]), models_by_number);
}

int models_path(const struct models *r, const char *name, char **ret, struct err *err,
                const char *fmt, ...)
{
    AUTO_FREE char *below = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&below, fmt, ap);
    va_end(ap);
    if (n < 0) {
        below = NULL;
        return err_oom(err);
    }
    *ret = str_printf("%s/%s%s%s", str_eq(r->root, "/") ? "" : r->root, name, *below ? "/" : "",
                      below);
    return *ret ? 0 : err_oom(err);
}

/* ---- lists ---- */

int models_names(const struct models *r, struct strs *ret, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int x = fs_list_open(r->fs, r->root, &list, err);

    if (x == -ENOENT) {
        err_clear(err);
        return 0;
    }
    while (x == 0 && (x = fs_list_next(list, &e, err)) > 0) {
        x = 0;
        if (e->type != FS_DIRECTORY || !model_name_ok(e->name))
            continue;
        if (ret->n == MODELS_MOST)
            return err_set(err, -E2BIG, "more than %d models in '%s'", MODELS_MOST, r->root);
        x = strs_add(ret, e->name) < 0 ? err_oom(err) : 0;
    }
    return x;
}

static int models_no_model(const struct models *r, const char *name, struct err *err)
{
    err_set(err, -ENOENT, "there is no model '%s' in '%s'", name, r->root);
    err_hint(err, "'ydl model list' shows those there are");
    return -ENOENT;
}

int models_versions(const struct models *r, const char *name, struct version_list *ret,
                    struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int x = models_path(r, name, &dir, err, LAYOUT_VERSIONS);

    if (x == 0)
        x = fs_list_open(r->fs, dir, &list, err);
    if (x == -ENOENT) {
        err_clear(err);
        return models_no_model(r, name, err);
    }
    while (x == 0 && (x = fs_list_next(list, &e, err)) > 0) {
        int64_t n;

        x = 0;
        if (e->type != FS_DIRECTORY || model_version_parse(e->name, &n, NULL) < 0)
            continue;
        x = ARRAY_ADD(ret->v, ret->n, n) < 0 ? err_oom(err) : 0;
    }
    version_list_sort(ret);
    return x < 0 ? err_wrap(err, x, "model '%s'", name) : 0;
}

/* ---- one version ---- */

int models_open_file(const struct models *r, const char *path, struct fs_reader **ret,
                     struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int x = fs_is_local(r->fs) ? fs_stat(r->fs, path, &e, err) : 0;

    if (x == 0 && fs_is_local(r->fs) && e.type != FS_FILE)
        x = err_set(err, -EBADMSG, "'%s' is not a file", path);
    return x < 0 ? x : fs_open(r->fs, path, ret, err);
}

int models_read_file(const struct models *r, const char *path, struct buf *ret, struct err *err)
{
    AUTO_FS_READER *f = NULL;
    int x = models_open_file(r, path, &f, err);

    while (x == 0) {
        const void *p;
        ssize_t n = fs_read_next(f, &p, 0, err);

        if (n <= 0)
            return (int)n;
        if (buf_add(ret, p, (size_t)n) < 0)
            x = err_set(err, -E2BIG, "'%s' has more than %zu bytes", path, ret->max);
    }
    return x;
}

static int models_read_manifest(const struct models *r, const char *path, struct manifest *ret,
                                struct err *err)
{
    AUTO_BUF text = { .max = MANIFEST_MOST };
    int x = models_read_file(r, path, &text, err);

    return x < 0 ? x : manifest_parse(path, text.data, text.len, ret, err);
}

/*     1            published; *ret is its manifest
 *     0            a number without a manifest: taken by somebody who is still pushing, or removed
 *     -EBADMSG     damaged, or the manifest of another version: somebody copied directories
 *
 * -ENOTDIR comes from a version whose directory is something else. */
int models_manifest(const struct models *r, const char *name, int64_t version, struct manifest *ret,
                    struct err *err)
{
    AUTO_FREE char *path = NULL;
    int x = models_path(r, name, &path, err, LAYOUT_VERSIONS "/%lld/" LAYOUT_MANIFEST,
                        (long long)version);

    if (x == 0)
        x = models_read_manifest(r, path, ret, err);
    if (x == -ENOENT || x == -ENOTDIR) {
        err_clear(err);
        return 0;
    }
    if (x == 0 && (ret->version != version || !str_eq(ret->name, name))) {
        x = err_set(err, -EBADMSG, "'%s' is the manifest of %s:%lld", path, ret->name,
                    (long long)ret->version);
        manifest_done(ret);
    }
    return x < 0 ? err_wrap(err, x, "%s:%lld", name, (long long)version) : 1;
}

int models_removed(const struct models *r, const char *name, int64_t version, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FS_ENTRY e = { 0 };
    int x = models_path(r, name, &path, err, LAYOUT_VERSIONS "/%lld/" LAYOUT_REMOVED,
                        (long long)version);

    return x < 0 ? x : fs_exists(r->fs, path, &e, err);
}

/* The highest number that is published: those above it may be numbers of pushes that are under way,
 * or were removed. */
static int models_newest(const struct models *r, const char *name, struct manifest *ret,
                         struct err *err)
{
    AUTO_VERSION_LIST all = { 0 };
    int x = models_versions(r, name, &all, err);

    for (size_t i = all.n; x == 0 && i > 0; i--)
        x = models_manifest(r, name, all.v[i - 1], ret, err);
    if (x == 0)
        x = err_set(err, -ENOENT, "model '%s' has no version", name);
    return x;
}

/* The list of versions is read only to tell a model that is not there from a version that is not.
 */
int models_find(const struct models *r, const struct model_ref *ref, struct manifest *ret,
                struct err *err)
{
    int64_t version = ref->version;
    AUTO_VERSION_LIST all = { 0 };
    int x = 0;

    if (!version && !*ref->alias)
        x = models_newest(r, ref->name, ret, err);
    else if (*ref->alias)
        x = alias_get(r, ref->name, ref->alias, &version, err);
    if (x < 0 || ret->doc)
        return x < 0 ? x : 0;
    x = models_manifest(r, ref->name, version, ret, err);
    if (x > 0)
        return 0;
    if (x == 0)
        x = models_versions(r, ref->name, &all, err);
    if (x == 0) {
        x = err_set(err, -ENOENT, "there is no version %lld of '%s'", (long long)version,
                    ref->name);
        err_hint(err, "'ydl model list %s' shows those there are", ref->name);
    }
    return x;
}
