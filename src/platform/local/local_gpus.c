/* local_gpus.c - a GPU is taken by a machine-wide lock with its device number (base/name_lock.h),
 * so that jobs of different users do not share one unknowingly. See gpus.h. */
#include "base/auto.h"
#include "base/name_lock.h"
#include "base/str.h"
#include "platform/local/gpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Some may be missing: a container sees the files of its own devices and no others. */
void local_gpus_in(const char *dir, struct gpus *ret)
{
    static const char prefix[] = "nvidia";
    AUTO_DIR DIR *d = opendir(dir);
    const struct dirent *e;

    ret->n = 0;
    while (d && ret->n < PLATFORM_GPUS_MAX && (e = readdir(d)) != NULL) {
        int64_t number;

        if (str_starts(e->d_name, prefix) &&
            str_to_i64(e->d_name + sizeof(prefix) - 1, 0, UINT32_MAX, &number) == 0)
            ret->v[ret->n++] = (uint32_t)number;
    }
    qsort(ret->v, ret->n, sizeof(*ret->v), by_number);
}

void local_gpus_find(struct gpus *ret)
{
    const char *said = getenv("YDL_GPUS");
    int64_t n;

    if (!said || str_to_i64(said, 0, PLATFORM_GPUS_MAX, &n) < 0) {
        local_gpus_in("/dev", ret);
        return;
    }
    ret->n = (unsigned)n;
    for (unsigned i = 0; i < ret->n; i++)
        ret->v[i] = i;
}

#define LOCK_NAME "ydl-gpu-"

/* A descriptor that holds the device, or -1 when another job has it. */
static int lock_gpu(unsigned number)
{
    char name[32];

    (void)snprintf(name, sizeof(name), LOCK_NAME "%u", number);
    return name_lock(name);
}

/* Devices that another user holds. */
struct foreign {
    const struct gpus *of;
    unsigned n;
    uid_t owner; /* of the last */
};

static void local_gpus_count_foreign(void *arg, const char *rest, uid_t owner)
{
    struct foreign *f = arg;
    int64_t number;

    if (owner == geteuid() || str_to_i64(rest, 0, UINT32_MAX, &number) < 0)
        return;
    for (unsigned i = 0; i < f->of->n; i++)
        if (f->of->v[i] == (uint32_t)number) {
            f->n++;
            f->owner = owner;
        }
}

void local_gpus_release(int *locks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(locks[i]);
}

/* All or none: a job that held some while it waits for others could wait for one that does the
 * same. `gpus` are positions in the list and not device numbers, as CUDA counts only what it sees.
 */
int local_gpus_take(const struct gpus *of, unsigned n, int locks[PLATFORM_GPUS_MAX],
                    uint32_t gpus[PLATFORM_GPUS_MAX], struct err *err)
{
    struct foreign f = { .of = of };
    unsigned have = 0;

    if (n > of->n)
        return err_set(err, -ENODEV, "the job asks for %u GPU%s; this machine has %u", n,
                       n == 1 ? "" : "s", of->n);
    for (unsigned i = 0; i < of->n && have < n; i++) {
        int fd = lock_gpu(of->v[i]);

        if (fd < 0)
            continue;
        locks[have] = fd;
        gpus[have++] = i;
    }
    if (have == n)
        return 0;
    local_gpus_release(locks, have);
    name_lock_owners(LOCK_NAME, local_gpus_count_foreign, &f);
    if (f.n == 0)
        return err_set(err, -EAGAIN, "waiting for %u GPU%s: %u of %u free", n, n == 1 ? "" : "s",
                       have, of->n);
    return err_set(err, -EAGAIN,
                   "waiting for %u GPU%s: %u of %u free; %u held by other users (uid %u)", n,
                   n == 1 ? "" : "s", have, of->n, f.n, (unsigned)f.owner);
}
