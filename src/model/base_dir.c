/* base_dir.c - to and from the directories that other servers watch. See base_dir.h. */
#include "model/base_dir.h"
#include "base/array.h"
#include "base/path.h"
#include "model/fetch.h"

static int base_dir_list(struct fs *fs, const char *base, struct version_list *ret, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(fs, base, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        int64_t n;

        r = 0;
        if (e->type == FS_DIRECTORY && *e->name != '0' &&
            model_version_parse(e->name, &n, NULL) == 0)
            r = ARRAY_ADD(ret->v, ret->n, n) < 0 ? err_oom(err) : 0;
    }
    return r;
}

/* 1: it is what its file says, whatever else it holds. */
static int base_dir_is_one(struct fs *fs, const char *path, struct err *err)
{
    static const char *const names[] = { "model.py", "command.json" };
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT_OF(names); i++) {
        AUTO_FREE char *file = path_join(path, names[i]);
        AUTO_FS_ENTRY e = { 0 };

        r = file ? fs_exists(fs, file, &e, err) : err_oom(err);
    }
    return r;
}

int base_dir_is(struct fs *fs, const char *path, struct err *err)
{
    AUTO_VERSION_LIST all = { 0 };
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_stat(fs, path, &e, err);

    if (r < 0 || e.type != FS_DIRECTORY)
        return r < 0 ? r : 0;
    r = base_dir_is_one(fs, path, err);
    if (r == 0)
        r = base_dir_list(fs, path, &all, err);
    else if (r > 0)
        return 0;
    return r < 0 ? r : all.n > 0;
}

int base_dir_versions(struct fs *fs, const char *base, struct version_list *ret, struct err *err)
{
    int r = base_dir_list(fs, base, ret, err);

    if (r == 0 && ret->n == 0) {
        r = err_set(err, -ENOENT, "'%s' has no numbered versions", base);
        err_hint(err, "it should hold directories 1, 2 …; for a single model: ydl model push");
    }
    version_list_sort(ret);
    return r;
}

int base_dir_import(const struct models *r, struct fs *fs, const char *base,
                    const struct model_publish *what, struct model_published *ret, struct err *err)
{
    AUTO_FREE char *path = str_printf("%s/%lld", base, (long long)what->version);
    AUTO_MODEL_FILES files = { 0 };
    int x = path ? model_files_of(fs, path, &files, err) : err_oom(err);

    return x < 0 ? x : model_publish_files(r, what, &files, ret, err);
}

int base_dir_export(const struct models *r, const struct manifest *m, struct fs *to,
                    const char *base, struct progress *progress, struct err *err)
{
    AUTO_FREE char *dir = str_printf("%s/%lld", base, (long long)m->version);
    int x = dir ? fetch_model(r, m, to, dir, progress, err) : err_oom(err);

    if (x == -EEXIST) {
        err_clear(err);
        return 0;
    }
    return x < 0 ? x : 1;
}
