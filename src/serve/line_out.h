/* line_out.h - output to somebody who may have stopped reading, which holds nobody up.
 *
 * What a pipe or a terminal does not take at once is kept, up to a ceiling; then what comes is
 * dropped, and how many lines that were is told as soon as there is room again. One thread at a
 * time. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

struct line_out {
    int fd;             /* of our own: poll it for POLLOUT while line_out_waits() */
    bool socket;        /* it is one */
    struct buf waiting; /* to be written */
    uint64_t dropped;   /* lines, not told yet */
    uint64_t lost;      /* lines, of all times */
};

/* Another descriptor for what `fd` writes to, which does not wait: the one that is given may be
 * shared with others, who expect theirs to. A pipe of another user, and a socket, cannot be opened
 * once more: then it is a copy. *ret is the caller's. -errno. */
int line_out_again(int fd);

/* Writes to what `fd` writes to; when that is nothing, so does this. */
void line_out_open(struct line_out *o, int fd);
void line_out_done(struct line_out *o); /* also of one that is zeroed, with an `fd` of -1 */
/* `n` bytes: lines, or pieces of them. */
void line_out_add(struct line_out *o, const char *text, size_t n);
bool line_out_waits(const struct line_out *o);
/* Writes as much of what waits as goes now. */
void line_out_go(struct line_out *o);

/* From here on writing to `fd` fails with EAGAIN instead of waiting, where that is possible without
 * changing it for others: a pipe or a terminal. */
void line_out_never_wait(int fd);
