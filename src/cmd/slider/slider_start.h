/* slider_start.h - from a definition to its job, and back to the job of its last start. Fibers
 * only.
 */
#pragma once
#include "cmd/slider/slider_store.h"

/* Starts what is stored: sets s->x->client, and notes its id in the definition. An exit code when
 * the job is not correct, or only its plan was wanted. */
int slider_start(struct slider *s, const char *name, struct slider_docs *d, struct err *err);
/* The job of its last start, in s->x->client: 1 when it runs, 0 when it has ended, or never was
 * one, or nobody knows it any more. */
int slider_find_job(struct slider *s, const struct slider_docs *d, struct err *err);
/* Waits up to `ms` until all of it runs. 0, or the code of what happened instead. */
int slider_wait_running(struct slider *s, int64_t ms, struct err *err);
