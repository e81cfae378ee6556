/* local_private.h - the parts of the local platform: what jobs on this machine share, and the end
 * of what a killed agent left. Loop thread only. */
#pragma once
#include "platform/local.h"
#include <sys/types.h>

/* ---- GPUs (local_gpus.c) ----
 * A device in use is an abstract Unix socket with its number in the name: it is machine-wide, needs
 * no directory that everybody may write to, and goes away with whoever held it. */

/* Takes `n` devices that no other job has, all or none: -EAGAIN when there are too few now. */
int local_gpus_take(unsigned n, int locks[PLATFORM_GPUS_MAX], uint32_t gpus[PLATFORM_GPUS_MAX],
                    struct err *err);
void local_gpus_release(int *locks, size_t n);
unsigned local_gpus_count(void); /* $YDL_GPUS, else the devices of this machine */

/* ---- memory (local_ledger.c) ----
 * Each job notes in its directory how much it was granted; the sum over living jobs must fit. */

/* Adds `more` bytes to the `held` that this job has already: -EAGAIN when it does not fit now. */
int local_ledger_take(const struct local_options *o, uint64_t held, uint64_t more, struct err *err);
void local_ledger_set(const struct local_options *o, uint64_t held);
