/* git_head.h - the commit that the work tree of a path stands at, read from git's files: no git is
 * run, whose configuration there could start programs. Blocks on the local disk. Any thread. */
#pragma once
#include "base/err.h"

/* 40 (or 64) hexadecimal digits in *ret, the caller's; NULL when the path is in no work tree, or
 * nothing is committed there. */
int git_head(const char *path, char **ret, struct err *err);
