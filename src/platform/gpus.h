/* gpus.h - which devices of this machine are whose.
 *
 * A device in use is an abstract Unix socket with its number in the name: it is machine-wide, needs
 * no directory that everybody may write to, and goes away with whoever held it. Any thread; nothing
 * waits. */
#pragma once
#include "base/err.h"
#include "platform/platform.h"

/* Takes `n` devices that no other job has, all or none: -EAGAIN when there are too few now, -ENODEV
 * when there will never be. */
int local_gpus_take(unsigned n, int locks[PLATFORM_GPUS_MAX], uint32_t gpus[PLATFORM_GPUS_MAX],
                    struct err *err);
void local_gpus_release(int *locks, size_t n);
unsigned local_gpus_count(void); /* $YDL_GPUS, else the devices of this machine */
