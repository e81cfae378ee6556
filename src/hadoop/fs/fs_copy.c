/* fs_copy.c - whole files: small ones in one call, others to and from descriptors. See fs.h. */
#include "base/path.h"
#include "base/str.h"
#include "hadoop/fs/fdwait.h"
#include "hadoop/fs/private.h"
#include "loop/fiber.h"

#include <string.h>

AUTO_DEFINE(fdwait, struct fdwait *, fdwait_free);

/* ---- in one call ---- */

int fs_put(struct fs *fs, const char *path, const struct fs_create *how, const void *p, size_t n,
           struct err *err)
{
    AUTO_FS_WRITER *w = NULL;
    int r = fs_create(fs, path, how, &w, err);

    if (r == 0 && n > 0)
        r = fs_write(w, p, n, err);
    return r < 0 ? r : fs_close(take(w), err);
}

/* Hidden, and in the same directory: a name that readers of the directory leave out. */
static char *whole_part_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash + 1 - path) : 0;

    return str_printf("%.*s.%s.part", dir, path, path + dir);
}

/* Readers see the old file or the new one: it is written under another name and renamed. Without
 * `overwrite` the rename is also what tells that somebody else was first. */
int fs_replace(struct fs *fs, const char *path, const struct fs_create *how, const void *p,
               size_t n, struct err *err)
{
    AUTO_FREE char *part = whole_part_of(path);
    struct fs_create beside = *how;
    int r;

    beside.overwrite = true; /* one that was killed at this may have left it */
    r = part ? fs_put(fs, part, &beside, p, n, err) : err_oom(err);
    if (r < 0)
        return r;
    r = fs_rename(fs, part, path, how->overwrite, err);
    if (r < 0)
        (void)fs_delete(fs, part, false, NULL);
    return r;
}

/* ---- descriptors ---- */

static int fs_copy_tell(fs_progress_fn *on_progress, void *arg, uint64_t done, struct err *err)
{
    int r = on_progress ? on_progress(arg, done) : 0;

    return r < 0 ? err_set(err, r, "stopped") : 0;
}

/* Read directly into the writer's packet: no buffer in between. */
int fs_copy_in(struct fs_writer *w, int fd, fs_progress_fn *on_progress, void *arg, struct err *err)
{
    AUTO(fdwait) struct fdwait *wait = NULL;
    uint64_t done = 0;
    int r = fdwait_new(w->loop, fd, false, &wait, err);

    while (r == 0) {
        size_t room;
        ssize_t n;
        void *to;

        r = fs_write_room(w, &to, &room, err);
        if (r < 0)
            return r;
        n = fdwait_read(wait, fd, to, room);
        if (n < 0)
            return err_code(err, (int)n, "read the source");
        if (n == 0)
            return 0;
        r = fs_write_commit(w, (size_t)n, err);
        done += (uint64_t)n;
        if (r == 0)
            r = fs_copy_tell(on_progress, arg, done, err);
    }
    return r;
}

static int fs_copy_write_all(struct fdwait *wait, int fd, const uint8_t *p, size_t n,
                             struct err *err)
{
    while (n > 0) {
        ssize_t done = fdwait_write(wait, fd, p, n);

        if (done < 0)
            return err_code(err, (int)done, "write the copy");
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

int fs_copy_out(struct fs_reader *r, int fd, fs_progress_fn *on_progress, void *arg,
                struct err *err)
{
    AUTO(fdwait) struct fdwait *wait = NULL;
    uint64_t done = 0;
    int code = fdwait_new(r->loop, fd, true, &wait, err);

    while (code == 0) {
        const void *bytes;
        ssize_t n = fs_read_next(r, &bytes, 0, err);

        if (n <= 0)
            return (int)n;
        code = fs_copy_write_all(wait, fd, bytes, (size_t)n, err);
        done += (uint64_t)n;
        if (code == 0)
            code = fs_copy_tell(on_progress, arg, done, err);
    }
    return code;
}
