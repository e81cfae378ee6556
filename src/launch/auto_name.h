/* auto_name.h - the name of a job that was given none. Pure. */
#pragma once
#include "base/str.h"

/* From the first script that the command names ("train" of "python -u src/train.py", and of "sh -c
 * 'exec python3 train.py'"), else from its program ("true" of "/bin/true"), else "job". Whatever
 * the command is, the name is one that a job may have. The caller's; NULL when memory ran out. */
char *auto_name(const struct strs *command);

/* As much of a word as fits `out`, with only letters, digits and "_-." in it, the last two of these
 * neither first nor last nor next to each other; perhaps nothing. For names made of several parts.
 */
void auto_name_clean(const char *s, size_t len, char *out, size_t cap);
