/* serve_watch.h - staying with an update of a deployment until it is over. Fibers only. */
#pragma once
#include "base/json.h"
#include "client/job_call.h"

struct serve_watch {
    const char *model; /* its name */
    const char *id;    /* of the request */
    bool quiet;        /* no progress */
    bool taken_back;   /* that it is given up is what was asked for */
};

/* Shows how it goes on standard error. 0 when the new version serves, EXIT_OTHER when it was given
 * up, which has been said then; *ret (the caller's) is what the plan says of it then. */
int serve_watch(struct job_call *x, const struct serve_watch *w, json_t **ret, struct err *err);

/* The user pressed Ctrl-C: says that the update goes on without us. Returns `r`, in `err` as well.
 */
int serve_watch_left(const struct job_call *x, int r, struct err *err);

/* "1 → 2, watching: 10 % of the requests, 57 so far, 0 failed" of an update in a plan, with what
 * the gateway says (NULL: not known). The caller's; NULL when out of memory. */
char *serve_watch_text(const json_t *model, const json_t *report);
