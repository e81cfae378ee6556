/* link_tree.h - the job's files, linked into the work directory.
 *
 * YARN unpacks an archive into a cache of the NodeManager, for many containers at once: nobody may
 * write to it. So its directories are created anew, and every file becomes a symbolic link. Blocks
 * on the local disk. Any thread. */
#pragma once
#include "base/err.h"

/* Puts everything below `from` (a directory, or a link to one) into `to`. What is there already
 * stays as it is; a link that is there is not followed. */
int spread_tree(const char *from, const char *to, struct err *err);
