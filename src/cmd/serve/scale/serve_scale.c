/* serve_scale.c - `ydl serve scale`: more replicas, or fewer, or as many as the load wants.
 *
 * A number and autoscaling go together, as in Kubernetes: the number counts at once, and the load
 * changes it from there on. Only 0 is left alone, because a load can only be that of replicas. */
#include "cli/doc.h"
#include "cmd/serve/scale/serve_autoscale.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_request.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <stdio.h>

struct args {
    struct job_where where;
    const char *model, *autoscale;
};

/* What is asked for. */
struct scaling {
    struct job_call *x;
    const json_t *model;
    int64_t replicas; /* -1: not said */
    bool said;        /* of autoscaling; `rule.max` is 0 for "off" */
    struct autoscale rule;
};

/* The deployment's own controller does it: it knows which version serves, and takes replicas out of
 * the gateway before they go. */
static int scale_request(const struct scaling *s, json_t **ret, struct err *err)
{
    int r = json_make(ret, err, "{s:s, s:O}", "do", "scale", "model",
                      json_object_get(s->model, "name"));

    if (r < 0)
        return r;
    if ((s->replicas >= 0 &&
         json_object_set_new(*ret, "replicas", json_integer((json_int_t)s->replicas)) < 0) ||
        (s->said && json_object_set_new(*ret, "autoscale",
                                        s->rule.max ? autoscale_json(&s->rule) : json_null()) < 0))
        return err_oom(err);
    return 0;
}

/* A person who gives a number would be surprised by what the load makes of it. */
static void scale_warn(const struct scaling *s)
{
    struct autoscale rule;

    if (s->x->globals->quiet || s->said || !autoscale_of(s->model, &rule))
        return;
    if (s->replicas == 0)
        fprintf(stderr, "ydl: autoscaling is paused until there are replicas again\n");
    else
        fprintf(stderr,
                "ydl: autoscaling is still on, from %u to %u replicas; turn it off with "
                "--autoscale off\n",
                rule.min, rule.max);
}

static int scale_print(const struct scaling *s, struct err *err)
{
    const char *name = s->x->cli->operands[0];

    if (s->x->globals->json)
        return doc_print(err, "{s:s, s:s, s:O, s:o, s:o}", "job", client_id(s->x->client), "done",
                         "scale", "model", json_object_get(s->model, "name"), "replicas",
                         s->replicas < 0 ? json_null() : json_integer((json_int_t)s->replicas),
                         "autoscale", s->rule.max ? autoscale_json(&s->rule) : json_null());
    if (s->replicas >= 0)
        printf("%s: changing to %lld replica%s\n", name, (long long)s->replicas,
               s->replicas == 1 ? "" : "s");
    if (s->said && s->rule.max)
        printf("%s: autoscaling from %u to %u replicas\n", name, s->rule.min, s->rule.max);
    else if (s->said)
        printf("%s: autoscaling is off\n", name);
    scale_warn(s);
    return 0;
}

static int scale_model(const struct scaling *s, struct err *err)
{
    AUTO_JSON *q = NULL;
    char id[SERVE_ID];
    int r = scale_request(s, &q, err);

    if (r == 0)
        r = serve_request(s->x, q, id, err);
    return r < 0 ? r : scale_print(s, err);
}

static int scale_read(const struct cli *c, const struct args *a, struct scaling *ret,
                      struct err *err)
{
    const char *count = c->n_operands > 1 ? c->operands[1] : NULL;

    ret->replicas = -1;
    if (!count && !a->autoscale)
        return cli_bad(err, "to how many replicas? Give a number, or --autoscale MIN-MAX");
    if (count && str_to_i64(count, 0, DEPLOYMENT_REPLICAS, &ret->replicas) < 0)
        return cli_bad(err, "'%s' is not a number of replicas from 0 to %d", count,
                       DEPLOYMENT_REPLICAS);
    ret->said = a->autoscale != NULL;
    return ret->said && serve_autoscale_parse(a->autoscale, &ret->rule, err) < 0
               ? (err->code = CLI_USAGE)
               : 0;
}

static int serve_scale_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    struct scaling s = { .x = x };
    AUTO_JSON *status = NULL;
    AUTO_JSON *plan = NULL;
    json_t *model = NULL;
    int r = scale_read(x->cli, a, &s, err);

    if (r == 0)
        r = serve_find(x, &status, err);
    if (r == 0)
        r = serve_plan(x, &plan, err);
    if (r == 0)
        r = serve_plan_model(plan, a->model, &model, err);
    s.model = model;
    return r != 0 ? r : scale_model(&s, err);
}

/* clang-format off */
const struct cli_verb verb_serve_scale = {
    .name = "scale", .summary = "change the number of replicas", .operands = "DEPLOYMENT [N]",
    .least = 1, .most = 2, .ask = "Which deployment, and how many replicas?",
    JOB_VERB(serve_scale_work),
    .text = "Starts more replicas, or stops those with the highest numbers once they have answered "
            "their requests in flight. During an update both versions get this many. With 0, "
            "requests are refused until there are replicas again.\n\n"
            "With --autoscale the load decides: replicas are added when more than 'target' requests "
            "(default: 4) are in flight for each, and removed when fewer would have been enough for "
            "all of 'cool-down' (default: 1m). If you also give N, the deployment starts from N "
            "replicas; 0 stays 0 until you give another number.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "autoscale", 0, CLI_TEXT, offsetof(struct args, autoscale), NULL, "MIN-MAX",
          "let the load decide: 1-8, or 1-8,target=4,cool-down=1m; off: fixed number" },
        { "model", 0, CLI_TEXT, offsetof(struct args, model), NULL, "NAME",
          "which model, if it serves several" }),
    CLI_EXAMPLES({ "ydl serve scale resnet 4", "change to four replicas" },
                 { "ydl serve scale resnet --autoscale 1-8", "let the load decide" },
                 { "ydl serve scale resnet 2 --autoscale off", "two replicas, whatever the load" }),
};
/* clang-format on */
