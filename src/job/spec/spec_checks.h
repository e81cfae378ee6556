/* spec_checks.h - the parts of spec_check(): one function per type of value. Private to them.
 *
 * Like the readers they return 0 after a fault too and are negative for -ENOMEM only. */
#pragma once
#include "job/spec/spec_keys.h"
#include "job/spec/vars.h"

struct spec_checker {
    const struct spec *s;
    struct spec_faults *f;
    const struct spec_role *role; /* whose table is walked; NULL: the job's */
    struct vars_role roles[SPEC_ROLES_MAX];
    size_t n_roles;
    size_t job_bytes; /* of the job's environment, once it is known */
};

/* Adds a fault; "roles.worker." stands before `key` when a role is looked at. */
int spec_check_fault(struct spec_checker *c, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* One function per enum spec_type that needs one (spec_check_text.c). `key` is the path of the
 * row's value within the job or role, `at` the value. */
typedef int spec_check_fn(struct spec_checker *c, const char *key, const struct spec_key *k,
                          const void *at);
extern spec_check_fn *const spec_check_types[SPEC_TYPES_];

int spec_check_after(struct spec_checker *c); /* cycles (spec_after.c) */
int spec_check_twins(struct spec_checker *c); /* two files of one name; also of the job's lists */
int spec_check_bytes(struct spec_checker *c); /* arguments and environment of the role's tasks */
