/* collapse.h - the same line from many ranks, shown once. Pure.
 *
 * A line is held for COLLAPSE_MS. Ranks of the same role that write the same bytes to the same
 * stream meanwhile are added to it. The lines of one rank stay in their order: a rank joins only
 * lines that come after the last one it wrote. */
#pragma once
#include "base/auto.h"
#include "terminal/stream_piece.h"
#include <stdbool.h>

#define COLLAPSE_MS 200
#define COLLAPSE_HELD_MAX (4 * MIB) /* bytes of lines that wait; more are let go earlier */

struct collapse; /* opaque */

struct collapse_line {
    const char *role;
    enum piece_stream stream;
    uint32_t *ranks; /* ascending */
    size_t n_ranks;
    const char *text; /* without newline */
    size_t len;
    int64_t at; /* when the first came */
};

/* Gets each line when its time is over; a result that is not 0 is returned by the call that led to
 * it. */
typedef int collapse_fn(void *user, const struct collapse_line *line);

/* *ret is the caller's. -ENOMEM. */
int collapse_new(collapse_fn *fn, void *user, struct collapse **ret);
struct collapse *collapse_free(struct collapse *c); /* forgets what it holds */
AUTO_DEFINE(collapse, struct collapse *, collapse_free);

/* The source of a line. `role` is borrowed and outlives the collapse; `last`, which starts at 0, is
 * remembered for the rank and stream from one call to the next. */
struct collapse_from {
    const char *role;
    uint32_t rank;
    enum piece_stream stream;
    uint64_t *last;
};
/* The text is copied. */
int collapse_add(struct collapse *c, const struct collapse_from *from, const char *text, size_t len,
                 int64_t now);

int collapse_time(struct collapse *c, int64_t now);  /* lets go what has waited long enough */
int collapse_flush(struct collapse *c);              /* lets go everything */
int64_t collapse_deadline(const struct collapse *c); /* INT64_MAX: nothing waits */

/* "worker:0-7", "worker:0,3", at most `cap` bytes with the NUL: what does not fit is counted,
 * "worker:0,2,4+497". */
#define COLLAPSE_LABEL 48
const char *collapse_label(const struct collapse_line *line, char out[COLLAPSE_LABEL]);
