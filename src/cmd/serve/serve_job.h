/* serve_job.h - a deployment as a job: the text of its job file. Pure. */
#pragma once
#include "base/err.h"
#include <stdint.h>

struct serve_job {
    const char *name;                      /* of the deployment */
    const char *model;                     /* its name in requests */
    const char *path;                      /* of the version, or of a file; absolute */
    const char *library;                   /* that runs it; NULL: the server looks for it */
    const char *haproxy;                   /* NULL: the gateway looks for it */
    const char *host;                      /* numeric address of the gateway; NULL: its machine's */
    const char *key_file;                  /* NULL: no key is wanted */
    const char *certificate, *private_key; /* NULL: no TLS */
    const char *cpus, *memory, *batch, *batch_delay,
        *device; /* as they were given; NULL: default */
    int64_t version;
    unsigned replicas;
};

/* *ret is the caller's. */
int serve_job_text(const struct serve_job *j, char **ret, struct err *err);
