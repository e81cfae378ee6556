/* serve_uploads.h - what the tasks of a deployment on YARN need of this machine: the libraries that
 * run its models, HAProxy, keys and certificates; each a file of the job, which is kept on the
 * cluster by its content. Blocks on the disk. Main thread. */
#pragma once
#include "cmd/serve/serve_job.h"
#include "serve/deployment/deployment_plan.h"

struct serve_uploads {
    json_t *gateway, *models[DEPLOYMENT_MODELS]; /* `files` of their roles */
    char *venv;                                  /* of handlers; NULL: none */
    struct strs texts;                           /* what `j` borrows afterwards */
};

/* Names the files, and changes `j` and its models (the same as j->models) so that their paths are
 * those that tasks see, relative to where they are started. `ret` needs serve_uploads_done() in any
 * case, and lives as long as `j`. */
int serve_uploads_make(struct serve_job *j, struct serve_model *models, struct serve_uploads *ret,
                       struct err *err);
void serve_uploads_done(struct serve_uploads *u);

#define AUTO_SERVE_UPLOADS AUTO_DONE(serve_uploads_done) struct serve_uploads /* = { 0 } */
