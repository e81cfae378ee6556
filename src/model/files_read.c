/* files_read.c - the bytes of a model's files: all of one, or here and there for its format. See
 * files.h. */
#include "base/str.h"
#include "model/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#define CHUNK (256 * KIB)

struct model_reader {
    const struct model_files *of;
    const struct model_file *file;
    int fd;
    uint8_t *buffer;
    struct fs_reader *far;
    uint64_t left;
};

struct model_reader *model_reader_close(struct model_reader *r)
{
    if (!r)
        return NULL;
    if (r->fd >= 0)
        close(r->fd);
    fs_reader_close(r->far);
    free(r->buffer);
    free(r);
    return NULL;
}

/* A pipe that was put in the way since must not keep us waiting, nor a link lead us elsewhere. */
static int files_open_local(const struct model_file *f, int *ret, struct err *err)
{
    AUTO_CLOSE int fd = open(f->from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd < 0 && errno == ELOOP)
        return pack_stamp_changed(f->from, err);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "read '%s'", f->from);
    if (!S_ISREG(st.st_mode))
        return pack_stamp_changed(f->from, err);
    *ret = take_fd(fd);
    return pack_stamp_check(*ret, f->from, &f->stamp, err);
}

int model_reader_open(const struct model_files *m, const struct model_file *f,
                      struct model_reader **ret, struct err *err)
{
    AUTO(model_reader) struct model_reader *r = calloc(1, sizeof(*r));
    int x;

    if (!r)
        return err_oom(err);
    *r = (struct model_reader){ .of = m, .file = f, .fd = -1, .left = f->size };
    if (fs_is_local(m->fs)) {
        r->buffer = malloc(CHUNK);
        x = r->buffer ? files_open_local(f, &r->fd, err) : err_oom(err);
    } else {
        x = fs_open(m->fs, f->from, &r->far, err);
        if (x == 0 && fs_length(r->far) != f->size)
            x = pack_stamp_changed(f->from, err);
    }
    if (x < 0)
        return x;
    *ret = take(r);
    return 0;
}

static ssize_t files_read_chunk(struct model_reader *r, const void **ret, struct err *err)
{
    size_t n = r->left < CHUNK ? (size_t)r->left : CHUNK;
    ssize_t got;

    if (r->far)
        return fs_read_next(r->far, ret, 0, err);
    *ret = r->buffer;
    do
        got = read(r->fd, r->buffer, n);
    while (got < 0 && errno == EINTR);
    return got < 0 ? err_sys(err, "read '%s'", r->file->from) : got;
}

static int files_check_end(const struct model_reader *r, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int x;

    if (!r->far)
        return pack_stamp_check(r->fd, r->file->from, &r->file->stamp, err);
    x = fs_stat(r->of->fs, r->file->from, &e, err);
    if (x == 0 && (e.length != r->file->size || e.mtime != r->file->mtime))
        x = pack_stamp_changed(r->file->from, err);
    return x;
}

/* A file that somebody writes to while it is published must not become a version: more or fewer
 * bytes than when it was looked at, or another time of change at the end, are an error
 * (pack_stamp_changed). */
ssize_t model_reader_next(struct model_reader *r, const void **ret, struct err *err)
{
    ssize_t n;

    if (r->left == 0)
        return files_check_end(r, err);
    n = files_read_chunk(r, ret, err);
    if (n == 0 || (n > 0 && (uint64_t)n > r->left))
        return pack_stamp_changed(r->file->from, err);
    if (n > 0)
        r->left -= (uint64_t)n;
    return n;
}

/* ---- here and there ---- */

/* Opened for each piece: a format reads a handful of them, and a tree may have more files than we
 * may have open. */
static int files_pread_local(const struct model_file *f, uint64_t at, uint8_t *p, size_t n,
                             struct err *err)
{
    AUTO_CLOSE int fd = -1;
    int r = files_open_local(f, &fd, err);

    while (r == 0 && n > 0) {
        ssize_t got = pread(fd, p, n, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, "read '%s'", f->from);
        if (got == 0)
            return pack_stamp_changed(f->from, err);
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return r;
}

static int files_pread(void *arg, size_t file, uint64_t at, void *p, size_t n, struct err *err)
{
    const struct model_files *m = arg;
    const struct model_file *f = &m->v[file];
    AUTO_FS_READER *r = NULL;
    ssize_t got;
    int x;

    if (fs_is_local(m->fs))
        return files_pread_local(f, at, p, n, err);
    x = fs_open(m->fs, f->from, &r, err);
    if (x < 0)
        return x;
    got = fs_pread(r, at, p, n, err);
    return got < 0 ? (int)got : (size_t)got < n ? pack_stamp_changed(f->from, err) : 0;
}

int model_files_format(const struct model_files *m, struct format_facts *ret, struct err *err)
{
    AUTO_FREE struct format_file *files = calloc(m->n + 1, sizeof(*files));
    struct model_files *self = (struct model_files *)m;
    struct format_tree t = { .files = files, .n = m->n, .read = files_pread, .arg = self };
    int r;

    if (!files)
        return err_oom(err);
    for (size_t i = 0; i < m->n; i++)
        files[i] = (struct format_file){ m->v[i].path, m->v[i].size };
    r = format_find(&t, ret, err);
    return r < 0 ? err_wrap(err, r, "'%s'", m->root) : 0;
}
