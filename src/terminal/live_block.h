/* live_block.h - the block at the bottom of the terminal while a job runs. Pure: it makes bytes for
 * a terminal, and screen.h writes them.
 *
 *     mnist  running  0:42  step 120/1000 12 %  5:10 left
 *       ps      1 running
 *       worker  2 running  120/1000 12 %  loss 0.31
 *
 * The block is drawn at the cursor and leaves it at the end of its last line; wiping goes back to
 * its first column and clears from there. No line is as wide as the terminal. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include <stdbool.h>

#define LIVE_LINES 32

/* What is on the screen. Zero: nothing. */
struct live {
    unsigned n;
    unsigned columns[LIVE_LINES];
};

struct live_view {
    const json_t *status; /* the document of job/history.h, with or without its tasks */
    int64_t now;          /* milliseconds since 1970 */
    unsigned width, rows; /* of the terminal */
    bool utf8, colour;
};

/* Appends the bytes that draw the block over the present one. */
int live_draw(struct live *l, const struct live_view *v, struct buf *out);
/* Appends what takes it away; `width` is the terminal's present one, where lines that were drawn on
 * a wider one now take several rows. */
int live_wipe(struct live *l, unsigned width, struct buf *out);
