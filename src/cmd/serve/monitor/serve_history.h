/* serve_history.h - `ydl serve status --history`: what each version of a deployment answered, over
 * time. The rows are in the job's key-value store (serve/deployment/traffic_history.h). Fibers
 * only. */
#pragma once
#include "client/job_call.h"

#define SERVE_HISTORY_SINCE 3600000 /* when nobody says a time */
#define SERVE_HISTORY_MAX (30LL * 86400000)

/* Prints the rows of the last `since` milliseconds of the deployment in x->client. */
int serve_history_print(struct job_call *x, int64_t since, struct err *err);
