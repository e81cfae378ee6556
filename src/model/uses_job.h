/* uses_job.h - does the job of a deployment still run, as far as that can be known from here?
 *
 * A job on this machine holds a lock while it lives (platform/local/local_jobs.h). Only a job of
 * this user, on this machine, is asked; nothing that the record says is taken for a path. Whoever
 * cannot be asked counts as running: a job of another user, on another machine or on a cluster, and
 * one whose directory is gone. Blocks on the local disk. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include <stdbool.h>

/* Adds to a record what uses_job_has_ended() wants to know of it. */
int uses_job_mark(json_t *record, struct err *err);
bool uses_job_has_ended(const json_t *record);
