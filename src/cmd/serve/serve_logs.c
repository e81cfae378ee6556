/* serve_logs.c - `ydl serve logs`: `ydl logs` of a deployment, by version instead of by role. */
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_request.h"
#include "model/name.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <stdlib.h>
#include <unistd.h>

struct args {
    struct job_where where;
    bool follow;
    const char *version, *model, *tail;
};

#define AT(field) offsetof(struct args, field)

/* The group that a version runs in, or ran in last; NULL: nobody knows. */
static const char *group_of(const json_t *model, int64_t version)
{
    const json_t *v = deployment_version(model, version);
    const json_t *last = json_object_get(model, "last");
    const json_t *groups = json_object_get(model, "groups"), *g;
    const char *serves =
        format_text(deployment_version(model, json_int_or(model, "serve", 0)), "group");
    size_t i;

    if (v)
        return format_text(v, "group");
    if (json_int_or(last, "to", 0) != version && json_int_or(model, "previous", 0) != version)
        return NULL;
    json_array_foreach(groups, i, g)
    {
        if (!str_eq(json_string_value(g), serves))
            return json_string_value(g);
    }
    return NULL;
}

static int add_group(struct job_call *x, struct strs *words, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_JSON *plan = NULL;
    json_t *model = NULL;
    const char *group;
    int64_t version = 0;
    int r;

    if (!a->version)
        return 0;
    if (model_version_parse(a->version, &version, err) < 0)
        return cli_bad(err, "option '--version': '%s' is not a version", a->version);
    r = serve_plan(x, &plan, err);
    if (r == 0)
        r = serve_plan_model(plan, a->model, &model, err);
    if (r < 0)
        return r;
    group = group_of(model, version);
    if (!group)
        return err_set(err, -ENOENT, "'%s' has not served version %lld lately",
                       format_text(model, "name"), (long long)version);
    return strs_add(words, group) < 0 ? err_oom(err) : 0;
}

/* It is the same command from here on. */
static int become_logs(struct job_call *x, struct strs *words, struct err *err)
{
    const struct args *a = job_args(x);
    const struct globals *g = x->globals;

    if ((a->where.staging &&
         (strs_add(words, "--staging") < 0 || strs_add(words, a->where.staging) < 0)) ||
        (a->follow && strs_add(words, "--follow") < 0) ||
        (a->tail && (strs_add(words, "--tail") < 0 || strs_add(words, a->tail) < 0)) ||
        (g->json && strs_add(words, "--json") < 0) || (g->quiet && strs_add(words, "--quiet") < 0))
        return err_oom(err);
    execv("/proc/self/exe", words->v);
    return err_sys(err, "run 'ydl logs'");
}

static int serve_logs_work(struct job_call *x, struct err *err)
{
    AUTO_STRS words = { 0 };
    AUTO_JSON *status = NULL;
    int r = serve_find(x, &status, err);

    if (r == 0 && (strs_add(&words, "ydl") < 0 || strs_add(&words, "logs") < 0 ||
                   strs_add(&words, client_id(x->client)) < 0))
        r = err_oom(err);
    if (r == 0)
        r = add_group(x, &words, err);
    return r != 0 ? r : become_logs(x, &words, err);
}

/* clang-format off */
const struct cli_verb verb_serve_logs = {
    .name = "logs", .summary = "show what a deployment's tasks wrote", .operands = "DEPLOYMENT",
    .least = 1, .most = 1, .ask = "Which deployment? Try: ydl serve list",
    JOB_VERB(serve_logs_work),
    .text = "Shows the output of the gateway's task and of the replicas, as 'ydl logs' does; with "
            "--version, of the replicas of that version: one that serves, that is being tried, or "
            "that was tried or served last.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "follow", 'f', CLI_FLAG, AT(follow), NULL, NULL,
          "follow the output until the deployment has ended" },
        { "version", 0, CLI_TEXT, AT(version), NULL, "VERSION", "only replicas of this version" },
        { "model", 0, CLI_TEXT, AT(model), NULL, "NAME", "which model, if it serves several" },
        { "tail", 'n', CLI_TEXT, AT(tail), NULL, "N",
          "show only the last N lines of each stream of each task, and what follows" }),
    CLI_EXAMPLES({ "ydl serve logs resnet --version 2", "why did version 2 not start?" }),
};
/* clang-format on */
