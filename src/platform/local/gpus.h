/* gpus.h - which devices of this machine are whose.
 *
 * A device in use is an abstract Unix socket with its number in the name: it is machine-wide, needs
 * no directory that everybody may write to, and goes away with whoever held it. Any thread; nothing
 * waits. */
#pragma once
#include "base/err.h"
#include "platform/platform.h"

/* Devices by the number in their file's name, ascending. A program counts those that it can see:
 * the first of them is its device 0, whatever its file is called. */
struct gpus {
    uint32_t v[PLATFORM_GPUS_MAX];
    unsigned n;
};

void local_gpus_find(struct gpus *ret); /* $YDL_GPUS, else the devices of this machine */
/* Those with a file in `dir`, "/dev" as a rule; where it cannot be read there are none. */
void local_gpus_in(const char *dir, struct gpus *ret);

/* Takes `n` of them that no other job has, all or none, as a program counts them: -EAGAIN when
 * there are too few now, -ENODEV when there will never be. */
int local_gpus_take(const struct gpus *of, unsigned n, int locks[PLATFORM_GPUS_MAX],
                    uint32_t gpus[PLATFORM_GPUS_MAX], struct err *err);
void local_gpus_release(int *locks, size_t n);
