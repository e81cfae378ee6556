/* guard.h - what nobody deletes by mistake. Pure. */
#pragma once
#include "base/err.h"
#include <stdbool.h>

/* Whether `path` may be deleted with all that is in it, where `home` is our home directory there:
 * never the root, and only with `even_home` a directory that holds homes, or a home itself (ours,
 * or a neighbour's: a directory beside ours). -EPERM with a sentence. All paths are absolute and
 * tidy. */
int guard_delete(const char *path, const char *home, bool even_home, struct err *err);

/* `path` is `dir` itself or below it. */
bool guard_within(const char *path, const char *dir);
