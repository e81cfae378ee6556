/* guard.h - what nobody deletes by mistake. Pure. */
#pragma once
#include "base/err.h"
#include <stdbool.h>

struct guard {
    const char *home;  /* our home directory there, absolute */
    bool homes_beside; /* directories beside it are homes too, as on HDFS */
    bool even_home;    /* homes may go */
};

/* Whether `path` may be deleted with all that is in it: never the root, and only with `even_home` a
 * home or a directory that holds homes. -EPERM with a sentence. All paths are absolute and tidy. */
int guard_delete(const struct guard *g, const char *path, struct err *err);

/* `path` is `dir` itself or below it. */
bool guard_within(const char *path, const char *dir);
