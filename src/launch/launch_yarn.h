/* launch_yarn.h - checks a job against the cluster and hands it to YARN. Fibers only. */
#pragma once
#include "client/job_call.h"
#include "hadoop/session/session.h"
#include "job/spec/spec.h"

struct launch_yarn_options {
    struct session *session;
    char *const *command; /* what the user typed, for the record; NULL: nothing */
    bool attached;        /* the job is stopped when the attached client goes away */
    bool wait;            /* until the cluster is large enough */
    bool no_ship;
};

/* Submits and sets x->client. The exit code 2 when the job is not correct, which has been printed
 * then. `s` is complete and checked as far as it can be without a cluster. */
int launch_yarn(struct job_call *x, const struct spec *s, const struct launch_yarn_options *o,
                struct err *err);

/* The part that `plan` adds: the uploads, and whether the job fits; as text, or into
 * `doc` with --json. Without a cluster at hand the checks are marked as not done. */
int launch_yarn_plan(struct job_call *x, const struct spec *s, const struct launch_yarn_options *o,
                     json_t *doc, struct err *err);
