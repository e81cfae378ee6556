/* start_job.h - what `run` and `submit` do in the same way: make the job and start its master. */
#pragma once
#include "client/job_call.h"
#include "job/spec/spec.h"
#include "loop/proc.h"

/* Makes the job from the command line, starts it where it is to run, and sets x->client. Returns 0
 * without a client when only the plan was asked for (which is printed then), or the exit code of
 * a job that is not correct. `s` needs spec_done() in any case; *ret_master (may be NULL) is the
 * caller's, see launch_local.h. Fibers only. */
int start_job(struct job_call *x, struct spec *s, bool attached, struct proc **ret_master,
              struct err *err);

/* "ydl: local-… on this machine: 2 worker, 1 server" on standard error, unless quiet. */
void start_say(const struct job_call *x, const struct spec *s);
