/* before.h - a command of ydl that a front end runs before the one that it is: what it prints must
 * not be mixed with what that one prints. Main thread. */
#pragma once
#include "cli/cli.h"

/* Runs it with its standard output kept, which goes to standard error when it is done: with --json
 * and on failure to standard output, as it is the error then. Returns its exit code. `argv` has
 * `n` words, the program's name first, and a NULL. */
int before_run(const struct cli_program *program, char **argv, size_t n, bool json, bool quiet,
               struct err *err);
