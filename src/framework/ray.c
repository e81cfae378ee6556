/* ray.c - a Ray cluster for the time of one job: head, workers, and the user's program as driver.
 *
 * The driver is a role of its own. To have it in the head's container, write a command for the
 * role 'head' and lets it decide. */
#include "framework/framework_roles.h"
#include "framework/frameworks.h"
#include "framework/task.h"

#include <inttypes.h>

#define STORE_MIN (80 * MIB) /* Ray refuses an object store of less than 75 MB */

/* --block keeps the task alive as long as Ray's daemons: without it 'ray start' would leave them
 * behind and end. */
static const struct framework_role roles[] = {
    { .name = "head",
      .one = true,
      .ports = 1,
      .make = FRAMEWORK_ALWAYS,
      .command = "ray start --head --node-ip-address={host} --port={port} --block",
      .doc = "runs 'ray start --head'; added automatically" },
    { .name = "worker",
      .ranked = true,
      .command = "ray start --address={hosts:head} --node-ip-address={host} --block",
      .after = "head",
      .doc = "runs 'ray start'" },
    { .name = "client",
      .decides = true,
      .make = FRAMEWORK_DRIVER,
      .after = "head",
      .doc = "runs the job's command, as a driver" },
    { 0 },
};

/* Ray looks at the machine, not at the container, so it is given the container's size. Three tenths
 * of the memory for the object store is Ray's own measure. */
static int ray_resources(struct spec_role *r)
{
    uint64_t store = r->memory / 10 * 3;
    int e = 0;

    if (r->cpus > 0)
        e = strs_printf(&r->command, "--num-cpus=%u", r->cpus);
    if (e == 0 && r->gpus > 0)
        e = strs_printf(&r->command, "--num-gpus=%u", r->gpus);
    if (e == 0 && store >= STORE_MIN)
        e = strs_printf(&r->command, "--object-store-memory=%" PRIu64, store);
    if (e == 0 && store >= STORE_MIN)
        e = strs_printf(&r->command, "--memory=%" PRIu64, r->memory - store);
    return e;
}

static int ray_complete(struct spec *s, struct spec_faults *f)
{
    static const char *const nodes[] = { "head", "worker" };
    int r = 0;

    (void)f;
    for (size_t i = 0; i < COUNT_OF(nodes) && r == 0; i++) {
        struct spec_role *role = spec_role(s, nodes[i]);
        bool fresh = false;

        if (role)
            r = complete_command(role, framework_role(&framework_ray, nodes[i]), &fresh);
        if (r == 0 && fresh)
            r = ray_resources(role);
    }
    return r;
}

/* RAY_ADDRESS would tell `ray start --head` to look for an older cluster. */
static int ray_task(const struct framework_task *t, struct err *err)
{
    const struct cluster_task *head = task_first(t, "head");
    char address[TASK_ADDRESS_MAX];
    struct env e = env_of(t);

    if (head && !str_eq(t->role->name, "head") && !str_eq(t->role->name, "worker"))
        env_text(&e, "RAY_ADDRESS", task_address(head, address));
    return env_end(&e, err);
}

const struct framework framework_ray = {
    .name = "ray",
    .summary = "a Ray cluster, and the job's command as its driver",
    .doc = "A head and workers (-n) run 'ray start'; the job's command runs in the role 'client', "
           "where ray.init() finds the cluster by RAY_ADDRESS. Ray gets the memory, cpus and "
           "gpus of the roles. The job succeeds when the client does; then the other tasks are "
           "stopped. A failed task is restarted alone.",
    .roles = roles,
    .elastic = true,
    .restart = SPEC_RESTART_TASK,
    .port = FRAMEWORK_PORT_RELEASE,
    .complete = ray_complete,
    .task = ray_task,
};
