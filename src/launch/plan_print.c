/* plan_print.c - what a job would do, without doing it: every task with its command and
 * environment, by the code that the master plans with.
 *
 * There are no agents yet, so hosts and ports are made up (plan_places_new()), and so is the job's
 * id. On YARN the cluster is looked at as for a submit; where none can be reached the plan says
 * that it was not. */
#include "launch/plan_print.h"
#include "framework/plan/plan.h"
#include "launch/launch_local.h"
#include "launch/launch_options.h"
#include "launch/launch_yarn.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOCAL_JOB "local-plan"
#define YARN_JOB "application_0_0000"

/* Without a cluster at hand the plan is still one: its checks are marked as not done. */
static int add_cluster(struct job_call *x, const struct spec *s, json_t *doc, struct err *err)
{
    const struct options *o = job_args(x);
    struct launch_yarn_options launch = { .no_ship = o->no_ship };
    struct yarn_jobs *yarn = NULL;
    int r = job_yarn(x, s->staging, &yarn, err);

    if (r < 0)
        return r;
    launch.session = yarn ? yarn_jobs_session(yarn) : NULL;
    return launch_yarn_plan(x, s, &launch, doc, err);
}

static int plan_print_text(const struct plan *p, struct err *err)
{
    AUTO_BUF text = { .max = 256 * MIB };
    int r = plan_text(p, &text, err);

    if (r == 0 && text.len > 0)
        fwrite(text.data, 1, text.len, stdout);
    return r;
}

int plan_print(struct job_call *x, const struct spec *s, const struct framework *fw,
               struct err *err)
{
    AUTO(plan_places) struct plan_places *places = NULL;
    AUTO_JSON *doc = NULL;
    AUTO_FREE char *cwd = getcwd(NULL, 0), *out = NULL;
    enum options_on on = OPTIONS_LOCAL;
    struct plan_agent agent = { .cwd = s->directory ? s->directory : cwd };
    struct plan p = { .spec = s, .framework = fw, .server_host = "127.0.0.1", .agent = &agent };
    int r = options_where(job_args(x), &on, err);

    if (r < 0)
        return r;
    agent.yarn = on == OPTIONS_YARN;
    p.job = agent.yarn ? YARN_JOB : LOCAL_JOB;
    if (!agent.yarn)
        p.inherited = (const char *const *)environ; /* on YARN it is the container's */
    out = agent.yarn ? strdup("ydl-result") : launch_out(s, cwd ? cwd : "/", LOCAL_JOB);
    if (!out || plan_places_new(s, &places) < 0)
        return err_oom(err);
    p.out = out;
    p.cluster = plan_places_cluster(places);
    p.server_port = fw->servers ? plan_places_next_port(places) : 0;
    r = x->globals->json ? plan_json(&p, &doc, err) : plan_print_text(&p, err);
    if (r == 0 && on == OPTIONS_YARN)
        r = add_cluster(x, s, doc, err);
    return r == 0 && doc ? json_print(stdout, doc, err) : r;
}
