/* environment_check.h - checks the environment of a job's tasks before they run: is its Python
 * there, would libhdfs work if the job requires it, can its MXNet train on several machines. Looks
 * at this machine, so for a job on a cluster only at what comes from here; there agents look,
 * before a task's code starts. */
#pragma once
#include "job/spec/spec.h"

/* Adds to `f` what is wrong. 0, -EINVAL when something is, -ENOMEM. */
int check_env(const struct spec *s, bool on_yarn, struct spec_faults *f);
