/* fs_local.c - names and attributes of local files. See fs_local.h. */
#include "hadoop/fs/fs_local.h"
#include "base/str.h"
#include "hadoop/fs/fs_local_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct fs_text local_text_of(const char *s)
{
    return (struct fs_text){ s, strlen(s) };
}

static int64_t ms_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int local_fill(struct local_names *names, const char *path, const struct stat *st,
                      struct fs_entry *ret)
{
    const struct fs_text none = { 0 };
    char target[PATH_MAX];
    ssize_t n = S_ISLNK(st->st_mode) ? readlink(path, target, sizeof(target)) : -1;

    local_names_of(names, st->st_uid, st->st_gid);
    *ret = (struct fs_entry){
        .type = S_ISDIR(st->st_mode)   ? FS_DIRECTORY
                : S_ISREG(st->st_mode) ? FS_FILE
                : S_ISLNK(st->st_mode) ? FS_SYMLINK
                                       : FS_OTHER,
        .mode = st->st_mode & 07777,
        .length = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
        .mtime = ms_of(st->st_mtim),
        .atime = ms_of(st->st_atim),
        .block_size = S_ISREG(st->st_mode) ? (uint64_t)st->st_blksize : 0,
        .file_id = st->st_ino,
    };
    return fs_entry_text(ret, path, none, local_text_of(names->user), local_text_of(names->group),
                         n < 0 ? none : (struct fs_text){ target, (size_t)n });
}

/* A link that leads nowhere is there all the same, and is shown as a link. */
int local_stat(struct local_names *names, const char *path, struct fs_entry *ret, struct err *err)
{
    struct stat st;

    if (stat(path, &st) < 0 && (errno != ENOENT || lstat(path, &st) < 0)) {
        if (errno == ENOENT || errno == ENOTDIR)
            return 0;
        return err_sys(err, "look at '%s'", path);
    }
    return local_fill(names, path, &st, ret) < 0 ? err_oom(err) : 1;
}

/* ---- lists ---- */

struct local_list {
    struct local_names *names;
    char *dir;
    struct strs all;
    size_t at;
    struct fs_entry entry;
};

static int read_names(struct strs *to, const char *path, struct err *err)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int r = 0;

    if (!d)
        return err_sys(err, "list '%s'", path);
    for (errno = 0; r == 0 && (e = readdir(d)) != NULL; errno = 0)
        if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
            r = strs_add(to, e->d_name) < 0 ? err_oom(err) : 0;
    if (r == 0 && errno != 0)
        r = err_sys(err, "list '%s'", path);
    closedir(d);
    strs_sort(to);
    return r;
}

int local_list_open(struct local_names *names, const char *path, struct local_list **ret,
                    struct err *err)
{
    struct local_list *l = calloc(1, sizeof(*l));
    struct stat st;
    int r = 0;

    if (!l)
        return err_oom(err);
    l->names = names;
    if (stat(path, &st) < 0) {
        r = errno == ENOENT ? err_set(err, -ENOENT, "list '%s': no such file or directory", path)
                            : err_sys(err, "list '%s'", path);
    } else {
        /* A file lists itself: its path is all there is. */
        l->dir = S_ISDIR(st.st_mode) ? strdup(path) : NULL;
        if (l->dir)
            r = read_names(&l->all, path, err);
        else
            r = strs_add(&l->all, path) < 0 ? err_oom(err) : 0;
    }
    if (r < 0) {
        local_list_close(l);
        return r;
    }
    *ret = l;
    return 0;
}

int local_list_next(struct local_list *l, const struct fs_entry **ret, struct err *err)
{
    int r = 0;

    fs_entry_done(&l->entry);
    while (r == 0 && l->at < l->all.n) { /* one that is gone by now is passed over */
        const char *name = l->all.v[l->at++];
        AUTO_FREE char *path = NULL;

        path = l->dir ? str_printf("%s/%s", str_eq(l->dir, "/") ? "" : l->dir, name) : strdup(name);
        r = path ? local_stat(l->names, path, &l->entry, err) : err_oom(err);
    }
    *ret = &l->entry;
    return r;
}

struct local_list *local_list_close(struct local_list *l)
{
    if (!l)
        return NULL;
    fs_entry_done(&l->entry);
    strs_done(&l->all);
    free(l->dir);
    free(l);
    return NULL;
}

/* ---- trees, without recursion: fibers have small stacks ---- */

/* Calls `fn` for everything below `path` (links are not followed), directories before what is in
 * them, and keeps their paths in `dirs`, that order too. `dirs` is the queue and the result at
 * once: directories are appended while it is gone through, so it ends with the innermost ones, and
 * backwards it is an order in which they can be removed. */
