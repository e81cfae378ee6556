/* file.c - open files: hands the calls of fs.h on to HDFS or to the local disk. */
#include "hadoop/fs/private.h"
#include "loop/fiber.h"

#include <string.h>

#define TURN_BYTES (4 * MIB) /* of local files, after which others get a turn */

/* Local files never make a fiber wait; without this a long copy would stop everything else, the
 * signals that are to stop it as well. */
static int file_take_turns(struct loop *l, size_t *since, size_t n, struct err *err)
{
    *since += n;
    if (*since < TURN_BYTES)
        return 0;
    *since = 0;
    return fiber_yield(l) < 0 ? err_set(err, -ECANCELED, "stopped") : 0;
}

/* ---- writing ---- */

int fs_create(struct fs *fs, const char *path, const struct fs_create *options,
              struct fs_writer **ret, struct err *err)
{
    struct fs_writer *w = calloc(1, sizeof(*w));
    int r;

    if (!w)
        return err_oom(err);
    w->loop = fs->set->loop;
    r = fs->hdfs ? hdfs_create(fs->hdfs, path, options, &w->hdfs, err)
                 : local_create(path, options, &w->local, err);
    if (r < 0) {
        free(w);
        return r;
    }
    *ret = w;
    return 0;
}

int fs_write_room(struct fs_writer *w, void **ret, size_t *ret_n, struct err *err)
{
    return w->hdfs ? hdfs_write_room(w->hdfs, ret, ret_n, err)
                   : local_write_room(w->local, ret, ret_n, err);
}

/* For a local file it is the write itself: hdfs_write_room() gives out memory of a packet,
 * local_write_room() a plain buffer. */
int fs_write_commit(struct fs_writer *w, size_t n, struct err *err)
{
    void *buffer;
    size_t room;
    int r;

    w->written += n;
    if (w->hdfs)
        return hdfs_write_commit(w->hdfs, n, err);
    r = local_write_room(w->local, &buffer, &room, err);
    if (r == 0)
        r = local_write(w->local, buffer, n, err);
    return r < 0 ? r : file_take_turns(w->loop, &w->since_turn, n, err);
}

int fs_write(struct fs_writer *w, const void *p, size_t n, struct err *err)
{
    const uint8_t *at = p;

    if (w->local) {
        int r = local_write(w->local, p, n, err);

        w->written += n;
        return r < 0 ? r : file_take_turns(w->loop, &w->since_turn, n, err);
    }
    while (n > 0) {
        size_t room, part;
        void *to;
        int r = hdfs_write_room(w->hdfs, &to, &room, err);

        if (r < 0)
            return r;
        part = n < room ? n : room;
        memcpy(to, at, part);
        r = fs_write_commit(w, part, err);
        if (r < 0)
            return r;
        at += part;
        n -= part;
    }
    return 0;
}

int fs_hflush(struct fs_writer *w, struct err *err)
{
    return w->hdfs ? hdfs_hflush(w->hdfs, err) : local_sync(w->local, err);
}

uint64_t fs_written(const struct fs_writer *w)
{
    return w->written;
}

int fs_close(struct fs_writer *w, struct err *err)
{
    int r;

    if (!w)
        return 0;
    r = w->hdfs ? hdfs_writer_close(w->hdfs, err) : local_close(w->local, err);
    free(w);
    return r;
}

struct fs_writer *fs_abort(struct fs_writer *w)
{
    if (!w)
        return NULL;
    hdfs_writer_abort(w->hdfs);
    local_abort(w->local);
    free(w);
    return NULL;
}

/* ---- reading ---- */

int fs_open(struct fs *fs, const char *path, struct fs_reader **ret, struct err *err)
{
    struct fs_reader *f = calloc(1, sizeof(*f));
    int r;

    if (!f)
        return err_oom(err);
    f->loop = fs->set->loop;
    r = fs->hdfs ? hdfs_reader_open(fs->hdfs, path, &f->hdfs, err)
                 : local_open(path, &f->local, err);
    if (r < 0) {
        free(f);
        return r;
    }
    *ret = f;
    return 0;
}

ssize_t fs_read_next(struct fs_reader *r, const void **ret, size_t max, struct err *err)
{
    ssize_t n;
    int code;

    if (r->hdfs)
        return hdfs_read_next(r->hdfs, ret, max, err);
    n = local_read_next(r->local, ret, max, err);
    code = n > 0 ? file_take_turns(r->loop, &r->since_turn, (size_t)n, err) : 0;
    return code < 0 ? code : n;
}

ssize_t fs_read(struct fs_reader *r, void *p, size_t n, struct err *err)
{
    const void *bytes = NULL;
    ssize_t got;
    int code;

    if (n == 0)
        return 0;
    if (r->hdfs) {
        got = hdfs_read_next(r->hdfs, &bytes, n, err);
        if (got > 0)
            memcpy(p, bytes, (size_t)got);
        return got;
    }
    got = local_read(r->local, p, n, err);
    code = got > 0 ? file_take_turns(r->loop, &r->since_turn, (size_t)got, err) : 0;
    return code < 0 ? code : got;
}

ssize_t fs_pread(struct fs_reader *r, uint64_t offset, void *p, size_t n, struct err *err)
{
    return r->hdfs ? hdfs_pread(r->hdfs, offset, p, n, err)
                   : local_pread(r->local, offset, p, n, err);
}

void fs_seek(struct fs_reader *r, uint64_t offset)
{
    if (r->hdfs)
        hdfs_seek(r->hdfs, offset);
    else
        local_seek(r->local, offset);
}

uint64_t fs_length(const struct fs_reader *r)
{
    return r->hdfs ? hdfs_length(r->hdfs) : local_length(r->local);
}

bool fs_growing(const struct fs_reader *r)
{
    return r->hdfs && hdfs_growing(r->hdfs);
}

struct fs_reader *fs_reader_close(struct fs_reader *r)
{
    if (!r)
        return NULL;
    hdfs_reader_close(r->hdfs);
    local_reader_close(r->local);
    free(r);
    return NULL;
}
