/* task_start.h - Start: a task's process. */
#pragma once
#include "agent.pb-c.h"
#include "base/err.h"
#include <stdbool.h>

struct agent;
struct agent_task;

struct task_start { /* as the last Start said */
    uint32_t generation, attempt, rank, world;
    bool wants_error_file;
    bool tried; /* there was one: files of it may be left */
};

struct agent_spec { /* the newest cluster specification */
    uint8_t *bytes; /* NULL: the master has sent none */
    size_t len;
    char *path;       /* the file with it; NULL: to be written */
    unsigned n_files; /* that were written so far: tasks that live read earlier ones */
};

/* Starts all that `m` names, in a fiber, and reports each. Takes `m` over, also when it fails. */
int start_begin(struct agent *a, Agent__ToAgent *m, struct err *err);
void start_done(struct agent *a); /* removes the files of specifications */
