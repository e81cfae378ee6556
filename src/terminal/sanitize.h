/* sanitize.h - a line of a task's output made safe for a terminal. Pure.
 *
 * A task's bytes must not move the cursor, change the title or write over other lines. Colours are
 * welcome; a progress bar that goes back with \r is shown as it looked last. */
#pragma once
#include "base/buf.h"

/* The visible part of a line (without its newline) with carriage returns: the text after the last
 * one that is followed by text. *n is its length afterwards. */
const char *sanitize_segment(const char *p, size_t *n);

/* Appends one line. Text, tabs and colours (ESC [ … m) stay, with a reset at the end when there was
 * a colour; other control sequences of the form ESC [ … and backspaces are left out; every other
 * control character and what is not UTF-8 becomes \xNN. -ENOMEM, -E2BIG. */
int sanitize_line(struct buf *out, const char *p, size_t n);

/* How many of the last bytes are the beginning of a UTF-8 character whose rest is missing: 0 to
 * 3. So a cut need not fall inside one. */
size_t sanitize_tail(const char *p, size_t n);
