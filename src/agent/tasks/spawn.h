/* spawn.h - starts a task's process, fast and with everything that was ours put back.
 *
 * Unlike loop/proc.h it makes no handle: a process here is a number that stays ours until reap.c
 * takes its status. The child shares our memory until exec, so that starting costs the same however
 * large we are, and the reason of a failed exec comes back. Loop thread only. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

struct spawner; /* opaque: what is the same for every child */

/* Notes the limits and signal actions that we were started with, so that children get them, and
 * raises our own limit of open files to the hard one. *ret is the caller's: spawner_free(). */
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
    bool minded;  /* is not killed when we are: it ends by itself then (loop/proc.h) */
};

/* What a shell's exit code would be when the program was not found, or is none. */
#define SPAWN_NOT_FOUND 127
#define SPAWN_NOT_RUN 126

/* Starts a child as leader of a new session, with default signal actions, an empty signal mask, the
 * limits from before us, no descriptor of ours but the named ones, first in line when memory runs
 * out, and killed when we are (unless it is `minded`). Blocks until exec. When it fails nothing is
 * left, the error says in words what is wrong with the program, and err->detail is SPAWN_NOT_FOUND
 * or SPAWN_NOT_RUN. */
int spawn_start(struct spawner *s, const struct spawn_spec *spec, pid_t *ret, struct err *err);
