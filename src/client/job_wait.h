/* job_wait.h - waiting for a job's end, for `wait`, `stop` and `submit --wait`. */
#pragma once
#include "client/job_call.h"

/* Waits until the job has ended, for at most `timeout` milliseconds (0: however long), then gives
 * its status document, the caller's. -ETIME when it still runs. Fibers only. */
int wait_end(struct job_call *x, int64_t timeout, json_t **ret, struct err *err);

/* The same, and tells it: the document with --json, a failure's story on standard error unless
 * quiet. Returns the job's exit code. */
int wait_for_end(struct job_call *x, int64_t timeout, struct err *err);
