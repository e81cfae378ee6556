/* serve_submit.c - the way of every job, with what the options of `deploy` and of `submit` have in
 * common. Files travel only if the job names them. See serve_submit.h. */
#include "cmd/serve/yarn/serve_submit.h"
#include "launch/launch_options.h"
#include "launch/start_job.h"

int serve_submit(struct job_call *x, const struct serve_want *w, const char *text, struct err *err)
{
    const struct serve_options *o = job_args(x);
    struct options options = { .on = w->on,
                               .staging = o->where.staging,
                               .queue = w->queue,
                               .label = w->label,
                               .priority = o->priority,
                               .attempts = o->attempts,
                               .no_ship = true };
    struct globals globals = *x->globals;
    struct session *session = NULL;
    struct cli cli = *x->cli;
    struct job_call call;
    AUTO_SPEC spec = { 0 };
    int r = w->on == OPTIONS_YARN ? job_session(x, &session, err) : 0;

    if (r < 0)
        return r;
    globals.job = text;
    globals.job_by = "ydl serve";
    cli.args = &options;
    cli.globals = &globals;
    cli.n_operands = 0;
    call = *x;
    call.cli = &cli;
    call.globals = &globals;
    r = start_job(&call, &spec, false, NULL, err);
    x->client = call.client;
    x->yarn = call.yarn;
    x->tokens_ms = call.tokens_ms;
    return r;
}
