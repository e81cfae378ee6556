/* slider.c - applications of Apache Slider: any roles, one for each component, and the REST
 * addresses by which the instances find each other.
 *
 * A task runs agent.py (src/slider), which calls the application's own scripts; what Slider's agent
 * would have got from its master stands in SLIDER_COMMAND, a variable of the role. */
#include "framework/frameworks.h"
#include "framework/task.h"

static const struct framework_role roles[] = {
    { .name = "worker", .ranked = true, .doc = "any name: a component is a role" },
    { .name = "ps", .doc = "serves the others; stopped when they are done" },
    { .name = FRAMEWORK_BOARD, .side = true, .doc = "watches until the others are done" },
    { 0 },
};

static bool slider_serves(const struct spec_role *r)
{
    return str_eq(r->name, "ps") || str_eq(r->name, FRAMEWORK_BOARD);
}

/* By default the components that do not serve others decide the job's success. */
static int slider_complete(struct spec *s, struct spec_faults *f)
{
    bool anybody = false;

    (void)f;
    for (size_t i = 0; i < s->n_roles; i++)
        if (s->roles[i].decides == 1)
            return 0;
    for (size_t i = 0; i < s->n_roles; i++)
        anybody = anybody || (s->roles[i].side != 1 && !slider_serves(&s->roles[i]));
    for (size_t i = 0; i < s->n_roles; i++) {
        struct spec_role *r = &s->roles[i];

        if (r->decides >= 0 || r->side == 1)
            continue;
        r->decides = !anybody || !slider_serves(r);
        if (r->decides)
            r->side = 0;
    }
    return 0;
}

static int slider_task(const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);

    if (t->server_port > 0)
        env_printf(&e, "SLIDER_REST", "http://%s:%d/ws/v1/slider", t->server_host, t->server_port);
    return env_end(&e, err);
}

const struct framework framework_slider = {
    .name = "slider",
    .summary = "applications made for Apache Slider (see 'slider')",
    .doc =
        "What 'slider create' makes: each component is a role, whose tasks run the application's "
        "scripts by agent.py. The master answers Slider's REST addresses at SLIDER_REST: there "
        "tasks find what others publish ('exports' of their roles). The job succeeds when all "
        "tasks succeed, except those of 'ps' and 'tensorboard', which are then stopped; a restart "
        "restarts all tasks.",
    .proven = true,
    .roles = roles,
    .any_roles = true,
    .names = true,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_RELEASE,
    .servers = FRAMEWORK_SLIDER,
    .registry = "org-apache-slider",
    .complete = slider_complete,
    .task = slider_task,
};
