/* local_gpus.c - see gpus.h */
#include "base/auto.h"
#include "base/str.h"
#include "platform/gpus.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

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

/* A descriptor that stands for the device, or -1 when somebody has it. */
static int lock_gpu(unsigned number)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "ydl-gpu-%u", number);

    if (fd < 0 || bind(fd, (struct sockaddr *)&name,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) < 0)
        return -1;
    return take_fd(fd);
}

void local_gpus_release(int *locks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(locks[i]);
}

int local_gpus_take(const struct gpus *of, unsigned n, int locks[PLATFORM_GPUS_MAX],
                    uint32_t gpus[PLATFORM_GPUS_MAX], struct err *err)
{
    unsigned have = 0;

    if (n > of->n)
        return err_set(err, -ENODEV, "%u GPUs are asked for and this machine has %u", n, of->n);
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
    return err_set(err, -EAGAIN, "waiting for %u GPUs: %u of %u are free", n, have, of->n);
}
