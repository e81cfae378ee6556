/* serve_scale.c - `ydl serve scale`: more replicas, or fewer. */
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_request.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <stdio.h>

struct args {
    struct job_where where;
    const char *model;
};

/* The deployment's own controller does it: it knows which version serves, and takes replicas out of
 * the gateway before they go. */
static int scale_model(struct job_call *x, const json_t *model, int64_t n, struct err *err)
{
    const char *name = x->cli->operands[0];
    AUTO_JSON *q = NULL;
    char id[SERVE_ID];
    int r = json_make(&q, err, "{s:s, s:O, s:I}", "do", "scale", "model",
                      json_object_get(model, "name"), "replicas", (json_int_t)n);

    if (r == 0)
        r = serve_request(x, q, id, err);
    if (r < 0)
        return r;
    if (x->globals->json)
        return doc_print(err, "{s:s, s:s, s:O, s:I}", "job", client_id(x->client), "done", "scale",
                         "model", json_object_get(model, "name"), "replicas", (json_int_t)n);
    printf("%s: changing to %lld replica%s\n", name, (long long)n, n == 1 ? "" : "s");
    return 0;
}

static int serve_scale_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    const char *count = x->cli->operands[1];
    AUTO_JSON *status = NULL;
    AUTO_JSON *plan = NULL;
    json_t *model = NULL;
    int64_t n = 0;
    int r;

    if (str_to_i64(count, 0, DEPLOYMENT_REPLICAS, &n) < 0)
        return cli_bad(err, "'%s' is not a number of replicas from 0 to %d", count,
                       DEPLOYMENT_REPLICAS);
    r = serve_find(x, &status, err);
    if (r == 0)
        r = serve_plan(x, &plan, err);
    if (r == 0)
        r = serve_plan_model(plan, a->model, &model, err);
    return r < 0 ? r : scale_model(x, model, n, err);
}

/* clang-format off */
const struct cli_verb verb_serve_scale = {
    .name = "scale", .summary = "change the number of replicas", .operands = "DEPLOYMENT N",
    .least = 2, .most = 2, .ask = "Which deployment, and how many replicas?",
    JOB_VERB(serve_scale_work),
    .text = "Starts more replicas, or stops those with the highest numbers when they have answered "
            "what they have. While the model is updated, both versions get this many. With 0 nothing "
            "answers until there are some again.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "model", 0, CLI_TEXT, offsetof(struct args, model), NULL, "NAME",
          "which model, if it serves several" }),
    CLI_EXAMPLES({ "ydl serve scale resnet 4", "change to four replicas" }),
};
/* clang-format on */
