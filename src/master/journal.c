/* journal.c - a log as a file; see journal.h.
 *
 *     written: 0 … in_file        held: in_file … size
 *     ┌──────────────────────┐    ┌───────────┐
 *     │ events.jsonl         │    │ in memory │  while the disk is full
 *     └──────────────────────┘    └───────────┘
 *
 * What cannot be written is held and tried again, and readers see it meanwhile as if it stood in
 * the file. Behind the end of the file some room is reserved while there is any, so that how the
 * job ended can be written on a disk that is full. */
#include "base/log.h"
#include "base/path.h"
#include "master/master_private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#define RESERVE (128 * KIB)
#define RESERVE_STEP (MIB)
#define HELD_MAX (16 * MIB)
#define LAST_MAX (2 * MIB) /* more for the last records */
#define READ_BYTES (64 * KIB)

int journal_open(struct journal *j, const char *path, struct err *err)
{
    off_t size;

    *j = (struct journal){ .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) };
    if (j->fd < 0)
        return err_sys(err, "open '%s'", path);
    size = lseek(j->fd, 0, SEEK_END);
    j->size = j->in_file = j->reserved = size > 0 ? (uint64_t)size : 0;
    buf_init(&j->held, HELD_MAX + LAST_MAX);
    return 0;
}

/* Is there room for `n` bytes and the last words? Where that cannot be known, writing will tell. */
static int journal_make_room(struct journal *j, size_t n)
{
    uint64_t need = j->in_file + n + RESERVE;
    struct rlimit most;

    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && need > most.rlim_cur)
        return -EFBIG;
    if (need <= j->reserved)
        return 0;
    if (fallocate(j->fd, FALLOC_FL_KEEP_SIZE, (off_t)j->in_file, (off_t)(n + RESERVE_STEP)) == 0)
        j->reserved = j->in_file + n + RESERVE_STEP;
    else if (errno == ENOSPC || errno == EDQUOT)
        return -errno;
    return 0;
}

/* Always behind the last whole record: what was written in part is written over. */
static int write_at_end(struct journal *j, const void *p, size_t n)
{
    const char *at = p;
    uint64_t to = j->in_file;

    while (n > 0) {
        ssize_t w = pwrite(j->fd, at, n, (off_t)to);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            int r = w < 0 ? -errno : -EIO;

            (void)!ftruncate(j->fd, (off_t)j->in_file); /* half a record is none */
            j->reserved = j->in_file;
            return r;
        }
        at += w;
        to += (uint64_t)w;
        n -= (size_t)w;
    }
    j->in_file = to;
    return 0;
}

static void journal_fail(struct journal *j, int r)
{
    if (!j->failed)
        log_error(LOG_MASTER, "a journal cannot be written, its records are held: %s",
                  r == -ENOSPC   ? "the disk is full"
                  : r == -EDQUOT ? "the quota is used up"
                  : r == -EFBIG  ? "files may not be larger"
                                 : "input or output error");
    j->failed = r;
}

/* Writes what is held. */
int journal_retry(struct journal *j)
{
    int r;

    if (j->held.len == 0)
        return 0;
    r = journal_make_room(j, j->held.len);
    if (r == 0)
        r = write_at_end(j, j->held.data, j->held.len);
    if (r < 0)
        return r;
    log_info(LOG_MASTER, "the journal can be written again");
    buf_done(&j->held);
    buf_init(&j->held, HELD_MAX + LAST_MAX);
    j->failed = 0;
    return 0;
}

/* Held records go first, or the file's order would not be the order of events. A record that finds
 * no room in memory either is counted in `lost`, and the last record of the log says so
 * (tell_end()). The final records get LAST_MAX more room than all others, so that a full buffer
 * cannot swallow them. */
int journal_append(struct journal *j, const void *p, size_t n)
{
    int r = journal_retry(j);

    if (r == 0)
        r = journal_make_room(j, n);
    if (r == 0)
        r = write_at_end(j, p, n);
    if (r < 0) {
        journal_fail(j, r);
        r = j->held.len + n <= HELD_MAX + (j->last ? LAST_MAX : 0) ? buf_add(&j->held, p, n)
                                                                   : -ENOSPC;
    }
    if (r == 0)
        j->size += n;
    else
        j->lost++;
    cond_wake_all(&j->grown);
    return r;
}

void journal_last(struct journal *j)
{
    j->last = true;
}

