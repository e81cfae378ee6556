/* store.c - directories and single files: made, sealed and removed. See store.h. */
#include "model/store.h"
#include "base/path.h"
#include "base/str.h"
#include "loop/fiber.h"
#include "model/layout.h"
#include "uploads/cache_name.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define STICKY 01000
#define SET_GROUP 02000
#define OTHERS_WRITE 022

/* ---- directories ---- */

static int model_store_mode_of(struct fs *fs, const char *dir, uint32_t *ret, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_stat(fs, dir, &e, err);

    *ret = e.mode & (0777 | SET_GROUP);
    return r;
}

static int model_store_mkdir_mode(struct fs *fs, const char *path, uint32_t mode, struct err *err)
{
    int r = fs_mkdirs(fs, path, mode, false, err);

    if (r != -EEXIST)
        return r;
    err_clear(err);
    return 0;
}

int model_store_mkdir(const struct models *r, const char *path, struct err *err)
{
    AUTO_FREE char *above = path_dir(path);
    uint32_t mode = 0;
    int x = above ? model_store_mode_of(r->fs, above, &mode, err) : err_oom(err);

    return x < 0 ? x : model_store_mkdir_mode(r->fs, path, mode, err);
}

/* Where several may publish, nobody can remove what another one is writing. */
int model_store_begin(const struct models *r, struct err *err)
{
    AUTO_FREE char *dir = path_join(r->root, LAYOUT_STAGING);
    AUTO_FS_ENTRY e = { 0 };
    uint32_t mode = 0;
    int x = dir ? fs_exists(r->fs, dir, &e, err) : err_oom(err);

    if (x != 0)
        return x < 0 ? x : 0;
    x = fs_mkdirs(r->fs, r->root, FS_MODE_DEFAULT, true, err);
    if (x == 0)
        x = model_store_mode_of(r->fs, r->root, &mode, err);
    if (x == 0)
        x = model_store_mkdir_mode(r->fs, dir, mode & OTHERS_WRITE ? mode | STICKY : mode, err);
    return x;
}

int model_store_staging(const struct models *r, char **ret, struct err *err)
{
    AUTO_FREE char *name = NULL;
    int x = cache_temp(&name, err);

    if (x < 0)
        return x;
    *ret = str_printf("%s/" LAYOUT_STAGING "/%s", str_eq(r->root, "/") ? "" : r->root, name);
    return *ret ? 0 : err_oom(err);
}

int model_store_sync_dir(struct fs *fs, const char *dir, struct err *err)
{
    AUTO_CLOSE int fd = -1;

    if (!fs_is_local(fs))
        return 0;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
        return err_sys(err, "flush '%s'", dir);
    return 0;
}

/* ---- files ---- */

int model_store_put(const struct models *r, const char *path, const char *text, struct err *err)
{
    const struct fs_create how = { .mode = 0444 };
    AUTO_FS_WRITER *w = NULL;
    int x = fs_create(r->fs, path, &how, &w, err);

    if (x == 0)
        x = fs_write(w, text, strlen(text), err);
    if (x == 0)
        x = fs_hflush(w, err);
    return x < 0 ? x : fs_close(take(w), err);
}

/* ---- trees ---- */

bool model_store_is_link(struct fs *fs, const char *path)
{
    struct stat st;

    return fs_is_local(fs) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* All directories below `dir`, it first, each before those in it.
 *
 * `open_mode`: what was sealed is made writable again on the way, as an entry can be removed only
 * from a directory that may be written to. Links are no directories here, and lead nowhere. */
static int model_store_dirs(struct fs *fs, const char *dir, uint32_t open_mode, struct strs *ret,
                            struct err *err)
{
    int r = strs_add(ret, dir) < 0 ? err_oom(err) : 0;

    for (size_t i = 0; r == 0 && i < ret->n; i++) {
        AUTO_FS_LIST *list = NULL;
        const struct fs_entry *e;

        if (open_mode)
            r = fs_chmod(fs, ret->v[i], open_mode, err);
        if (r == 0)
            r = fs_list_open(fs, ret->v[i], &list, err);
        while (r == 0 && (r = fs_list_next(list, &e, err)) > 0)
            r = e->type == FS_DIRECTORY && !model_store_is_link(fs, e->path) &&
                        strs_add(ret, e->path) < 0
                    ? err_oom(err)
                    : 0;
    }
    return r;
}

int model_store_seal(struct fs *fs, const char *dir, struct err *err)
{
    AUTO_STRS dirs = { 0 };
    int r = model_store_dirs(fs, dir, 0, &dirs, err);

    for (size_t i = dirs.n; r == 0 && i > 0; i--) {
        r = model_store_sync_dir(fs, dirs.v[i - 1], err);
        if (r == 0 && i > 1)
            r = fs_chmod(fs, dirs.v[i - 1], 0555, err);
    }
    return r;
}

/* Who may do everything needs no other modes, and changes none: what he removes may be of somebody
 * who puts links in his way meanwhile, which path_remove() does not follow. */
static int model_store_remove_local(struct fs *fs, const char *path, bool tree, struct err *err)
{
    AUTO_STRS dirs = { 0 };
    int r = tree && geteuid() != 0 ? model_store_dirs(fs, path, 0700, &dirs, err) : 0;

    return r < 0 ? r : path_remove(path, err);
}

static int model_store_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    AUTO_STRS dirs = { 0 };
    bool tree;
    int r = fs_exists(fs, path, &e, err);

    if (r <= 0)
        return r;
    tree = e.type == FS_DIRECTORY && !model_store_is_link(fs, path);
    if (fs_is_local(fs))
        return model_store_remove_local(fs, path, tree, err);
    if (tree)
        r = model_store_dirs(fs, path, 0700, &dirs, err);
    return r < 0 ? r : fs_delete(fs, path, tree, err);
}

int model_store_remove(const struct models *r, const char *path, struct err *err)
{
    int x;

    fiber_shield(r->loop, true);
    x = model_store_remove_tree(r->fs, path, err);
    fiber_shield(r->loop, false);
    return x;
}
