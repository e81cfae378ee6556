/* serve_update.h - what `update` and `rollback` do in the same way. Fibers only. */
#pragma once
#include "client/job_call.h"
#include "cmd/serve/serve_version.h"

struct serve_change {
    const char *model;    /* the option; NULL: the only one */
    struct model_ref ref; /* which version; its name is filled in */
    const char *lib;      /* the library that runs it; NULL: default */
    const char *python;   /* that of a handler; likewise */
    double percent, errors, slower;
    unsigned requests;
    int64_t watch, warm; /* ms */
    bool replace, wait;
    bool follows; /* whether it follows an alias is set anew: by `ref` */
};

/* Finds the version, asks the deployment in x->client for it, and stays with it. */
int serve_change(struct job_call *x, const json_t *plan, const struct serve_change *c,
                 struct err *err);
/* Changes what differs between a deployment and its file (serve_file.h); `c` has the options. */
int serve_update_file(struct job_call *x, const char *path, const struct serve_change *c,
                      struct err *err);
