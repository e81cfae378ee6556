/* metrics.h - what a server counts, and the text in which Prometheus reads it.
 *
 * Every name begins with ydl_serve_, but for those that all programs have (process_…). Loop thread
 * only. */
#pragma once
#include "base/buf.h"

#define METRICS_BOUNDS 16

struct metrics_histogram {
    const double *bounds; /* upper ends, rising; the last class has none */
    size_t n;             /* of them */
    uint64_t counts[METRICS_BOUNDS + 1];
    double sum;
};

/* How often an operation was answered with a status. */
struct metrics_answers {
    const char *operation; /* static */
    int status;
    uint64_t n;
};

/* What is read at the moment of asking. */
struct metrics_now {
    const char *model, *backend, *library; /* texts of the info line */
    int64_t version;
    bool ready;
    size_t waiting, running, connections;
    uint64_t body_bytes, lost_lines;
    bool joins;
};

/* Zeroed, then metrics_init(). */
struct metrics {
    struct metrics_answers *answers;
    size_t answers_n;
    struct metrics_histogram request, queue, run, rows;
    uint64_t here;      /* runs on the loop's thread */
    uint64_t abandoned; /* runs whose request had given up */
    int64_t started;    /* seconds since 1970 */
};

void metrics_init(struct metrics *m);
void metrics_done(struct metrics *m);
/* `operation` is static. A failure to count is none of the request. */
void metrics_answer(struct metrics *m, const char *operation, int status);
void metrics_count(struct metrics_histogram *h, double value);
/* All of it in Prometheus' text format, version 0.0.4. -ENOMEM, -E2BIG. */
int metrics_print(const struct metrics *m, const struct metrics_now *now, struct buf *out);
