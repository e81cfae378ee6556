/* conda_activate.h - a conda environment of tasks: its variables, its scripts, and its files that
 * are to know where it is. */
#pragma once
#include "agent/environ.h"
#include "base/err.h"
#include "loop/fiber.h"

struct agent;
struct agent_task;

struct agent_conda { /* conda_place() is at work, or has been */
    bool placing, placed;
    struct cond changed;
};

int conda_variables(struct env *e, const char *dir); /* 0, -ENOMEM */
/* Wraps `argv`, so that what packages want to be run when the environment is activated is run
 * before the command. */
int conda_command(struct strs *argv, const struct env *e, const struct agent_task *t,
                  struct err *err);
/* Tells the environment's files where it is, once for all callers. Fibers only: a thread does the
 * work. */
void conda_place(struct agent *a);
