/* stdio.h - standard input and output as the ends of a copy. Fibers only. */
#pragma once
#include "hadoop/fs/fs.h"

/* The rest of the reader to standard output. EXIT_OUTPUT_GONE when nobody reads that any more. */
int stdio_out(struct fs_reader *r, fs_progress_fn *on_progress, void *arg, struct err *err);
