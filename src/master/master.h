/* master.h - one job's master: drives the engine with real agents, keeps the events log, serves the
 * API. One loop, no threads but the work pool. */
#pragma once
#include "job/spec/spec.h"
#include "loop/loop.h"
#include "platform/local/local_jobs.h"

struct master_ops;

struct master_options {
    struct loop *loop;
    const struct job_dir *dir;    /* job.json, lock and RUN are in place */
    const struct master_ops *ops; /* on YARN, or on one machine … */
    void *side;                   /* … and what its hooks keep; borrowed */
    int ready_fd; /* "ready" is written here once the API answers, or the error; then closed. -1:
                     nobody waits */
};

/* Runs the job to its end; 0 when there was one, whatever it was. Fibers only. */
int master_run(const struct master_options *o, struct err *err);
