/* library_needs.h - the files that a library or program loads besides itself, so that it can be put
 * on another machine. Blocks on the disk. Any thread. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "native/library_find.h"
#include <stdbool.h>

#define LIBRARY_NEEDS_MOST 64 /* files */

/* Adds their paths to `ret`: those of the same package, which a path that begins with $ORIGIN leads
 * to; with `system` also those that machines need not have, from where this one keeps its
 * libraries: all but those of the C library and the compiler. Each once, and `path` itself not.
 * What is not there is left out: the loader of the other machine may have it. A file that is no
 * 64-bit ELF needs nothing. -E2BIG, -ENOMEM, or why `path` cannot be read. */
int library_needs(const char *path, bool system, struct strs *ret, struct err *err);

/* What the library `l` at `path` needs to run models with CUDA: the same, and what it opens by
 * itself, each with what that needs. CUDA and cuDNN, gigabytes of them, are left out: machines with
 * GPUs have their own. -ENOENT with a sentence where something is not beside `path`. */
int library_needs_cuda(const struct find_library *l, const char *path, struct strs *ret,
                       struct err *err);
