/* serve_job.h - a deployment as a job: the text of its job file, with the first plan in it. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "cmd/serve/serve_version.h"
#include "serve/deployment/autoscale.h"

struct serve_model {
    struct serve_version v;
    const char *alias; /* that it follows; NULL: none. Borrowed, like what follows */
    const char *cpus, *memory, *gpus, *batch, *batch_delay,
        *device; /* as they were given; NULL: default */
    unsigned replicas;
    struct autoscale autoscale; /* max 0: none */
    /* On YARN (yarn/serve_uploads.h); NULL: nothing. */
    const char *library; /* where its tasks find it, if not at v.library */
    json_t *files;       /* of its tasks */
};

struct serve_job {
    const char *name; /* of the deployment */
    const struct serve_model *models;
    size_t n;
    bool direct;                           /* without a gateway */
    const char *haproxy;                   /* NULL: the gateway looks for it */
    unsigned gateways;                     /* how many; 0: one */
    const char *port;                      /* of the gateway; NULL: any that is free */
    const char *host;                      /* numeric address of the gateway; NULL: its machine's */
    const char *key_file;                  /* NULL: no key is wanted */
    const char *certificate, *private_key; /* NULL: no TLS */
    uint64_t cache_limit;                  /* of models from HDFS on a node; 0: default */
    json_t *files;                         /* of the gateway's task; NULL: none */
    const char *venv;                      /* that travels; NULL: none */
    const char *platform;                  /* "local", "yarn" */
    json_t *origin;                        /* serve_copies.h; NULL: none */
};

/* The first plan (serve/deployment/deployment_plan.h); the caller's. */
int serve_job_plan(const struct serve_job *j, json_t **ret, struct err *err);
/* The job file, whose tasks have the variables `env` too; *ret is the caller's. */
int serve_job_text(const struct serve_job *j, const json_t *plan, const json_t *env, char **ret,
                   struct err *err);