/* The last whole line in `p`. */
static size_t journal_last_line(const uint8_t *p, size_t n)
{
    const uint8_t *nl = n > 1 ? memrchr(p, '\n', n - 1) : NULL;

    return nl ? (size_t)(nl - p) + 1 : 0;
}

void journal_close(struct journal *j)
{
    size_t at;

    if (j->fd < 0 || journal_retry(j) == 0)
        return;
    /* Into the reserve: all of it, or at least how it ended. */
    if (write_at_end(j, j->held.data, j->held.len) == 0) {
        buf_reset(&j->held);
        return;
    }
    at = journal_last_line(j->held.data, j->held.len);
    if (write_at_end(j, j->held.data + at, j->held.len - at) < 0)
        log_error(LOG_MASTER, "the end of the journal cannot be written");
    buf_reset(&j->held);
}

void journal_done(struct journal *j)
{
    if (j->fd >= 0) {
        journal_close(j);
        (void)!ftruncate(j->fd, (off_t)j->in_file); /* gives the reserve back */
        close(j->fd);
        buf_done(&j->held);
    }
    j->fd = -1;
}

/* For the store's log only, which begins anew when it is long. `round` tells those who remember
 * offsets that they are of another file. */
void journal_restart(struct journal *j)
{
    if (ftruncate(j->fd, 0) < 0) {
        journal_fail(j, -errno);
        return;
    }
    buf_reset(&j->held);
    j->size = j->in_file = j->reserved = j->passed_over = 0;
    j->round++;
}

ssize_t journal_read(const struct journal *j, uint64_t at, void *p, size_t n)
{
    ssize_t r;

    if (at >= j->size)
        return 0;
    if (n > j->size - at)
        n = (size_t)(j->size - at);
    if (at >= j->in_file) {
        memcpy(p, j->held.data + (at - j->in_file), n);
        return (ssize_t)n;
    }
    if (n > j->in_file - at)
        n = (size_t)(j->in_file - at);
    r = pread(j->fd, p, n, (off_t)at);
    return r < 0 ? -errno : r;
}

/* ---- records ---- */

/* Reads `n` bytes from `at` on to the beginning of `p`; fewer at the end. */
static int fill_lines(const struct journal *j, uint64_t at, size_t n, struct buf *p)
{
    uint8_t *room = NULL;
    ssize_t got;

    buf_reset(p);
    if (buf_room(p, n, &room) < 0)
        return -ENOMEM;
    got = journal_read(j, at, room, n);
    if (got <= 0)
        return got < 0 ? (int)got : -EIO; /* it is shorter than what was written */
    p->len = (size_t)got;
    return 0;
}

/* *at goes behind the next newline; there is none at the end of a log that somebody has cut. */
static int pass_over(struct journal *j, uint64_t *at, struct buf *p)
{
    uint64_t from = *at;
    const uint8_t *nl = NULL;
    int r = 0;

    while (r == 0 && !nl && *at < j->size) {
        r = fill_lines(j, *at, READ_BYTES, p);
        nl = p->len ? memchr(p->data, '\n', p->len) : NULL;
        *at += nl ? (size_t)(nl + 1 - p->data) : p->len;
    }
    if (r < 0 || from < j->passed_over)
        return r;
    log_warn(LOG_MASTER, "a record of %llu bytes in the events log is too long to be passed on",
             (unsigned long long)(*at - from));
    j->passed_over = *at;
    return 0;
}

/* Returns whole lines only. Most records are short, so it reads a little and tries again with the
 * largest size only when there was no newline; a record longer than even that is passed over, as no
 * reader could take it. */
ssize_t journal_lines(struct journal *j, uint64_t *at, struct buf *p)
{
    size_t n = READ_BYTES;

    while (*at < j->size) {
        const uint8_t *nl;
        int r = fill_lines(j, *at, n, p);

        if (r < 0)
            return r;
        nl = memrchr(p->data, '\n', p->len);
        if (nl) {
            p->len = (size_t)(nl + 1 - p->data);
            *at += p->len;
            return (ssize_t)p->len;
        }
        if (n < JOURNAL_LINES_MAX && p->len == n) {
            n = JOURNAL_LINES_MAX;
            continue;
        }
        n = READ_BYTES;
        r = pass_over(j, at, p);
        if (r < 0)
            return r;
    }
    buf_reset(p);
    return 0;
}
