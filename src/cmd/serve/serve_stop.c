/* serve_stop.c - `ydl serve stop`: ends a deployment. */
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_registry.h"
#include "cmd/serve/serve_request.h"
#include "cmd/serve/yarn/serve_copies.h"

/* The registry may be gone, or not writable: what is written there counts for a day at most. */
static void forget(struct job_call *x, const json_t *plan)
{
    AUTO(registry_link) struct registry_link *link = NULL;

    if (plan && serve_registry_link(x, json_string_value(json_object_get(plan, "registry")), &link,
                                    NULL) == 0)
        (void)registry_link_forget(link, plan, NULL);
    serve_copies_remove(x, plan);
}

static int serve_stop_work(struct job_call *x, struct err *err)
{
    AUTO_JSON *status = NULL;
    AUTO_JSON *plan = NULL;
    int r = serve_find(x, &status, err);

    if (r < 0)
        return r;
    (void)serve_plan(x, &plan, NULL);
    r = act_end(x, "stop", "/v1/stop", err);
    if (r >= 0)
        forget(x, plan);
    return r;
}

/* clang-format off */
const struct cli_verb verb_serve_stop = {
    .name = "stop", .summary = "stop a deployment", .operands = "DEPLOYMENT", .least = 1, .most = 1,
    .ask = "Which deployment? Try: ydl serve list", JOB_VERB(serve_stop_work),
    .text = "Lets requests in flight end and stops all of it. Models stay in the registry.",
    .opts = job_where_opts, .args_size = sizeof(struct job_where),
};
/* clang-format on */
