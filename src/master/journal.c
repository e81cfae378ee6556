/* journal.c - the events log as a file; see master_private.h. */
#include "base/log.h"
#include "base/path.h"
#include "master/master_private.h"

#include <fcntl.h>

/* A full disk must not end the training: the log ends here, the job goes on. */
static void journal_fail(struct journal *j, int r)
{
    if (!j->failed)
        log_error(LOG_MASTER, "a journal cannot be written any more (code %d)", r);
    j->failed = r;
}

int journal_open(struct journal *j, const char *path, struct err *err)
{
    off_t size;

    *j = (struct journal){ .fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600) };
    if (j->fd < 0)
        return err_sys(err, "open '%s'", path);
    size = lseek(j->fd, 0, SEEK_END);
    j->size = size > 0 ? (uint64_t)size : 0;
    return 0;
}

void journal_done(struct journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
}

void journal_restart(struct journal *j)
{
    if (ftruncate(j->fd, 0) < 0) {
        journal_fail(j, -errno);
        return;
    }
    j->size = 0;
    j->round++;
}

void journal_append(struct journal *j, const void *p, size_t n)
{
    int r = path_write_fd(j->fd, p, n);

    if (r < 0)
        journal_fail(j, r);
    if (r == 0)
        j->size += n;
    cond_wake_all(&j->grown);
}

ssize_t journal_read(const struct journal *j, uint64_t at, void *p, size_t n)
{
    ssize_t r = pread(j->fd, p, n, (off_t)at);

    return r < 0 ? -errno : r;
}
