/* yarn_logs.h - output of an ended job's tasks from YARN's aggregated logs, for
 * those whose agents could not save it themselves. Fibers only. */
#pragma once
#include "client/logfiles.h"
#include "client/yarn_jobs.h"

/* Adds what `files` does not have of the `wanted` tasks. *ret_spool (the caller's; NULL when there
 * was nothing) outlives `files`. Logs that cannot be read are passed over: who has asked gets what
 * there is. `owner` is whose job it is. */
int yarn_output(struct yarn_jobs *y, const char *app, const char *owner, const struct strs *wanted,
                struct logfiles *files, struct spool **ret_spool);
