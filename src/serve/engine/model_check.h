/* model_check.h - whether the files of a version are those that its manifest has: a backend may be
 * brought down by a damaged file, so none reads one before. Waits for the disk. Any thread. */
#pragma once
#include "base/err.h"

/* `dir` is a version's directory; without a manifest, or a list of files in it, there is nothing to
 * check. -EBADMSG with the first file that is missing or different. */
int model_check(const char *dir, struct err *err);
