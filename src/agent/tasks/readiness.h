/* readiness.h - is a task ready: by its port, an HTTP answer, a file, or a text in its output. */
#pragma once
#include "agent.pb-c.h"
#include "base/err.h"
#include <stdbool.h>

struct agent_task;
struct fiber;

struct task_readiness {
    bool ready;          /* it has passed its check */
    struct fiber *probe; /* checks; NULL: nobody does */
};

/* Checks in a fiber of its own; reports the task when it is ready and ends it when it is not in
 * time. Returns at once. */
int probe_begin(struct agent_task *t, const Agent__Ready *ready, struct err *err);
void probe_end(struct agent_task *t); /* NULL probe is fine */
