/* task_files.h - what a task finds in its directory: links to files and to unpacked archives.
 * Fibers only: an archive may take long. */
#pragma once
#include "agent.pb-c.h"
#include "base/err.h"

struct agent;
struct agent_task;

int files_place(struct agent_task *t, const Agent__PrepareTask *m, struct err *err);
void files_done(struct agent *a); /* removes what was unpacked */
