/* serve_deployed.h - what `ydl serve deploy` prints when the deployment answers. */
#pragma once
#include "cmd/serve/serve_job.h"

struct serve_deployed {
    const char *name, *job;
    const struct serve_model *models;
    size_t n;
    json_t *urls; /* where it answers */
    bool json, quiet;
};

/* The addresses, one on each line, and on standard error what serves; or all of it as JSON. */
int serve_deployed_print(const struct serve_deployed *d, struct err *err);
