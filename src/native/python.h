/* python.h - the Python that a command would run. Blocks on the disk. Any thread. */
#pragma once
#include "base/auto.h"
#include "base/err.h"

/* The interpreter of a command: its first word where that is a Python ("python3",
 * "/env/bin/python"), or what the first line of a script names. A path; NULL when it runs no Python
 * or it is not there. The caller's. */
char *python_of(char *const *command, const char *path);

/* The first program of a name in PATH; a name with a slash stands for itself. NULL when there is
 * none. The caller's. */
char *python_in_path(const char *path, const char *name);

/* The interpreter to run: `option` names one, or an environment that has it; NULL: the first
 * python3 or python in PATH. -ENOENT with a sentence. *ret is the caller's. */
int python_choose(const char *option, const char *path, char **ret, struct err *err);

/* The directory of an environment that has this interpreter: "/env" of "/env/bin/python". The link
 * is not followed: it leads out of the environment. NULL when out of memory. The caller's. */
char *python_prefix(const char *interpreter);

/* Asks an interpreter for the directory of a package, without importing it. -ENOENT when it has
 * none, -ETIMEDOUT, or why it could not be started. *ret is the caller's. */
int python_ask(const char *interpreter, const char *package, int timeout_ms, char **ret,
               struct err *err);
