/* serve_rollback.c - `ydl serve rollback`: back to the version before. */
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_request.h"
#include "cmd/serve/serve_update.h"
#include "cmd/serve/serve_watch.h"
#include "serve/deployment/deployment_update.h"
#include "terminal/format.h"

#include <stdio.h>

struct args {
    struct job_where where;
    const char *to, *model, *lib;
    int64_t timeout;
    bool wait;
};

#define AT(field) offsetof(struct args, field)

/* The update that is in progress is given up, which is what its own result says. */
static int take_back(struct job_call *x, const json_t *model, struct err *err)
{
    const struct args *a = job_args(x);
    const json_t *update = json_object_get(model, "update");
    struct serve_watch w = { .model = format_text(model, "name"),
                             .id = format_text(update, "id"),
                             .quiet = x->globals->quiet,
                             .taken_back = true };
    AUTO_JSON *q = NULL;
    AUTO_JSON *last = NULL;
    char id[SERVE_ID];
    int r =
        json_make(&q, err, "{s:s, s:O}", "do", "return", "model", json_object_get(model, "name"));

    if (r == 0)
        r = serve_request(x, q, id, err);
    if (r == 0 && a->wait)
        r = serve_watch(x, &w, &last, err);
    if (r < 0 || (last && str_eq(format_text(last, "result"), "done")))
        return r;
    err_clear(err);
    if (x->globals->json)
        return doc_print(err, "{s:s, s:O, s:O, s:O, s:s, s:o}", "job", client_id(x->client),
                         "model", json_object_get(model, "name"), "from",
                         json_object_get(update, "to"), "to", json_object_get(update, "from"),
                         "result", last ? "done" : "started", "why",
                         last ? json_text(format_text(last, "why")) : json_null());
    if (!x->globals->quiet)
        fprintf(stderr, "ydl: %s: version %lld continues to serve\n", w.model,
                (long long)json_int_or(update, "from", 0));
    return 0;
}

static int to_version(struct job_call *x, const json_t *plan, const json_t *model, int64_t version,
                      struct err *err)
{
    const struct args *a = job_args(x);
    const struct serve_change c = { .model = format_text(model, "name"),
                                    .lib = a->lib,
                                    .ref = { .version = version },
                                    .percent = 100,
                                    .errors = 1,
                                    .slower = UPDATE_ANY_TIME,
                                    .requests = 200,
                                    .watch = 1, /* it has served before: it is not watched */
                                    .warm = a->timeout,
                                    .wait = a->wait };

    if (version > 0)
        return serve_change(x, plan, &c, err);
    err_set(err, -ENOENT, "'%s' has served no other version than %lld", c.model,
            (long long)json_int_or(model, "serve", 0));
    err_hint(err, "say which with --to VERSION");
    return -ENOENT;
}

static int serve_rollback_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_JSON *status = NULL;
    AUTO_JSON *plan = NULL;
    json_t *model = NULL;
    enum update_phase phase;
    int64_t to = 0;
    int r = 0;

    if (a->to && model_version_parse(a->to, &to, err) < 0)
        return cli_bad(err, "option '--to': '%s' is not a version", a->to);
    r = serve_find(x, &status, err);
    if (r == 0)
        r = serve_plan(x, &plan, err);
    if (r == 0)
        r = serve_plan_model(plan, a->model, &model, err);
    if (r < 0)
        return r;
    phase = deployment_update_phase(model);
    if (phase == UPDATE_WARMING || phase == UPDATE_WATCHING)
        return take_back(x, model, err);
    return to_version(x, plan, model, to ? to : json_int_or(model, "previous", 0), err);
}

/* clang-format off */
const struct cli_verb verb_serve_rollback = {
    .name = "rollback", .summary = "serve the previous version again", .operands = "DEPLOYMENT",
    .least = 1, .most = 1, .ask = "Which deployment? Try: ydl serve list",
    JOB_VERB(serve_rollback_work),
    .text = "Goes back to the version that was served before, in the same way as 'ydl serve update': "
            "no request fails. If an update is in progress, gives up the new version at once and "
            "stops its replicas. A deployment that follows an alias continues to follow it: the "
            "next time the alias is moved, the deployment is updated to that version.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "to", 0, CLI_TEXT, AT(to), NULL, "VERSION", "which version",
          .fallback = "the one before", .group = CLI_WHAT },
        { "model", 0, CLI_TEXT, AT(model), NULL, "NAME", "which model, if it serves several",
          .group = CLI_WHAT },
        { "backend", 0, CLI_TEXT, AT(lib), NULL, "PATH",
          "the library that runs the model, or its directory",
          .fallback = "one that is found", .group = CLI_WHAT },
        { "timeout", 0, CLI_MS, AT(timeout), "2m", "TIME", "time for the replicas to be ready",
          .group = CLI_FAILURES },
        { "wait", 0, CLI_FLAG, AT(wait), "yes", NULL, "wait until the version serves", .group = CLI_OUTPUT }),
    CLI_EXAMPLES({ "ydl serve rollback resnet", "go back to the version before" }),
};
/* clang-format on */
