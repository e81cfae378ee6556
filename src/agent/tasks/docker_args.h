/* docker_args.h - the command line of the docker client, and the meaning of its errors.
 *
 * A container of ours shares the machine's network and memory segments, runs as our own user, and
 * has `ydl-node init` as its process 1 (container_init.h). Directories of the machine are mounted
 * at the same paths. Nothing goes through a shell. The environment is neither on docker's command
 * line nor in its description of the container: process 1 reads it from a file. Pure.
 */
#pragma once
#include "base/str.h"
#include <sys/types.h>

#define DOCKER_NODE "/.ydl-node"   /* our program, as the container sees it */
#define DOCKER_TASKS "/.ydl-tasks" /* the directory of sockets, when its own name is too long */

struct docker_args { /* all borrowed */
    const char *image, *name;
    const char *job, *task; /* for people who look: labels */
    const char *mark;       /* "NAME=value" in process 1's environment, or NULL */
    const char *program;    /* ours, outside */
    uid_t user;
    gid_t group;
    const gid_t *groups; /* further ones */
    size_t n_groups;
    uint64_t memory;           /* bytes; 0: no limit */
    unsigned cpus;             /* its share of the processors; 0: docker's default */
    const char *gpus;          /* "0,3", or NULL or "" for none */
    const struct strs *mounts; /* "/FROM:/TO[:ro|:rw]", or "/PATH" for the same path */
    const struct strs *init;   /* what follows `ydl-node init` */
};

/* The whole command: "docker run … IMAGE init …". Of two mounts at one place the first counts.
 * -ENOMEM. */
int docker_args(const struct docker_args *d, struct strs *ret);

/* "0,1" for a list of two GPUs: a container that is given some counts them from 0. "" for none. */
int docker_gpus(const char *gpus, char **ret);

/* Why no container was started, in one line, from what the client printed. */
void docker_reason(const char *said, char *out, size_t cap);
