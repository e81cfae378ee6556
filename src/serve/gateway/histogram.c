/* histogram.c - buckets that grow with what they count. */
#include "serve/gateway/histogram.h"

/*     bucket   0 …  15   0 … 15 µs, one value each
 *             16 …  31   16 … 31, one each
 *             32 …  47   32 … 63, two each
 *             48 …  63   64 … 127, four each, and so on
 *
 * A bucket's number is the value's power of two and its next four bits. Clients of the control
 * socket get these numbers in `totals`, so they stay. */
#define SUB_BITS 4
#define SUB (1U << SUB_BITS)

static unsigned bucket_of(int64_t us)
{
    uint64_t v = us > 0 ? (uint64_t)us : 0;
    unsigned shift, i;

    if (v < SUB)
        return (unsigned)v;
    shift = 63U - (unsigned)__builtin_clzll(v) - SUB_BITS;
    i = shift * SUB + (unsigned)(v >> shift); /* the upper half of SUB × 2 values */
    return i < HISTOGRAM_BUCKETS ? i : HISTOGRAM_BUCKETS - 1;
}

/* The largest value of a bucket. */
static int64_t bucket_top(unsigned i)
{
    unsigned shift = i < 2 * SUB ? 0 : i / SUB - 1;

    return (int64_t)(((uint64_t)(i - shift * SUB) + 1) << shift) - 1;
}

void histogram_add(struct histogram *h, int64_t us)
{
    h->total++;
    h->counts[bucket_of(us)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->total += from->total;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->counts[i] += from->counts[i];
}

int64_t histogram_quantile(const struct histogram *h, unsigned per_mille)
{
    uint64_t rank = (h->total * per_mille + 999) / 1000, seen = 0;

    if (h->total == 0)
        return 0;
    if (rank == 0)
        rank = 1;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen >= rank)
            return bucket_top(i);
    }
    return bucket_top(HISTOGRAM_BUCKETS - 1);
}
