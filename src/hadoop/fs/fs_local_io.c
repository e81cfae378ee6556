/* fs_local_io.c - content of local files, behind the same calls as files on HDFS: readers get a
 * buffer that is filled for them, writers one to fill. See fs_local.h. */
#include "hadoop/fs/fs_local.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define BUFFER (256 * KIB)

struct local_file {
    int fd;
    char *path;
    uint8_t *buffer;
    uint64_t pos, length;
    bool regular; /* it has positions; a pipe or a terminal has not */
    bool keep;
};

static struct local_file *file_free(struct local_file *f)
{
    if (!f)
        return NULL;
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f->buffer);
    free(f);
    return NULL;
}
AUTO_DEFINE(file, struct local_file *, file_free);

static int file_new(const char *path, struct local_file **ret, struct err *err)
{
    struct local_file *f = calloc(1, sizeof(*f));

    if (!f)
        return err_oom(err);
    f->fd = -1;
    f->path = strdup(path);
    f->buffer = malloc(BUFFER);
    if (!f->path || !f->buffer) {
        file_free(f);
        return err_oom(err);
    }
    *ret = f;
    return 0;
}

/* ---- writing ---- */

static int local_make_parent(const char *path, struct err *err)
{
    AUTO_FREE char *dir = strdup(path);
    char *slash = dir ? strrchr(dir, '/') : NULL;

    if (!dir)
        return err_oom(err);
    if (!slash || slash == dir)
        return 0;
    *slash = '\0';
    return local_mkdirs(dir, FS_MODE_DEFAULT, true, err);
}

int local_create(const char *path, const struct fs_create *options, struct local_file **ret,
                 struct err *err)
{
    AUTO(file) struct local_file *f = NULL;
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (options->overwrite ? O_TRUNC : O_EXCL);
    int r = options->parents ? local_make_parent(path, err) : 0;

    if (r == 0)
        r = file_new(path, &f, err);
    if (r != 0)
        return r;
    f->keep = options->keep;
    f->fd = open(path, flags, 0666);
    if (f->fd < 0)
        return err_sys(err, "create '%s'", path);
    if (options->mode != FS_MODE_DEFAULT && fchmod(f->fd, options->mode & 07777) < 0) {
        r = err_sys(err, "change permissions of '%s'", path);
        local_abort(take(f));
        return r;
    }
    *ret = take(f);
    return 0;
}

int local_write_room(struct local_file *f, void **ret, size_t *ret_n, struct err *err)
{
    (void)err;
    *ret = f->buffer;
    *ret_n = BUFFER;
    return 0;
}

int local_write(struct local_file *f, const void *p, size_t n, struct err *err)
{
    const uint8_t *at = p;

    while (n > 0) {
        ssize_t done = write(f->fd, at, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return err_sys(err, "write '%s'", f->path);
        at += done;
        n -= (size_t)done;
        f->pos += (uint64_t)done;
    }
    return 0;
}

int local_sync(struct local_file *f, struct err *err)
{
    if (fdatasync(f->fd) < 0 && errno != EINVAL) /* a pipe has no disk */
        return err_sys(err, "flush '%s'", f->path);
    return 0;
}

/* Not flushed to the disk, as little as cp does it; who needs that calls local_sync() before. */
int local_close(struct local_file *f, struct err *err)
{
    int fd = take_fd(f->fd);
    int r = close(fd) < 0 ? err_sys(err, "close '%s'", f->path) : 0;

    if (r < 0)
        local_abort(f);
    else
        file_free(f);
    return r;
}

/* What was written so far is taken away, as a NameNode does with a file that was not closed. */
struct local_file *local_abort(struct local_file *f)
{
    if (f && !f->keep)
        (void)unlink(f->path);
    return file_free(f);
}

/* ---- reading ---- */

static int look_at_file(struct local_file *f, struct err *err)
{
    struct stat st;

    if (fstat(f->fd, &st) < 0)
        return err_sys(err, "read '%s'", f->path);
    if (S_ISDIR(st.st_mode))
        return err_set(err, -EISDIR, "read '%s': it is a directory", f->path);
    f->regular = S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
    f->length = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    return 0;
}

int local_open(const char *path, struct local_file **ret, struct err *err)
{
    AUTO(file) struct local_file *f = NULL;
    int r = file_new(path, &f, err);

    if (r < 0)
        return r;
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0)
        return err_sys(err, "read '%s'", path);
    r = look_at_file(f, err);
    if (r < 0)
        return r;
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    *ret = take(f);
    return 0;
}

ssize_t local_read(struct local_file *f, void *p, size_t n, struct err *err)
{
    ssize_t got;

    do
        got = f->regular ? pread(f->fd, p, n, (off_t)f->pos) : read(f->fd, p, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_sys(err, "read '%s'", f->path);
    f->pos += (uint64_t)got;
    return got;
}

ssize_t local_read_next(struct local_file *f, const void **ret, size_t max, struct err *err)
{
    *ret = f->buffer;
    return local_read(f, f->buffer, max && max < BUFFER ? max : BUFFER, err);
}

ssize_t local_pread(struct local_file *f, uint64_t offset, void *p, size_t n, struct err *err)
{
    uint64_t saved = f->pos;
    size_t done = 0;
    ssize_t got = 1;

    f->pos = offset;
    while (done < n && got > 0) {
        got = local_read(f, (uint8_t *)p + done, n - done, err);
        done += got > 0 ? (size_t)got : 0;
    }
    f->pos = saved;
    return got < 0 ? got : (ssize_t)done;
}

void local_seek(struct local_file *f, uint64_t offset)
{
    f->pos = offset;
}

uint64_t local_length(const struct local_file *f)
{
    return f->length;
}

struct local_file *local_reader_close(struct local_file *f)
{
    return file_free(f);
}
