/* local_platform_private.h - the parts of the local platform: what jobs on this machine share, and
 * the end of what a killed agent left. Loop thread only. */
#pragma once
#include "platform/local/gpus.h"
#include "platform/local/local_platform.h"
#include <sys/types.h>

/* ---- memory (local_ledger.c) ----
 * Each job notes in its directory how much it was granted; the sum over living jobs must fit. */

/* Adds `more` bytes to the `held` that this job has already: -EAGAIN when it does not fit now. */
int local_ledger_take(const struct local_options *o, uint64_t held, uint64_t more, struct err *err);
void local_ledger_set(const struct local_options *o, uint64_t held);
