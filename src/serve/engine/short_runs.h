/* short_runs.h - whether the next run of a model is sure enough to be short, by those before it.
 *
 * A run that takes less than a hand-over between threads is better done where the request is, even
 * though everybody else waits for it meanwhile: so it has to be short, and known to be. What is
 * known is kept for each size of the inputs (powers of two), because a request of a thousand rows
 * says nothing of one with a million. Where values decide how long a run takes, sizes say nothing:
 * a run that was expected to be short and held everybody up is followed by many that are not
 * trusted, twice as many each time. Any thread, one at a time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHORT_RUN_NS (INT64_C(200) * 1000)

/* Zeroed at first: nothing is known. */
struct short_runs {
    struct short_runs_class {
        uint64_t longs; /* a bit for each of the last 64 runs: was it long? */
        unsigned seen;  /* of them */
    } classes[65];
    unsigned surprises; /* runs that held everybody up */
    uint64_t wary;      /* runs to come that are not trusted, whatever their size */
};

/* A run with inputs of so many bytes took so long. */
void short_runs_add(struct short_runs *s, uint64_t bytes, int64_t ns);
/* Of the last 64 runs of that size at most three were long, and 32 at least are known. */
bool short_runs_expected(const struct short_runs *s, uint64_t bytes);
