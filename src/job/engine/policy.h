/* policy.h - what a failure leads to: one table of failure classes and restart policies. Pure. */
#pragma once
#include "job/event.h"
#include "job/spec/spec.h"

enum policy_action {
    POLICY_FAIL,  /* the job fails */
    POLICY_AGAIN, /* the task starts again where it is, on its ports */
    POLICY_PORTS, /* the task starts again where it is, on other ports */
    POLICY_MOVE,  /* the task needs another container */
    POLICY_GANG,  /* everybody starts again */
    /* Never verdicts of the table, but what became of one: */
    POLICY_USED_UP, /* as POLICY_FAIL: it was started again too often already */
    POLICY_NOTHING, /* everybody is being stopped anyway */
    POLICY_ACTIONS_
};
const char *policy_action_name(enum policy_action a); /* "again", as in JSON */
int policy_action_from(const char *name, enum policy_action *ret);

struct policy_verdict {
    enum policy_action action;
    bool counted; /* uses up the user's restart budget */
};

/* `policy` is never SPEC_RESTART_DEFAULT here. An exit code of 126 or 127 means, by a convention of
 * all shells, that the command cannot be run or does not exist: starting it again would only say so
 * again, and it fails the job under every policy. */
struct policy_verdict policy_verdict(enum spec_policy policy, enum fail_class cls, int code);

/* The job's and the role's words put together. A side role has only its own: a restart of the
 * job's kind is not meant for it, and it never restarts others. `suits` is the framework's meaning
 * of "restart", for a number of restarts without a policy. */
struct policy_restart {
    enum spec_policy policy;
    int64_t max, window, delay;
    const struct strs *codes; /* borrowed from the specification; never NULL */
};
#define POLICY_MAX_DEFAULT 3
#define POLICY_WINDOW_DEFAULT INT64_C(3600000)
struct policy_restart policy_of_role(const struct spec *s, const struct spec_role *role,
                                     enum spec_policy suits);
/* Is a task that ended by itself in this way to be started again at all? */
bool policy_covers(const struct policy_restart *p, enum fail_class cls, int code);
