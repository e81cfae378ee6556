/* output_follow.h - output goes to the master while somebody there reads it. Loop thread; reads
 * local files, never waits. */
#pragma once
#include "agent.pb-c.h"

struct agent;
struct agent_task;

/* Begins, or ends, with what `m` names, and adds to the credit; -ENOMEM. */
int follow_begin(struct agent *a, const Agent__Follow *m);
void follow_task_changed(struct agent_task *t); /* started or ended */
void follow_forget(struct agent *a); /* nobody reads any more; the next master will say */
void follow_stop(struct agent *a);
