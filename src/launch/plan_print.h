/* plan_print.h - the plan of a job on standard output: what it would do, and on YARN also what
 * would be sent there and whether it fits. Fibers only. */
#pragma once
#include "client/job_call.h"
#include "framework/framework.h"
#include "job/spec/spec.h"

/* 0; 2 when the cluster could not take it, which has been printed then; or a negative errno. */
int plan_print(struct job_call *x, const struct spec *s, const struct framework *fw,
               struct err *err);
