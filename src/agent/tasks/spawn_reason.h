/* spawn_reason.h - finding a program, and saying why it could not be started. Blocks on the local
 * disk. Any thread. */
#pragma once
#include "agent/tasks/spawn.h"

/* How far the child came. */
enum spawn_step { SPAWN_FINE, SPAWN_SESSION, SPAWN_CGROUP, SPAWN_CWD, SPAWN_EXEC };

/* The path to execute: argv[0] itself when it has a slash, else what PATH of the environment has.
 * -ENOENT, -EACCES as an error of spawn_start(). *ret is the caller's. */
int spawn_find(const struct spawn_spec *spec, char **ret, struct err *err);

/* The error for a child that failed at `step` with the errno `code`. */
int spawn_why(const struct spawn_spec *spec, const char *program, enum spawn_step step, int code,
              struct err *err);
