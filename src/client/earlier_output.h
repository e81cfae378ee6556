/* earlier_output.h - output that the tasks of a running job wrote on machines they have left.
 *
 * An agent saves its tasks' output when it leaves (agent/output/export_output.c), and the master
 * sends what the present agents have. For a task that has not ended, every saved file is from an
 * earlier agent; for one that has, the newest file may be from the agent that still sends it. When
 * an agent was killed and another one follows it in the same container, the file that the first one
 * saved is the beginning of what the second one sends: the master tells its number ("saved_files"
 * of a task, "saved" of a piece, for the agent may come after the document was asked for). Fibers
 * only. */
#pragma once
#include "client/logfiles.h"

/* May there be output of earlier agents: was a task that is wanted started more than once, or does
 * one wait for a container, perhaps not its first, as the job's document says? */
bool earlier_any(const json_t *status, const struct strs *wanted);

/* Makes a list of what is saved one of earlier agents' files alone, which come before what `sent`
 * has. `status` was asked for after the files were listed, and before the master sent anything.
 * What is the same in both is left out; without `sent` all that may be is. */
int earlier_keep(const json_t *status, const struct logfiles *sent, struct logfiles *l,
                 struct err *err);
