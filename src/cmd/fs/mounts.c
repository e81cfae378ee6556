/* mounts.c - directories that exist only in a mount table of viewfs.
 *
 *     viewfs://c/            data, home      of the table; nobody can write to it
 *     viewfs://c/data   ──►  hdfs://a/data   a mount point: shown as what it leads to
 *
 * No NameNode knows the first kind, so `ls` and `stat` make them up here, with what a fallback has
 * at the same place. A mount point whose cluster does not answer is still listed, as a directory.
 */
#include "cmd/fs/mounts.h"
#include "base/array.h"
#include "hadoop/conf/conf_path.h"
#include "loop/loop.h"

#include <string.h>

#define OPEN_MODE 0555 /* as Hadoop shows them */

/* "viewfs://c/a/b" and "x" are "viewfs://c/a/b/x". */
static char *child_of(const char *operand, const char *name)
{
    size_t n = strlen(operand);

    return str_printf("%s%s%s", operand, n > 0 && operand[n - 1] == '/' ? "" : "/", name);
}

static int make_entry(struct files *f, const char *dir, const char *name, struct fs_entry *ret)
{
    const char *user = session_user(f->x->session);
    struct fs_text nobody = { "-", 1 }, owner = { user, strlen(user) };
    struct fs_text last = { name, strlen(name) }, no_link = { NULL, 0 };

    *ret = (struct fs_entry){ .type = FS_DIRECTORY, .mode = OPEN_MODE, .mtime = loop_wall() };
    return fs_entry_text(ret, dir, last, owner, nobody, no_link);
}

/* As it is at its target, under the name that it has here. */
static int take_target(struct files *f, const char *operand, const char *dir, const char *name,
                       struct fs_entry *ret)
{
    AUTO_FREE char *child = child_of(operand, name), *path = NULL;
    AUTO_FS_ENTRY there = { 0 };
    struct fs_text last = { name, strlen(name) }, no_link = { NULL, 0 };
    struct fs *fs = NULL;

    if (!child)
        return -ENOMEM;
    if (fs_find(f->set, child, FS_ON_CLUSTER, &fs, &path, NULL) < 0 ||
        fs_exists(fs, path, &there, NULL) <= 0)
        return -ENOENT;
    *ret = there;
    ret->path = NULL; /* `there` keeps the strings, of which copies are made */
    return fs_entry_text(ret, dir, last, (struct fs_text){ there.owner, strlen(there.owner) },
                         (struct fs_text){ there.group, strlen(there.group) }, no_link);
}

/* The names that the table has below `operand`; *ret_dir is NULL when it is not of the table. */
static int mounts_names_of(struct files *f, const char *operand, struct strs *ret, char **ret_dir,
                           struct err *err)
{
    const struct session *s = f->x->session;

    *ret_dir = NULL;
    return s ? conf_mounts(session_conf(s), operand, session_user(s), ret, ret_dir, err) : 0;
}

static bool mounts_has_name(const struct fs_entries *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->v[i].name, name))
            return true;
    return false;
}

static int mounts_by_name(const void *a, const void *b)
{
    return strcmp(((const struct fs_entry *)a)->name, ((const struct fs_entry *)b)->name);
}

/* What a fallback has there besides. Where there is none, or not this directory, that is all. */
static int add_fallback(struct files *f, const char *operand, struct fs_entries *all)
{
    AUTO_FREE char *path = NULL;
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    struct fs *fs = NULL;

    if (fs_find(f->set, operand, FS_ON_CLUSTER, &fs, &path, NULL) < 0 ||
        fs_list_open(fs, path, &list, NULL) < 0)
        return 0;
    while (fs_list_next(list, &e, NULL) > 0) {
        if (mounts_has_name(all, e->name))
            continue;
        if (ARRAY_ROOM(all->v, all->n) < 0 || fs_entry_copy(&all->v[all->n], e) < 0)
            return -ENOMEM;
        all->n++;
    }
    return 0;
}

int mounts_list(struct files *f, const char *operand, struct fs_entries *ret, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_STRS names = { 0 };
    int r = mounts_names_of(f, operand, &names, &dir, err);

    *ret = (struct fs_entries){ 0 };
    if (r < 0 || !dir)
        return r;
    for (size_t i = 0; i < names.n; i++) {
        if (ARRAY_ROOM(ret->v, ret->n) < 0)
            return err_oom(err);
        r = take_target(f, operand, dir, names.v[i], &ret->v[ret->n]);
        if (r == -ENOENT)
            r = make_entry(f, dir, names.v[i], &ret->v[ret->n]);
        if (r < 0)
            return err_oom(err);
        ret->n++;
    }
    if (add_fallback(f, operand, ret) < 0)
        return err_oom(err);
    qsort(ret->v, ret->n, sizeof(*ret->v), mounts_by_name);
    return 1;
}

int mounts_stat(struct files *f, const char *operand, struct fs_entry *ret, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_STRS names = { 0 };
    int r = mounts_names_of(f, operand, &names, &dir, err);

    if (r < 0 || !dir)
        return r;
    return make_entry(f, dir, "", ret) < 0 ? err_oom(err) : 1;
}
