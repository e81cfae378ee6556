/* histogram.h - how long requests took, in a fixed number of buckets. Pure.
 *
 * Sixteen buckets for each power of two, so that a quantile is at most 6 % too high, from 1 µs to
 * 19 hours. */
#pragma once
#include <stdint.h>

#define HISTOGRAM_BUCKETS 528

struct histogram {
    uint64_t total;
    uint32_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, int64_t us);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The time that `per_mille` of 1000 requests did not exceed; 0 when there were none. */
int64_t histogram_quantile(const struct histogram *h, unsigned per_mille);
