/* serve_patience.h - how long `deploy` waits for the first answer, and what it says meanwhile. Loop
 * thread only. */
#pragma once
#include "client/job_call.h"
#include "cmd/serve/serve_want.h"

struct serve_patience {
    int64_t until;       /* nothing is waited for any longer then */
    int64_t since, told; /* the wait, and the last line about it; 0: none yet */
};

void serve_patience_begin(struct serve_patience *p, const struct job_call *x,
                          const struct serve_want *w);

/* After each look at the job: true when the time is over. It begins again while `moves`: files are
 * being fetched; and on YARN, unless the user said how long all may take, while containers are
 * waited for. Prints what is waited for now and then. */
bool serve_patience_over(struct serve_patience *p, const struct job_call *x,
                         const struct serve_want *w, const json_t *status, bool moves);

/* A hint: what the cluster has not given the job, as its status says. */
void serve_patience_hint(const json_t *status, struct err *err);
