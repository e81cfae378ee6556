/* pmi.h - PMI-1 for a task, which MPI programs find each other by. Loop thread; never blocks. */
#pragma once
#include "base/err.h"

struct agent_task;

/* Makes a descriptor for the task, the caller's; the other end is served until the task's end. */
int pmi_begin(struct agent_task *t, int *ret_fd, struct err *err);
void pmi_end(struct agent_task *t);
