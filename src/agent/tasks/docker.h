/* docker.h - a task in a container image, which the agent runs by the docker client. Loop thread;
 * blocks on the local disk. */
#pragma once
#include "agent.pb-c.h"
#include "agent/environ.h"
#include "base/err.h"
#include "base/str.h"

struct agent_task;

struct task_image {
    char *name;               /* NULL: none, and the rest means nothing */
    struct strs mounts, vars; /* vars: DOCKER_* for its client */
    uint32_t cpus;
    int64_t hung_up; /* when its container was given up; loop's clock; 0: not */
    bool removing;   /* its container is being removed */
};

struct docker_envs {
    const struct env *weak; /* gives way to the image's own */
    struct env *strong;
};

struct docker_launch { /* what spawn.h needs */
    struct strs words;
    struct env env;
    int said; /* a file for what the client says */
};

int docker_prepare(struct agent_task *t, const Agent__PrepareTask *m, struct err *err);
/* `ret` needs docker_launch_done() in any case. */
int docker_launch(struct agent_task *t, const struct strs *command, const struct docker_envs *envs,
                  struct docker_launch *ret, struct err *err);
void docker_launch_done(struct docker_launch *l);
/* Kills everything in its container. False when it has none, or when that did not help before. */
bool docker_hang_up(struct agent_task *t);
void docker_ended(struct agent_task *t); /* its client has: makes process.status the task's own */
void docker_clear(struct agent_task *t); /* removes its files */
void docker_done(struct agent_task *t);
