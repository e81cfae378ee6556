/* worker_process.h - one worker: a Python of its own, in a process group of its own.
 *
 * It has our end of a socket, the two regions and the program, and what it prints comes by a pipe.
 * It ends when we do: the kernel kills it when the thread that started it ends, and its socket
 * closes. One thread starts, kills and reaps a worker; another may use its socket meanwhile. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct worker_spec {
    const char *python; /* a path, or a name to look for in PATH */
    const char *file;   /* the model's model.py */
    unsigned threads;   /* for libraries that compute */
    size_t max;         /* of a region */
    int program, in, out;
};

struct worker_process {
    pid_t pid;  /* 0: none */
    int pidfd;  /* readable when it has ended */
    int socket; /* sends and receives struct worker_message */
    int output; /* what it prints; not blocking */
};

#define WORKER_PROCESS_INIT                                                                        \
    {                                                                                              \
        .pidfd = -1, .socket = -1, .output = -1                                                    \
    }

/* The descriptor of the worker's program; the caller's. */
int worker_program(int *ret, struct err *err);
int worker_process_start(const struct worker_spec *s, struct worker_process *ret, struct err *err);
/* Its group too, unless it was reaped. */
void worker_process_kill(const struct worker_process *p);
/* Has it ended? Takes its status then, as waitpid(2) gives it. */
bool worker_process_reap(struct worker_process *p, int *ret_status);
/* Kills and reaps it if need be, and closes everything. */
void worker_process_done(struct worker_process *p);
/* "was killed by signal 9", "ended with exit status 1". */
const char *worker_process_end_text(int status, char out[64]);
