/* earlier_output.h - what the tasks of a job that runs have written where they were before.
 *
 * An agent saves its tasks' output when it leaves (agent/output/export_output.c), and the master
 * sends what the agents have that are there now. Of a task that has not ended, all that is saved is
 * of agents that it had before. Of one that has, the newest file may be that of the agent that
 * still sends it. Where an agent was killed and another one follows it in its container, the file
 * that the first one saved is the beginning of what the second one sends: the master tells its
 * number
 * ("saved_files" of a task). Fibers only. */
#pragma once
#include "client/logfiles.h"

/* Was a task that is wanted started more than once, as the job's document says? */
bool earlier_any(const json_t *status, const struct strs *wanted);

/* Makes a list of what is saved one of earlier agents' files alone, which come before what `sent`
 * has. `status` was asked for after the files were listed, and before the master sent anything.
 * What is the same in both is left out; without `sent` all that may be is. */
int earlier_keep(const json_t *status, const struct logfiles *sent, struct logfiles *l,
                 struct err *err);
