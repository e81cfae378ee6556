/* job.h - what the verbs for jobs share: a loop and a fiber to run on, the job that an operand
 * names, and its end as an exit code. Main thread. */
#pragma once
#include "cmd/globals.h"
#include "cmd/job/client.h"

/* What a verb works with. */
struct job_call {
    const struct cli *cli;
    const struct globals *globals;
    struct loop *loop;
    struct client *client; /* of the job; NULL with job_run() */
};

/* A verb's work, on a fiber. Returns an exit code, or a negative errno with `err` set. */
typedef int job_fn(struct job_call *x, struct err *err);

/* Runs it. Ctrl-C and SIGTERM cancel the fiber, and the result is "interrupted". */
int job_run(const struct cli *c, job_fn *fn, struct err *err);
/* The same without any care for signals: for who handles them (follow.h). */
int job_run_plain(const struct cli *c, job_fn *fn, struct err *err);
/* The same for the job that the first operand names. */
int job_run_on(const struct cli *c, job_fn *fn, struct err *err);

static inline const void *job_args(const struct job_call *x)
{
    return x->cli->args;
}

/* The exit code that a job's status document gives; -EPROTO when it has none. */
int job_exit(const json_t *status, struct err *err);
/* Its story (story.h) on standard error. */
int job_tell(const json_t *status, const char *logs, struct err *err);
