/* path.c - names are taken apart as text; a file that must appear whole is written under another
 * name, flushed, renamed, and its directory flushed too. See path.h. */
#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

char *path_join(const char *dir, const char *name)
{
    size_t n = strlen(dir);

    if (n == 0 || *name == '/')
        return strdup(name);
    return str_printf("%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

int path_has(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);

    return path ? access(path, F_OK) == 0 : -ENOMEM;
}

/* Length of `path` without the slashes at its end; a root keeps one. */
static size_t path_trimmed(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

/* Where the last component starts. */
static size_t base_at(const char *path, size_t n)
{
    size_t at = n;

    while (at > 0 && path[at - 1] != '/')
        at--;
    return at;
}

char *path_base(const char *path)
{
    size_t n = path_trimmed(path), at;

    if (n == 0)
        return strdup(".");
    if (n == 1)
        return strndup(path, 1);
    at = base_at(path, n);
    return strndup(path + at, n - at);
}

char *path_dir(const char *path)
{
    size_t n = path_trimmed(path), at;

    if (n == 1 && *path == '/')
        return strdup("/");
    at = base_at(path, n);
    while (at > 1 && path[at - 1] == '/')
        at--;
    return at ? strndup(path, at) : strdup(".");
}

bool path_is_name(const char *name, size_t n)
{
    return n > 0 && !(n == 1 && *name == '.') && !(n == 2 && memcmp(name, "..", 2) == 0) &&
           !memchr(name, '/', n) && !memchr(name, '\0', n);
}

static int make_one(const char *path, mode_t mode, struct err *err)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return 0;
    if (errno != EEXIST)
        return err_sys(err, "make directory '%s'", path);
    if (stat(path, &st) < 0)
        return err_sys(err, "look at '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "'%s' exists and is not a directory", path);
    return 0;
}

/* Each part in turn, since another process may be making the same: one that is there by then is as
 * good. */
int path_mkdirs(const char *path, mode_t mode, struct err *err)
{
    AUTO_FREE char *copy = strdup(path);
    int r;

    if (!copy)
        return err_oom(err);
    for (char *p = copy + 1; *copy && *p; p++) {
        if (*p != '/' || p[-1] == '/')
            continue;
        *p = '\0';
        r = make_one(copy, mode, err);
        *p = '/';
        if (r < 0)
            return r;
    }
    return make_one(copy, mode, err);
}

void path_spread(const char *dir)
{
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int flags = 0; /* the kernel writes an int, whatever the request's name says */

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || (flags & FS_TOPDIR_FL))
        return;
    flags |= FS_TOPDIR_FL;
    (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* Read until the end is seen and not until some size: files in /proc have a size of 0. */
int path_read(const char *path, struct buf *ret, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *room;
    ssize_t n;
    int r;

    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    do {
        size_t want = ret->max - ret->len < 64 * KIB ? ret->max - ret->len + 1 : 64 * KIB;

        ret->max += 1; /* one byte more than may be there tells "full" from "too large" */
        r = buf_room(ret, want, &room);
        ret->max -= 1;
        if (r < 0)
            return err_code(err, r, "read '%s'", path);
        do
            n = read(fd, room, want);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return err_sys(err, "read '%s'", path);
        if ((size_t)n > ret->max - ret->len)
            return err_set(err, -E2BIG, "'%s' is larger than %zu bytes", path, ret->max);
        ret->len += (size_t)n;
    } while (n > 0);
    return 0;
}

int path_out_begin(struct path_out *o, const char *path, mode_t mode, struct err *err)
{
    AUTO_FREE char *dir = path_dir(path);
    AUTO_FREE char *base = path_base(path);

    *o = (struct path_out)PATH_OUT_INIT;
    o->path = strdup(path);
    /* Hidden and in the same directory: a rename across file systems would be a copy. */
    o->tmp = dir && base ? str_printf("%s/.%s.XXXXXX", dir, base) : NULL;
    if (!o->path || !o->tmp)
        return err_oom(err);
    o->fd = mkostemp(o->tmp, O_CLOEXEC);
    if (o->fd < 0) {
        free(take(o->tmp));
        return err_sys(err, "create a file in '%s'", dir);
    }
    if (fchmod(o->fd, mode) < 0)
        return err_sys(err, "set the mode of '%s'", o->tmp);
    return 0;
}

/* The new name is on the disk only when its directory is. */
static int sync_dir(const char *path, struct err *err)
{
    AUTO_FREE char *dir = path_dir(path);
    AUTO_CLOSE int fd = -1;

    if (!dir)
        return err_oom(err);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL && errno != EROFS))
        return err_sys(err, "flush directory '%s'", dir);
    return 0;
}

int path_out_rename(struct path_out *o, struct err *err)
{
    if (close(take_fd(o->fd)) < 0)
        return err_sys(err, "close '%s'", o->path);
    if (rename(o->tmp, o->path) < 0)
        return err_sys(err, "rename to '%s'", o->path);
    free(take(o->tmp));
    return 0;
}

/*     fsync the file ──► rename ──► fsync the directory
 * In this order a crash leaves the old file or the new one, never an empty one with the new
 * name. */
int path_out_commit(struct path_out *o, struct err *err)
{
    int r = fsync(o->fd) < 0 ? err_sys(err, "flush '%s'", o->path) : path_out_rename(o, err);

    return r < 0 ? r : sync_dir(o->path, err);
}

/* After a commit `tmp` is gone from the struct, so nothing is removed; on any other way out it
 * is. */
void path_out_done(struct path_out *o)
{
    if (o->fd >= 0)
        close(take_fd(o->fd));
    if (o->tmp)
        (void)unlink(o->tmp);
    free(take(o->tmp));
    free(take(o->path));
}

int path_write_fd(int fd, const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        ssize_t w = write(fd, at, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -errno;
        at += w;
        n -= (size_t)w;
    }
    return 0;
}

static int begin_with(struct path_out *o, const char *path, const void *p, size_t n, mode_t mode,
                      struct err *err)
{
    int r = path_out_begin(o, path, mode, err);

    if (r < 0)
        return r;
    r = path_write_fd(o->fd, p, n);
    return r < 0 ? err_code(err, r, "write '%s'", path) : 0;
}

int path_write(const char *path, const void *p, size_t n, mode_t mode, struct err *err)
{
    AUTO_PATH_OUT o = PATH_OUT_INIT;
    int r = begin_with(&o, path, p, n, mode, err);

    return r < 0 ? r : path_out_commit(&o, err);
}

int path_write_unflushed(const char *path, const void *p, size_t n, mode_t mode, struct err *err)
{
    AUTO_PATH_OUT o = PATH_OUT_INIT;
    int r = begin_with(&o, path, p, n, mode, err);

    return r < 0 ? r : path_out_rename(&o, err);
}

int path_write_new(const char *path, const void *p, size_t n, mode_t mode, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    int r;

    if (fd < 0)
        return err_sys(err, "make '%s'", path);
    r = path_write_fd(fd, p, n);
    return r < 0 ? err_code(err, r, "write '%s'", path) : 0;
}

static const struct {
    const char *variable, *below_home;
} kinds[PATH_KINDS_] = {
    [PATH_CONFIG] = { "XDG_CONFIG_HOME", ".config" },
    [PATH_CACHE] = { "XDG_CACHE_HOME", ".cache" },
    [PATH_DATA] = { "XDG_DATA_HOME", ".local/share" },
    [PATH_STATE] = { "XDG_STATE_HOME", ".local/state" },
};

int path_xdg(enum path_kind kind, const char *app, char **ret, struct err *err)
{
    const char *dir = getenv(kinds[kind].variable), *home = getenv("HOME");

    if (dir && *dir == '/') {
        *ret = path_join(dir, app);
    } else if (home && *home == '/') {
        *ret = str_printf("%s/%s/%s", home, kinds[kind].below_home, app);
    } else {
        err_set(err, -ENOENT, "neither %s nor HOME names a directory", kinds[kind].variable);
        err_hint(err, "set HOME");
        return -ENOENT;
    }
    return *ret ? 0 : err_oom(err);
}
