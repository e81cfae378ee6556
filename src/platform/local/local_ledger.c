/* local_ledger.c - see local_platform_private.h.
 *
 * Nobody keeps the sum: it is counted again under a lock from the notes of the jobs that live, so a
 * job that was killed gives back what it had by dying. */
#include "base/path.h"
#include "base/str.h"
#include "platform/local/local_jobs.h"
#include "platform/local/local_platform_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define NOTE "held"

static int lock_ledger(const char *state_dir)
{
    AUTO_FREE char *path = path_join(state_dir, "ledger.lock");
    AUTO_CLOSE int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return -errno;
    return take_fd(fd);
}

struct sum {
    const char *own; /* our job's directory, which is left out */
    uint64_t bytes;
    unsigned jobs;
};

static int local_ledger_add_job(void *arg, struct job_dir *d)
{
    struct sum *s = arg;
    AUTO_FREE char *path = path_join(d->path, NOTE);
    AUTO_BUF text = { .max = 32 };
    uint64_t held = 0;

    if (!path || str_eq(d->path, s->own) || path_read(path, &text, NULL) < 0)
        return 0;
    if (!buf_text(&text) || str_to_size(buf_text(&text), &held) < 0 || !jobs_alive(d))
        return 0;
    s->bytes += held;
    s->jobs++;
    return 0;
}

void local_ledger_set(const struct local_options *o, uint64_t held)
{
    AUTO_FREE char *path = path_join(o->job_dir, NOTE);
    AUTO_CLOSE int fd = -1;
    char text[32];
    int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)held);

    if (!path)
        return;
    if (held == 0) {
        (void)unlink(path);
        return;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)path_write_fd(fd, text, (size_t)n);
}

/* Counting and noting happen under one lock, so two jobs cannot both take the last room. The note
 * holds the job's whole sum, not the difference: it is right again after any failure. */
int local_ledger_take(const struct local_options *o, uint64_t held, uint64_t more, struct err *err)
{
    AUTO_CLOSE int lock = lock_ledger(o->state_dir);
    struct sum sum = { .own = o->job_dir };
    struct local_machine machine;
    char want[STR_SIZE_MAX], all[STR_SIZE_MAX], others[STR_SIZE_MAX];
    int r;

    if (lock < 0)
        return err_code(err, lock, "lock the ledger in '%s'", o->state_dir);
    r = jobs_each(o->state_dir, local_ledger_add_job, &sum, err);
    if (r < 0)
        return r;
    local_machine(&machine);
    if (sum.bytes + held + more > machine.memory)
        return err_set(err, -EAGAIN, "waiting for %s of memory: %u other job%s %s %s of %s",
                       str_size(more, want), sum.jobs, sum.jobs == 1 ? "" : "s",
                       sum.jobs == 1 ? "has" : "have", str_size(sum.bytes, others),
                       str_size(machine.memory, all));
    local_ledger_set(o, held + more);
    return 0;
}
