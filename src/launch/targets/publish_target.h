/* publish_target.h - what a job publishes as a model when it succeeds, completed and checked before
 * the job starts. */
#pragma once
#include "job/spec/spec.h"
#include "launch/targets/output_target.h"

/* Adds what the job does not say of `output.publish`: where the registry is, absolute, and the
 * commit that its source is at. Faults go to `f`: a name that no model has, a path out of the
 * results, a registry that the job could not write to. Reads local files; -ENOMEM. */
int publish_complete(struct spec *s, bool yarn, struct spec_faults *f);

/* The registry when it is on a cluster, else NULL; borrowed. */
const char *publish_remote(const struct spec *s);
/* May a version be put there? As deploy_check_target(). Fibers only. */
int publish_check(struct session *session, struct fs_set *set, const struct spec *s,
                  enum deploy_look look, struct err *err);
