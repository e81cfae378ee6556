/* job_submission_private.h - what the files of job_submission.h share. */
#pragma once
#include "base/json.h"
#include "hadoop/yarn/launch_context.h"
#include "launch/job_submission.h"
#include "loop/fiber.h"
#include "platform/yarn/yarn_boot.h"
#include "platform/yarn/yarn_job_facts.h"
#include "uploads/cache.h"

struct submission {
    const struct submit_options *o;
    struct submitted *ret;
    struct fs *fs;     /* where BASE is */
    char *jobs, *logs; /* paths there */
    struct cache *cache;
    struct cache_files files;
    struct buf tokens;             /* the credentials of the master's container */
    int64_t tokens_at;             /* when they were got, by the loop's clock */
    struct yarn_facts_file keytab; /* url NULL: the job has none */
    bool made;                     /* directories are there */
    bool handed;                   /* the RM may know the application */
};

/* ---- job_submission.c ---- */
int submit_write(struct submission *x, const char *dir, const char *name, const void *p, size_t n,
                 struct err *err);

/* ---- job_submission_keytab.c: what a job needs to get newer tokens itself ---- */
/* Adds the program for it to what is sent. */
int submit_keytab_ship(struct submission *x, struct err *err);
/* Puts the keytab beside the job's key, sealed with that. */
int submit_keytab_write(struct submission *x, struct err *err);
/* Both for the master's container. */
int submit_keytab_launch(const struct submission *x, Yarn__ContainerLaunchContext *c,
                         struct err *err);

/* ---- job_submission_context.c: what the master and YARN are told ---- */

/* The files and nodes that the master needs (platform/yarn/yarn_job_facts.h), into job.json. */
int submit_add_facts(const struct submission *x, json_t *job, struct err *err);
/* Who may look at the job and who may end it. */
int submit_add_acls(const struct submission *x, Yarn__ContainerLaunchContext *c, struct err *err);
/* The whole message. *ret is the caller's: message_free(). */
int submit_context(const struct submission *x, const Yarn__ContainerLaunchContext *launch,
                   Yarn__ApplicationSubmissionContext **ret, struct err *err);
