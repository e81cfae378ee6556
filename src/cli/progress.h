/* progress.h - a line on the terminal that shows how far a long copy is.
 *
 *     train.tar  ━━━━━━━━━━━╸─────────  62 %  31 of 50 MB  48 MB/s  0:07 left
 *
 * Drawn on standard error when that is a terminal, at most ten times a second, and wiped away at
 * the end; otherwise nothing happens at all. Loop thread only; never waits for the terminal longer
 * than one write. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress; /* opaque */

/* Begins. `total`: bytes to come, 0 when nobody knows. With `quiet`, or where there is no terminal
 * to draw on (or TERM is "dumb"), *ret is NULL, which every call here takes. *ret is the caller's:
 * progress_end(). */
int progress_begin(const char *label, uint64_t total, bool quiet, struct progress **ret,
                   struct err *err);

void progress_set(struct progress *p, uint64_t done); /* bytes since the beginning */
void progress_add(struct progress *p, uint64_t more);
void progress_total(struct progress *p, uint64_t total);    /* when it becomes known, or grows */
void progress_label(struct progress *p, const char *label); /* the file that is being copied now */

/* Takes the line away, for something else that is to be printed; the next call draws it again. */
void progress_wipe(struct progress *p);
/* Wipes and frees. NULL is fine; always NULL. */
struct progress *progress_end(struct progress *p);

AUTO_DEFINE(progress, struct progress *, progress_end);
#define AUTO_PROGRESS AUTO(progress) struct progress

/* Does the terminal show UTF-8? By the variables of the locale. */
bool progress_has_utf8(void);

/* ---- the line itself, for tests ---- */

struct progress_view {
    const char *label;
    uint64_t done, total;
    double rate;    /* bytes a second; 0 while unknown */
    unsigned width; /* columns of the terminal */
    bool utf8, colour;
};

#define PROGRESS_LINE_MAX 1024

/* Writes the line for `v` into `out`, never wider than v->width - 1 columns: parts that do not fit
 * are left out, the bar first shrinks. Returns its columns. */
size_t progress_line(const struct progress_view *v, char out[PROGRESS_LINE_MAX]);

/* "0:07", "12:30", "3:05:00"; "" when it would take more than four days. */
#define PROGRESS_TIME_MAX 16
const char *progress_time(uint64_t seconds, char out[PROGRESS_TIME_MAX]);
