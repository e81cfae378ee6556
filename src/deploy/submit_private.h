/* submit_private.h - what the files of submit.h share. */
#pragma once
#include "base/fiber.h"
#include "base/json.h"
#include "deploy/cache.h"
#include "deploy/submit.h"
#include "hadoop/yarn/launch.h"
#include "platform/yarn_boot.h"
#include "platform/yarn_facts.h"

struct submission {
    const struct submit_options *o;
    struct submitted *ret;
    struct fs *fs;     /* where BASE is */
    char *jobs, *logs; /* paths there */
    struct cache *cache;
    struct cache_files files;
    struct buf tokens; /* the credentials of the master's container */
    bool made;         /* directories are there */
    bool handed;       /* the RM may know the application */
};

/* ---- submit_context.c: what the master and YARN are told ---- */

/* The files and nodes that the master needs (platform/yarn_facts.h), into job.json. */
int submit_add_facts(const struct submission *x, json_t *job, struct err *err);
/* Who may look at the job and who may end it. */
int submit_add_acls(const struct submission *x, Yarn__ContainerLaunchContext *c, struct err *err);
/* The whole message. *ret is the caller's: message_free(). */
int submit_context(const struct submission *x, const Yarn__ContainerLaunchContext *launch,
                   Yarn__ApplicationSubmissionContext **ret, struct err *err);
