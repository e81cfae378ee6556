/* job_environment.h - the Python environment of a job that is about to start. */
#pragma once
#include "client/job_call.h"
#include "job/spec/spec.h"

/* Installs the packages that the job wants, with what pip does on standard error, and makes the
 * place of its environment absolute. 0, or the exit code when something is wrong with it, which has
 * been printed then, or a negative errno. Fibers only. */
int job_env(struct job_call *x, struct spec *s, bool on_yarn, struct err *err);
