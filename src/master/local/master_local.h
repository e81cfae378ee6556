/* master_local.h - a master on this machine alone. Fibers only. */
#pragma once
#include "loop/loop.h"
#include "platform/local/local_jobs.h"

/* Runs the job in `dir` to its end, with agents that are `node_program`; see master_run().
 * `ready_fd`: as in struct master_options. */
int master_local_run(struct loop *l, const struct job_dir *dir, const char *node_program,
                     int ready_fd, struct err *err);
