/* serve_fetching.h - what somebody who waits for a deployment sees of the fetches of its models.
 * Fibers only. */
#pragma once
#include "client/job_call.h"

struct serve_fetching {
    int64_t done, looked, told; /* bytes there are, and when that was looked at and said */
};

/* True when bytes have come since the last look: the time for the first answer has not begun.
 * People are told now and then how far each replica is. */
bool serve_fetching_moves(struct job_call *x, struct serve_fetching *f);
