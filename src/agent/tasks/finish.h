/* finish.h - what is reported of a task's end: its class, a sentence and the last lines. Loop
 * thread; blocks on the local disk. */
#pragma once
#include "base/err.h"
#include "job/event.h"

struct agent;
struct agent_task;

void finish_task(struct agent_task *t); /* nothing of it is left */
/* A task that never had a process. */
void finish_unstarted(struct agent_task *t, enum fail_class why, const struct err *err);
uint64_t finish_oom_kills(void); /* how often the kernel has killed for memory */
/* Is the directory of our container gone? Nothing is made there then: nobody would remove it. */
bool finish_directory_gone(const struct agent *a);
/* The class of a failure to set a task up: `fail`, unless the directory of the container is gone.
 * Then it is the node's, and `err` says so. */
enum fail_class finish_blame(const struct agent *a, enum fail_class fail, struct err *err);
