/* budget.h - how often, and how soon: restarts within a time window, growing delays, jitter. Pure.
 *
 * Times are milliseconds since 1970, given by the caller. */
#pragma once
#include "base/auto.h"
#include <stdbool.h>
#include <stdint.h>

/* The restarts used within the window. Zeroed is empty; nothing is allocated before the first use.
 */
struct budget {
    int64_t *at; /* oldest first */
    uint32_t n;
};

void budget_done(struct budget *b);

/* Uses one of `max` restarts within the last `window` ms: 1 when allowed, 0 when the budget is used
 * up, -ENOMEM. Restarts older than the window are forgotten. */
int budget_use(struct budget *b, int64_t max, int64_t window, int64_t now);

/* Adds a restart at the time `at`, which is later than all before it. -ENOMEM. */
int budget_add(struct budget *b, int64_t at);

/* How long to wait before the next start of something that keeps dying young. The first restart is
 * at once, then 1 s, 2 s, 4 s … 30 s; what lived for BUDGET_LONG_MS starts afresh. What lived for
 * BUDGET_SETTLED_MS waits for 1 s and no longer: it can start. */
#define BUDGET_LONG_MS 10000
#define BUDGET_SETTLED_MS 2000
#define BUDGET_DELAY_MAX_MS 30000
int64_t budget_delay(uint8_t *young, int64_t lived);

/* A small generator of numbers that look random, the same for the same seed. */
uint32_t budget_draw(uint32_t *seed);

/* Before round `n` (from 0): between the half and the whole of `min` × 2^n, at most `max`. */
int64_t budget_backoff(uint32_t n, int64_t min, int64_t max, uint32_t *seed);
