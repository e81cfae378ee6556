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
    struct buf tokens;             /* the credentials of the master's container */
    int64_t tokens_at;             /* when they were got, by the loop's clock */
    struct yarn_facts_file keytab; /* url NULL: the job has none */
    bool made;                     /* directories are there */
    bool handed;                   /* the RM may know the application */
};

/* ---- submit.c ---- */
int submit_write(struct submission *x, const char *dir, const char *name, const void *p, size_t n,
                 struct err *err);

/* ---- submit_keytab.c: what a job needs to get newer tokens itself ---- */
/* Adds the program for it to what is sent. */
int submit_keytab_ship(struct submission *x, struct err *err);
/* Puts the keytab beside the job's key, sealed with that. */
int submit_keytab_write(struct submission *x, struct err *err);
/* Both for the master's container. */
int submit_keytab_launch(const struct submission *x, Yarn__ContainerLaunchContext *c,
                         struct err *err);

/* ---- submit_context.c: what the master and YARN are told ---- */

/* The files and nodes that the master needs (platform/yarn_facts.h), into job.json. */
int submit_add_facts(const struct submission *x, json_t *job, struct err *err);
/* Who may look at the job and who may end it. */
int submit_add_acls(const struct submission *x, Yarn__ContainerLaunchContext *c, struct err *err);
/* The whole message. *ret is the caller's: message_free(). */
int submit_context(const struct submission *x, const Yarn__ContainerLaunchContext *launch,
                   Yarn__ApplicationSubmissionContext **ret, struct err *err);
