/* serve_registry.h - the registry that a deployment's models are from, as the user of this command
 * reaches it. Fibers only. */
#pragma once
#include "client/job_call.h"
#include "model/models.h"
#include "serve/deployment/registry_link.h"

struct serve_registry {
    struct fs_set *set;
    struct models models;
    char *place; /* as a plan names it: a path of this machine, or hdfs://… */
};

/* `place` NULL: the user's own (models_place()). `ret` is the caller's in any case:
 * serve_registry_done(). */
int serve_registry_open(struct job_call *x, const char *place, struct serve_registry *ret,
                        struct err *err);
void serve_registry_done(struct serve_registry *r);
#define AUTO_SERVE_REGISTRY AUTO_DONE(serve_registry_done) struct serve_registry

/* What a deployment writes to the registry of its plan. *ret is the caller's. */
int serve_registry_link(struct job_call *x, const char *place, struct registry_link **ret,
                        struct err *err);

/* A small file of a version as one of this machine, which stays where it is: *ret is its path, or
 * NULL when the version has no such file. */
int serve_registry_file(const struct serve_registry *r, const struct manifest *m, const char *path,
                        char **ret, struct err *err);

/* The variables that tasks need to reach this registry as we do, into `env`. */
int serve_registry_env(struct job_call *x, const char *place, json_t *env, struct err *err);
