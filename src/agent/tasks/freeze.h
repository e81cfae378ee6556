/* freeze.h - all processes of all tasks stand still, and go on. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct agent;
struct tree_proc;

struct agent_freeze {
    struct tree_proc *others; /* processes that somebody else had stopped before */
    size_t n_others;
    bool wanted; /* … and since then nobody has let the tasks go on */
};

/* Stops every process below us but helpers of ours. A task that an agent runs in a container image
 * of its own is not below us, and goes on. Returns early when they are let go on meanwhile. Fibers
 * only. */
void freeze_tasks(struct agent *a);
/* What somebody else had stopped before stays so. Loop thread. */
void thaw_tasks(struct agent *a);
void freeze_done(struct agent *a); /* after the loop */
