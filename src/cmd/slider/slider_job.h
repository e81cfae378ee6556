/* slider_job.h - an application as a job specification. Pure. */
#pragma once
#include "cmd/slider/slider_role.h"

#define SLIDER_DEFINITION "app/definition" /* where a task finds the package */

/* *ret is the job file's text, the caller's. Notes go to the model's. */
int slider_job(const struct slider_model *m, const struct slider_job_options *o, char **ret,
               struct err *err);
