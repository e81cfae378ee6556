/* container_init.h - `ydl-node init`: process 1 of a container that an agent runs by docker.
 *
 *     agent ── docker run ──► dockerd ──► init ──► the task
 *       └──────────── YDL_SOCKET ◄──────────┘
 *
 * It starts the task with the agent's environment and output files, hands every signal on to all
 * processes of the container, and reaps. It holds a connection to the task's socket: when that
 * ends, the agent is gone or has given the task up, and everything is killed. With process 1 the
 * kernel ends all others, so nothing can stay behind. It writes how the task ended to a file, since
 * docker reports neither a signal nor why a command could not be started. */
#pragma once
#include "agent/environ.h"
#include "base/err.h"

struct init_options { /* all borrowed */
    const char *socket, *out, *err, *cwd;
    const char *env;    /* a file: see init_env_write(); removed once it is read */
    const char *end;    /* a file: see struct init_end */
    char *const *words; /* the command */
};

/* Does all of it, and returns the exit code for docker. Blocks. -EPERM when we are not process 1:
 * signals are sent to everybody there is. */
int init_run(const struct init_options *o, struct err *err);

/* ---- the environment's file ---- */

/* The image's own variables override `weak` ones, but not `strong` ones. */
int init_env_write(const char *path, const struct env *weak, const struct env *strong,
                   struct err *err);
/* Puts them together with `image`, an environment, into `ret`, which borrows from `text` (the
 * file's bytes, changed) and `image`. -EBADMSG, -ENOMEM. */
int init_env_merge(char *text, size_t n, char *const *image, struct env *ret);

/* ---- what became of it ---- */

struct init_end {
    int code, signal;   /* of the task; or of the shell's convention when … */
    char *not_started;  /* … it could not be started: why. NULL: it was. The caller's */
    uint64_t peak, oom; /* bytes of memory; how often the kernel killed for it */
};

int init_end_write(const char *path, const struct init_end *e, struct err *err);
/* -ENOENT: it has not come to that. */
int init_end_read(const char *path, struct init_end *ret, struct err *err);
