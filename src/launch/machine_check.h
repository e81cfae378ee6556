/* machine_check.h - what can be known about a job before it runs on this machine: that its programs
 * and scripts are there and that the machine is large enough. Looks at the local disk. */
#pragma once
#include "job/spec/spec.h"

/* What the checks look at; a test brings its own. */
struct check_machine {
    const char *cwd;  /* where tasks run */
    const char *path; /* PATH; NULL: none */
    uint64_t memory;  /* bytes; 0: unknown */
    unsigned gpus;
};

/* Takes the scheme from "file:///a", in place; other names stay as they are. */
void check_plain_path(char *name);

/* Adds to `f` what is wrong. `s` is complete. 0, -EINVAL when something is, -ENOMEM. */
int check_local(const struct spec *s, const struct check_machine *m, struct spec_faults *f);
