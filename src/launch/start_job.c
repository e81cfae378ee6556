/* start_job.c - the common beginning of `run` and `submit`: options become a checked specification,
 * and the platform's launcher makes the job of it.
 *
 * YDL_PLAN turns both into `plan`, so that any command line can be looked at before it is used. */
#include "launch/start_job.h"
#include "base/str.h"
#include "launch/hdfs_fetch.h"
#include "launch/job_environment.h"
#include "launch/launch_local.h"
#include "launch/launch_options.h"
#include "launch/launch_yarn.h"
#include "launch/plan_print.h"

#include <stdio.h>

static int start_on_yarn(struct job_call *x, const struct spec *s, bool attached, struct err *err)
{
    const struct options *o = job_args(x);
    struct launch_yarn_options launch = {
        .command = x->cli->operands, .attached = attached, .wait = o->wait, .no_ship = o->no_ship
    };
    int r = job_session(x, &launch.session, err);

    return r < 0 ? r : launch_yarn(x, s, &launch, err);
}

/* Files and targets on a cluster, before anything starts: the exit code 2 when they are wrong,
 * which has been printed then. *ret stays NULL when the job has none. */
static int start_look_at_cluster(struct job_call *x, const struct spec *s, struct session **ret,
                                 struct err *err)
{
    const char *what = fetch_needed(s);
    AUTO_SPEC_FAULTS f = { 0 };
    int r;

    if (!what)
        return 0;
    r = job_session(x, ret, err);
    if (r < 0)
        return err_wrap(err, r, "'%s'", what);
    r = session_find_user(*ret, err);
    if (r == 0)
        r = fetch_check(*ret, s, &f, err);
    return r < 0 || f.lines.n == 0 ? r : options_faults(x->cli, &f, err);
}

static int start_here(struct job_call *x, struct spec *s, bool attached, struct proc **ret_master,
                      struct err *err)
{
    struct launch_options launch = { .command = x->cli->operands,
                                     .attached = attached,
                                     .quiet = x->globals->quiet };
    AUTO_JOB_DIR dir = JOB_DIR_INIT;
    int r = start_look_at_cluster(x, s, &launch.session, err);

    if (r != 0)
        return r;
    r = launch_local(x->loop, s, &launch, &dir, ret_master, err);
    return r < 0 ? r : client_new(x->loop, &dir, &x->client, err);
}

int start_job(struct job_call *x, struct spec *s, bool attached, struct proc **ret_master,
              struct err *err)
{
    const struct framework *fw = NULL;
    enum options_on on;
    int r = options_spec(x->cli, s, &fw, err);

    if (r != 0)
        return r;
    if (options_only_plan())
        return plan_print(x, s, fw, err);
    r = options_where(job_args(x), &on, err);
    if (r == 0)
        r = job_env(x, s, on == OPTIONS_YARN, err);
    if (r != 0)
        return r;
    return on == OPTIONS_YARN ? start_on_yarn(x, s, attached, err)
                              : start_here(x, s, attached, ret_master, err);
}

void start_say(const struct job_call *x, const struct spec *s)
{
    bool on_yarn = str_starts(client_id(x->client), "application_");

    if (x->globals->quiet)
        return;
    fprintf(stderr, "ydl: %s on %s:", client_id(x->client), on_yarn ? "YARN" : "this machine");
    for (size_t i = 0; i < s->n_roles; i++) {
        const struct spec_role *role = &s->roles[i];
        size_t tasks = (size_t)role->count * (role->procs ? role->procs : 1);

        fprintf(stderr, "%s %zu %s%s%s", i ? "," : "", tasks, role->name,
                tasks == 1 || str_ends(role->name, "s") ? "" : "s",
                on_yarn && role->place == SPEC_PLACE_CLIENT ? " on this machine" : "");
    }
    fputc('\n', stderr);
}
