/* resync.h - what a master is told when we reconnect: the tasks, and the last end of each. */
#pragma once
#include "agent.pb-c.h"
#include <stddef.h>

struct agent;
struct agent_task;

struct task_last_end {
    uint8_t *packed; /* the Exited of its last end; NULL: none, or the master cannot come back */
    size_t len;
};

void resync_keep(struct agent_task *t, const Agent__ExitedTask *end);
void resync_forget(struct agent_task *t); /* it is restarted, or dropped */
void resync_tell(struct agent *a);        /* reports all ends that are kept */
/* Lists the tasks in `hello`, which needs resync_hello_done() then; -ENOMEM: it does not. */
int resync_hello(const struct agent *a, Agent__Hello *hello);
void resync_hello_done(Agent__Hello *hello);
