/* tree_remove.h - directories are removed by another thread: the loop goes on. */
#pragma once
#include "base/err.h"
#include "loop/fiber.h"

struct agent;
struct agent_task;

struct agent_remover {
    struct fiber *fiber; /* removes directories of dropped tasks; NULL: there are none */
    struct cond changed;
};

/* Removes a tree, or a file; one that is not there is fine. Fibers only. */
int remove_tree(struct agent *a, const char *path, struct err *err);
void remove_begin(struct agent_task *t);     /* its own directory, soon; returns at once */
int remove_wait(const struct agent_task *t); /* … until it is gone; fibers only */
void remove_end(struct agent *a);            /* waits for all of them; fibers only */
