/* past.h - a job that has ended, from what it left in its directory. Blocks on the local disk. */
#pragma once
#include "base/json.h"
#include "platform/jobs.h"

#define PAST_EXIT_LOST 70 /* of a job whose master was killed: nobody wrote an end */

/* The status document (job/history.h) from the events log, with "lost": true and an end of our own
 * making when the log has none. *ret is the caller's. */
int past_status(const struct job_dir *d, bool tasks, json_t **ret, struct err *err);

/* The same without roles, tasks and story, from the first and the last lines: for long lists. */
int past_summary(const struct job_dir *d, json_t **ret, struct err *err);

/* Calls `fn` for each line of the events log, without its newline; not 0 ends it and is returned.
 * A last line that was cut short is left out. No log at all is no line. */
int past_events(const struct job_dir *d, int (*fn)(void *arg, const char *line, size_t n),
                void *arg, struct err *err);