static int local_visit(const char *path, struct strs *dirs,
                       int (*fn)(const char *path, const struct stat *st, void *arg,
                                 struct err *err),
                       void *arg, struct err *err)
{
    int r = strs_add(dirs, path) < 0 ? err_oom(err) : 0;

    for (size_t i = 0; r == 0 && i < dirs->n; i++) {
        AUTO_STRS names = { 0 };

        r = read_names(&names, dirs->v[i], err);
        for (size_t k = 0; r == 0 && k < names.n; k++) {
            AUTO_FREE char *one = str_printf("%s/%s", dirs->v[i], names.v[k]);
            struct stat st;

            if (!one)
                return err_oom(err);
            if (lstat(one, &st) < 0)
                r = err_sys(err, "look at '%s'", one);
            else if (S_ISDIR(st.st_mode))
                r = strs_add(dirs, one) < 0 ? err_oom(err) : 0;
            if (r == 0)
                r = fn(one, &st, arg, err);
        }
    }
    return r;
}

static int local_count(const char *path, const struct stat *st, void *arg, struct err *err)
{
    struct fs_summary *s = arg;

    (void)path;
    (void)err;
    if (S_ISDIR(st->st_mode)) {
        s->dirs++;
    } else {
        s->files++;
        s->length += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
        s->space += (uint64_t)st->st_blocks * 512;
    }
    return 0;
}

int local_summary(const char *path, struct fs_summary *ret, struct err *err)
{
    AUTO_STRS dirs = { 0 };
    struct stat st;

    *ret = (struct fs_summary){ .quota = -1, .space_quota = -1 };
    if (stat(path, &st) < 0)
        return err_sys(err, "sum up '%s'", path);
    (void)local_count(path, &st, ret, NULL);
    return S_ISDIR(st.st_mode) ? local_visit(path, &dirs, local_count, ret, err) : 0;
}

/* Directories are left for the second pass, which goes from the innermost to the outermost. */
static int delete_one(const char *path, const struct stat *st, void *arg, struct err *err)
{
    (void)arg;
    if (!S_ISDIR(st->st_mode) && unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "delete '%s'", path);
    return 0;
}

static int local_delete_tree(const char *path, struct err *err)
{
    AUTO_STRS dirs = { 0 };
    int r = local_visit(path, &dirs, delete_one, NULL, err);

    for (size_t i = dirs.n; i > 0 && r == 0; i--)
        if (rmdir(dirs.v[i - 1]) < 0 && errno != ENOENT)
            r = err_sys(err, "delete '%s'", dirs.v[i - 1]);
    return r;
}

int local_delete(const char *path, bool recursive, struct err *err)
{
    struct stat st;
    int r;

    if (str_eq(path, "/"))
        return err_set(err, -EBUSY, "delete '/': the root is never deleted");
    if (lstat(path, &st) < 0)
        return err_sys(err, "delete '%s'", path);
    if (S_ISDIR(st.st_mode) && recursive)
        return local_delete_tree(path, err);
    r = S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path);
    return r < 0 ? err_sys(err, "delete '%s'", path) : 0;
}

/* ---- the rest ---- */

/* The directories above `path`, from the top. */
static int local_make_parents(const char *path, struct err *err)
{
    AUTO_FREE char *copy = strdup(path);

    if (!copy)
        return err_oom(err);
    for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            return err_sys(err, "make directory '%s'", copy);
        *p = '/';
    }
    return 0;
}

int local_mkdirs(const char *path, uint32_t mode, bool parents, struct err *err)
{
    struct stat st;
    int r = parents ? local_make_parents(path, err) : 0;

    if (r < 0)
        return r;
    if (mkdir(path, 0777) < 0) {
        if (errno == EEXIST && parents && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            return 0;
        return err_sys(err, "make directory '%s'", path);
    }
    return mode == FS_MODE_DEFAULT ? 0 : local_chmod(path, mode, err);
}

/* RENAME_NOREPLACE is one step: between a look and a rename somebody else could make the file. File
 * systems that do not know it get the two steps. */
int local_rename(const char *from, const char *to, bool overwrite, struct err *err)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, overwrite ? 0 : RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EINVAL && !overwrite) { /* the file system cannot do it in one step */
        if (faccessat(AT_FDCWD, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            errno = EEXIST;
        else if (rename(from, to) == 0)
            return 0;
    }
    return err_sys(err, "move '%s' to '%s'", from, to);
}

int local_chmod(const char *path, uint32_t mode, struct err *err)
{
    return chmod(path, mode & 07777) < 0 ? err_sys(err, "change permissions of '%s'", path) : 0;
}

static struct timespec time_of(int64_t ms)
{
    if (ms < 0)
        return (struct timespec){ .tv_nsec = UTIME_OMIT };
    return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
}

int local_set_times(const char *path, int64_t mtime, int64_t atime, struct err *err)
{
    const struct timespec times[2] = { time_of(atime), time_of(mtime) };

    return utimensat(AT_FDCWD, path, times, 0) < 0 ? err_sys(err, "change the times of '%s'", path)
                                                   : 0;
}
