/* activate.h - a Python environment, MXNet and Hadoop for a task: the last variables that it gets,
 * over the job's own. What is missing fails the start. Loop thread; blocks on the local disk. */
#pragma once
#include "agent.pb-c.h"
#include "agent/environ.h"
#include "base/err.h"

struct agent_task;

#define AGENT_ENV "ydl-env" /* how a container's environment is called: uploads/uploads.h */

int activate_venv(struct env *e, const struct agent_task *t, struct err *err);
int activate_mxnet(const struct env *e, const struct agent_task *t, const char *program,
                   struct err *err);
int activate_hadoop(struct env *e, const struct agent_task *t, const Agent__StartTask *m,
                    struct err *err);
