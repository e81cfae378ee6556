/* last_lines.h - the last lines of a task's output, fit to be shown. Blocks on the local disk. */
#pragma once
#include "base/buf.h"

/* Appends at most `lines` last lines of the file and at most the bytes that `out` has room for,
 * without what is not UTF-8 and without control characters but tabs; each ends with a newline. A
 * progress bar that was drawn over and over is shown as it looked at the end. A file that cannot be
 * read has no lines. -ENOMEM. */
int lines_last(const char *path, unsigned lines, struct buf *out);
