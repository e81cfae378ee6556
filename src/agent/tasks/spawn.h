/* spawn.h - starts a task's process, fast and without our own limits, signals and descriptors.
 *
 * Unlike loop/proc.h it makes no handle: a process here is a pid, which stays valid until reap.c
 * reaps it. The child shares our memory until exec, so the cost does not depend on our size, and
 * the reason for a failed exec is returned. Loop thread only. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

struct spawner; /* opaque: what is the same for every child */

/* Saves the limits and signal actions that we were started with, for children, and raises our own
 * limit of open files to the hard one. *ret is the caller's: spawner_free(). */
int spawner_new(struct spawner **ret, struct err *err);
struct spawner *spawner_free(struct spawner *s);
AUTO_DEFINE(spawner, struct spawner *, spawner_free);

/* All borrowed, and only until spawn_start() returns. */
struct spawn_spec {
    char *const *argv; /* argv[0]: a path (from `cwd`), or a name looked for in PATH of `envp` */
    char *const *envp;
    const char *cwd;
    int out, err; /* descriptors that become 1 and 2; 0 is /dev/null */
    int extra;    /* becomes 3; -1: none */
    int cgroup;   /* a cgroup.procs to be written to; -1: none */
    bool minded;  /* is not killed when we are: it then ends by itself (loop/proc.h) */
};

/* A shell's exit codes for a program that was not found or cannot be run. */
#define SPAWN_NOT_FOUND 127
#define SPAWN_NOT_RUN 126

/* Starts a child as leader of a new session, with default signal actions, an empty signal mask, the
 * limits from before us, no descriptor of ours but the named ones, preferred by the kernel when
 * memory runs out, and killed when we are (unless it is `minded`). Blocks until exec. On failure no
 * process is left, the error explains what is wrong with the program, and err->detail is
 * SPAWN_NOT_FOUND or SPAWN_NOT_RUN. */
int spawn_start(struct spawner *s, const struct spawn_spec *spec, pid_t *ret, struct err *err);
