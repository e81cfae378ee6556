/* stdio.c - see stdio.h */
#include "cmd/fs/stdio.h"
#include "cli/exit.h"

#include <stdio.h>

int stdio_out(struct fs_reader *r, fs_progress_fn *on_progress, void *arg, struct err *err)
{
    int x;

    fflush(stdout); /* what was printed before comes first */
    x = fs_copy_out(r, STDOUT_FILENO, on_progress, arg, err);
    return x == -EPIPE && exit_reader_gone(STDOUT_FILENO) ? EXIT_OUTPUT_GONE : x;
}
