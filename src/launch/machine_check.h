/* machine_check.h - checks a job before it runs on this machine: are its programs and scripts
 * there, and is the machine large enough. Looks at the local disk. */
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
/* Can we have anything to do with it? A path, file:///, hdfs: or viewfs:. What is on a cluster is
 * looked at when there is one. */
bool check_known_place(const char *name);

/* Adds to `f` what is wrong. `s` is complete. 0, -EINVAL when something is, -ENOMEM. */
int check_local(const struct spec *s, const struct check_machine *m, struct spec_faults *f);
