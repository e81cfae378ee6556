/* tensorboard_mirror.h - a directory of HDFS is copied beside a task that reads local files only.
 */
#pragma once
#include "base/err.h"

struct agent;
struct agent_task;

/* Keeps a copy of the directory at the URI `from` in `to`, in the task's work directory, by a fiber
 * of its own. Returns at once. */
int tensorboard_mirror_begin(struct agent_task *t, const char *from, const char *to,
                             struct err *err);
void tensorboard_mirror_end(struct agent *a); /* soon; counts as busy until then */
