/* stdio.c - see stdio.h */
#include "cmd/fs/stdio.h"
#include "cli/exit.h"

#include <poll.h>
#include <stdio.h>

/* A pipe whose other end was closed. */
static bool stdio_reader_gone(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    return poll(&p, 1, 0) > 0 && (p.revents & POLLERR) != 0;
}

int stdio_out(struct fs_reader *r, fs_progress_fn *on_progress, void *arg, struct err *err)
{
    int x;

    fflush(stdout); /* what was printed before comes first */
    x = fs_copy_out(r, STDOUT_FILENO, on_progress, arg, err);
    return x == -EPIPE && stdio_reader_gone(STDOUT_FILENO) ? EXIT_OUTPUT_GONE : x;
}
