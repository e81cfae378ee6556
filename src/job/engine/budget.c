/* budget.c - the times of recent restarts, oldest first: one more is allowed while fewer than
 * `max` lie within the window. Delays double up to a ceiling and are jittered, so that jobs that
 * failed together do not come back together. See budget.h. */
#include "job/engine/budget.h"
#include "base/array.h"

#include <string.h>

#define FIRST_DELAY_MS 1000

void budget_done(struct budget *b)
{
    free(b->at);
    *b = (struct budget){ 0 };
}

static void budget_forget(struct budget *b, int64_t before)
{
    uint32_t old = 0;

    while (old < b->n && b->at[old] <= before)
        old++;
    if (old == 0)
        return;
    b->n -= old;
    memmove(b->at, b->at + old, b->n * sizeof(*b->at));
}

int budget_add(struct budget *b, int64_t at)
{
    return ARRAY_ADD(b->at, b->n, at);
}

int budget_use(struct budget *b, int64_t max, int64_t window, int64_t now)
{
    int r;

    budget_forget(b, now - window);
    if (b->n >= max)
        return 0;
    r = budget_add(b, now);
    return r < 0 ? r : 1;
}

int64_t budget_delay(uint8_t *young, int64_t lived)
{
    int64_t delay = FIRST_DELAY_MS;

    if (lived >= BUDGET_LONG_MS)
        *young = 0;
    if (*young == 0) {
        *young = 1;
        return 0;
    }
    /* A server that somebody kills now and then would be away longer and longer, and in the end all
     * replicas of it at once. */
    if (lived >= BUDGET_SETTLED_MS)
        return FIRST_DELAY_MS;
    for (uint8_t i = 1; i < *young && delay < BUDGET_DELAY_MAX_MS; i++)
        delay *= 2;
    if (delay >= BUDGET_DELAY_MAX_MS)
        return BUDGET_DELAY_MAX_MS;
    ++*young;
    return delay;
}

uint32_t budget_draw(uint32_t *seed)
{
    uint32_t x;

    /* A counter and a mixing function: every seed, 0 too, gives a full cycle. */
    *seed += 0x9e3779b9;
    x = *seed;
    x = (x ^ (x >> 16)) * 0x85ebca6b;
    x = (x ^ (x >> 13)) * 0xc2b2ae35;
    return x ^ (x >> 16);
}

int64_t budget_backoff(uint32_t n, int64_t min, int64_t max, uint32_t *seed)
{
    int64_t whole = min;

    while (n-- > 0 && whole < max)
        whole *= 2;
    if (whole > max)
        whole = max;
    return whole - (int64_t)(budget_draw(seed) % (uint64_t)(whole / 2 + 1));
}
