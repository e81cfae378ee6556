/* conda_activate.h - a conda environment of tasks: its variables, its scripts, and the files that
 * contain its path. */
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
/* Wraps `argv`, so that the activation scripts of packages run before the command. */
int conda_command(struct strs *argv, const struct env *e, const struct agent_task *t,
                  struct err *err);
/* Writes the environment's path into its files, once for all callers. Fibers only: a thread does
 * the work. */
void conda_place(struct agent *a);
