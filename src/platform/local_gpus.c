/* local_gpus.c - see gpus.h */
#include "base/auto.h"
#include "base/str.h"
#include "platform/gpus.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

unsigned local_gpus_count(void)
{
    const char *said = getenv("YDL_GPUS");
    int64_t n = 0;
    struct stat st;
    char path[32];

    if (said && str_to_i64(said, 0, PLATFORM_GPUS_MAX, &n) == 0)
        return (unsigned)n;
    for (n = 0; n < PLATFORM_GPUS_MAX; n++) {
        (void)snprintf(path, sizeof(path), "/dev/nvidia%d", (int)n);
        if (stat(path, &st) < 0)
            break;
    }
    return (unsigned)n;
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

int local_gpus_take(unsigned n, int locks[PLATFORM_GPUS_MAX], uint32_t gpus[PLATFORM_GPUS_MAX],
                    struct err *err)
{
    unsigned there = n ? local_gpus_count() : 0, have = 0;

    if (n > there)
        return err_set(err, -ENODEV, "%u GPUs are asked for and this machine has %u", n, there);
    for (unsigned i = 0; i < there && have < n; i++) {
        int fd = lock_gpu(i);

        if (fd < 0)
            continue;
        locks[have] = fd;
        gpus[have++] = i;
    }
    if (have == n)
        return 0;
    local_gpus_release(locks, have);
    return err_set(err, -EAGAIN, "waiting for %u GPUs: %u of %u are free", n, have, there);
}
