/* none.c - no framework: any program, any roles. */
#include "framework/frameworks.h"

static const struct framework_role roles[] = {
    { .name = "worker", .ranked = true, .decides = true, .doc = "runs the job's command" },
    { .name = "server", .doc = "stopped when all others are done" },
    { 0 },
};

/* Roles are the user's own here: the job is done when all of them are, but servers. */
static int none_complete(struct spec *s, struct spec_faults *f)
{
    (void)f;
    for (size_t i = 0; i < s->n_roles; i++)
        if (s->roles[i].decides == 1)
            return 0; /* the user has said who decides */
    for (size_t i = 0; i < s->n_roles; i++) {
        struct spec_role *r = &s->roles[i];

        if (r->decides < 0 && r->side != 1 && !str_eq(r->name, "server"))
            r->decides = 1;
    }
    return 0;
}

const struct framework framework_none = {
    .name = "none",
    .summary = "any program, in any roles",
    .doc = "Tasks get only the variables of every task (YDL_RANK, YDL_WORLD, …). The job succeeds "
           "when the tasks of all roles succeed, except for side roles and the role 'server' (-s), "
           "which are then stopped. A role has a port if its command uses {port}, or if it asks "
           "for ports with 'ports'.",
    .aliases = (const char *const[]){ "plain", NULL },
    .proven = true,
    .roles = roles,
    .server_role = "server",
    .any_roles = true,
    .names = true,
    .elastic = true,
    .restart = SPEC_RESTART_TASK,
    .port = FRAMEWORK_PORT_RELEASE,
    .complete = none_complete,
};
