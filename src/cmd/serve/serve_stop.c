/* serve_stop.c - `ydl serve stop`: ends a deployment. */
#include "cmd/serve/serve_call.h"

static int serve_stop_work(struct job_call *x, struct err *err)
{
    AUTO_JSON *status = NULL;
    int r = serve_find(x, &status, err);

    return r < 0 ? r : act_end(x, "stop", "/v1/stop", err);
}

/* clang-format off */
const struct cli_verb verb_serve_stop = {
    .name = "stop", .summary = "stop a deployment", .operands = "DEPLOYMENT", .least = 1, .most = 1,
    .ask = "Which deployment? Try: ydl serve list", JOB_VERB(serve_stop_work),
    .text = "Lets requests in flight end and stops all of it. Models stay in the registry.",
    .opts = job_where_opts, .args_size = sizeof(struct job_where),
};
/* clang-format on */
