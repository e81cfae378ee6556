/* serve_submit.h - a deployment's job is started: on YARN as `ydl submit` would do it, here as
 * `ydl submit --on local`. Fibers only. */
#pragma once
#include "client/job_call.h"
#include "cmd/serve/serve_want.h"

/* `text`: its job file. Sets x->client; without one and 0 only a plan was asked for, and printed.
 * The exit code of a job that is not correct, which has been said then. */
int serve_submit(struct job_call *x, const struct serve_want *w, const char *text, struct err *err);
