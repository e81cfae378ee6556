/* serve_update.c - `ydl serve update`: another version takes the place of the one that serves. */
#include "cmd/serve/serve_update.h"
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_request.h"
#include "cmd/serve/serve_watch.h"
#include "cmd/serve/yarn/serve_copies.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_update.h"
#include "terminal/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct args {
    struct job_where where;
    const char *file, *to, *model, *lib, *canary, *errors, *slower, *watch;
    unsigned requests;
    int64_t timeout;
    bool replace, wait;
};

#define AT(field) offsetof(struct args, field)

/* ---- asking ---- */

static int make_request(const struct serve_change *c, const json_t *model,
                        const struct serve_version *v, json_t **ret, struct err *err)
{
    int r = json_make(ret, err, "{s:s, s:O, s:o, s:f, s:f, s:f, s:i, s:I, s:I, s:b}", "do",
                      "update", "model", json_object_get(model, "name"), "version",
                      serve_version_json(v), "percent", c->percent, "errors", c->errors, "slower",
                      c->slower, "requests", (int)c->requests, "watch", (json_int_t)c->watch,
                      "warm", (json_int_t)c->warm, "replace", (int)c->replace);

    if (r == 0 && c->follows &&
        json_object_set_new(*ret, "follow",
                            *c->ref.alias ? json_string(c->ref.alias) : json_null()) < 0)
        r = err_oom(err);
    return r;
}

static int print_result(struct job_call *x, const json_t *model, const struct serve_version *v,
                        const json_t *last, struct err *err)
{
    if (!x->globals->json)
        return 0;
    return doc_print(err, "{s:s, s:O, s:O, s:I, s:s, s:o}", "job", client_id(x->client), "model",
                     json_object_get(model, "name"), "from", json_object_get(model, "serve"), "to",
                     (json_int_t)v->m.version, "result",
                     last ? format_text(last, "result") : "started", "why",
                     last ? json_text(format_text(last, "why")) : json_null());
}

/* An alias may come to be followed, or no longer, without another version. */
static bool is_served(const json_t *model, const struct serve_version *v)
{
    return json_int_or(model, "serve", 0) == v->m.version &&
           deployment_update_phase(model) == UPDATE_NONE;
}

static int change_to(struct job_call *x, const json_t *model, const struct serve_change *c,
                     const struct serve_version *v, struct err *err)
{
    struct serve_watch watch = { .model = format_text(model, "name"), .quiet = x->globals->quiet };
    AUTO_JSON *q = NULL;
    AUTO_JSON *last = NULL;
    char id[SERVE_ID] = "";
    int r = make_request(c, model, v, &q, err), printed;

    if (r == 0)
        r = serve_request(x, q, id, err);
    if (r == -ECANCELED && *id)
        return serve_watch_left(x, r, err);
    if (r < 0)
        return r;
    watch.id = id;
    if (is_served(model, v) || !c->wait)
        return print_result(x, model, v, NULL, err);
    r = serve_watch(x, &watch, &last, err);
    if (r < 0)
        return r;
    printed = print_result(x, model, v, last, NULL);
    return printed < 0 ? printed : r;
}

/*     which version, of the registry that the plan names      serve_version_find()
 *     on YARN, from a registry of this machine: a copy        serve_copies_make()
 *     a request in the job's store, and its answer            serve_request()
 *     what the gateway's task does about it, until the end    serve_watch()
 *
 * Until the request is there nothing has changed but copies; afterwards the update goes on by
 * itself. */
int serve_change(struct job_call *x, const json_t *plan, const struct serve_change *c,
                 struct err *err)
{
    struct serve_find how = {
        .lib = c->lib, .python = c->python, .plan = plan, .quiet = x->globals->quiet
    };
    AUTO_SERVE_VERSION v = { 0 };
    struct model_ref ref = c->ref;
    json_t *model = NULL;
    int r = serve_plan_model(plan, c->model, &model, err);

    if (r < 0)
        return r;
    (void)snprintf(ref.name, sizeof(ref.name), "%s", format_text(model, "name"));
    how.registry = serve_copies_registry(plan);
    r = serve_version_find(x, &how, &ref, &v, err);
    if (r == 0 && deployment_is_on_yarn(plan) && !models_is_remote(v.registry))
        r = serve_copies_make(x, json_string_value(json_object_get(plan, "registry")), &v, err);
    return r < 0 ? r : change_to(x, model, c, &v, err);
}

/* ---- the verb ---- */

/* "10%" or "10". */
static int percent_of(const char *option, const char *text, double *ret, struct err *err)
{
    char *end = NULL;
    double n = strtod(text, &end);

    if (end == text || (*end && !str_eq(end, "%")) || !(n >= 0 && n <= 100))
        return cli_bad(err, "option '%s': '%s' is not a number of percent from 0 to 100", option,
                       text);
    *ret = n;
    return 0;
}

/* The gateway counts in hundredths of a percent. A version without requests is never judged. */
static int canary_of(const char *text, double *ret, struct err *err)
{
    int r = percent_of("--canary", text, ret, err);

    if (r == 0 && *ret < UPDATE_CANARY_LEAST) {
        r = cli_bad(err,
                    "option '--canary': at least %g%%: the new version is judged by its requests",
                    UPDATE_CANARY_LEAST);
        err_hint(err, "without --canary it gets all requests at once, and the old one stands by");
    }
    return r;
}

static int times_of(const char *option, const char *text, double *ret, struct err *err)
{
    char *end = NULL;
    double n = strtod(text, &end);

    if (end == text || *end || !(n >= 1 && n <= 1000))
        return cli_bad(err, "option '%s': '%s' is not a number from 1 to 1000", option, text);
    *ret = n;
    return 0;
}

/* "2", "@champion", or (NULL) the newest. */
static int target_of(const char *to, struct model_ref *ret, struct err *err)
{
    AUTO_FREE char *text = NULL;
    int r;

    if (!to)
        return 0;
    text = str_printf("m%s%s", *to == '@' ? "" : ":", to);
    r = text ? model_ref_parse(text, ret, err) : err_oom(err);
    return r == -EINVAL ? (err->code = CLI_USAGE) : r;
}

static int change_of(const struct args *a, struct serve_change *c, struct err *err)
{
    int r = a->file && (a->to || a->model || a->lib || a->canary || a->slower)
                ? cli_bad(err, "with --file, the file says which version, and how it takes over")
                : target_of(a->to, &c->ref, err);

    if (r == 0 && a->canary)
        r = canary_of(a->canary, &c->percent, err);
    if (r == 0)
        r = percent_of("--errors", a->errors, &c->errors, err);
    if (r == 0 && a->slower)
        r = times_of("--slower", a->slower, &c->slower, err);
    if (r == 0 && a->requests == 0)
        r = cli_bad(err, "option '--requests': at least one");
    if (r == 0 && a->watch && str_to_ms(a->watch, &c->watch) < 0)
        r = cli_bad(err, "option '--watch': '%s' is not a time, such as 30s", a->watch);
    return r;
}

static int serve_update_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    struct serve_change c = { .model = a->model,
                              .lib = a->lib,
                              .percent = 100,
                              .slower = a->canary ? 2 : UPDATE_ANY_TIME,
                              .requests = a->requests,
                              .watch = a->canary ? 0 : UPDATE_WATCH_MS,
                              .warm = a->timeout,
                              .replace = a->replace,
                              .wait = a->wait,
                              .follows = true };
    AUTO_JSON *status = NULL;
    AUTO_JSON *plan = NULL;
    int r = !a->file && x->cli->n_operands == 0
                ? cli_bad(err, "which deployment? Try: ydl serve list")
                : change_of(a, &c, err);

    if (r == 0 && a->file)
        return serve_update_file(x, a->file, &c, err);
    if (r == 0)
        r = serve_find(x, &status, err);
    if (r == 0)
        r = serve_plan(x, &plan, err);
    return r < 0 || r == CLI_USAGE ? r : serve_change(x, plan, &c, err);
}

/* clang-format off */
const struct cli_verb verb_serve_update = {
    .name = "update", .summary = "serve another version of a model", .operands = "[DEPLOYMENT]",
    .most = 1,
    JOB_VERB(serve_update_work),
    .text = "Starts replicas of the new version beside those that serve, sends them requests when "
            "all are ready, and stops the old ones when they have answered what they had. No request "
            "fails. If the new version is worse, it is given up and the old one continues to serve: "
            "when more than --errors of its requests failed, when its p99 is more than --slower times "
            "the old one's, or when its replicas end. The command shows the progress and waits for "
            "the end; if you interrupt it, the update continues.\n\n"
            "With --canary, the new version gets that share of the requests until it has answered "
            "--requests of them, and then all. By default it gets all requests at once, and the old "
            "version stands by until the new one has answered twice --requests, at most for --watch.\n\n"
            "A deployment that is updated to an alias follows it from then on; one that is updated to "
            "a version no longer follows an alias.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "file", 'f', CLI_TEXT, AT(file), NULL, "FILE",
          "change versions and replicas to those in the deployment's file", .group = CLI_WHAT },
        { "to", 0, CLI_TEXT, AT(to), NULL, "VERSION|@ALIAS", "which version",
          .fallback = "the newest", .group = CLI_WHAT },
        { "model", 0, CLI_TEXT, AT(model), NULL, "NAME", "which model, if it serves several",
          .group = CLI_WHAT },
        { "backend", 0, CLI_TEXT, AT(lib), NULL, "PATH",
          "the library that runs the model, or its directory",
          .fallback = "one that is found", .group = CLI_WHAT, .rare = true },
        { "canary", 0, CLI_TEXT, AT(canary), NULL, "P%",
          "share of the requests that the new version gets at first", .group = CLI_FAILURES },
        { "errors", 0, CLI_TEXT, AT(errors), "1%", "P%", "share of its requests that may fail",
          .group = CLI_FAILURES },
        { "slower", 0, CLI_TEXT, AT(slower), NULL, "X",
          "its p99 may be at most X times the old version's",
          .fallback = "2 with --canary; else any", .group = CLI_FAILURES },
        { "requests", 0, CLI_COUNT, AT(requests), "200", "N",
          "requests after which the new version is judged", .group = CLI_FAILURES },
        { "watch", 0, CLI_TEXT, AT(watch), NULL, "TIME",
          "how long to wait for that many requests; 0: forever",
          .fallback = "10s; with --canary: forever", .group = CLI_FAILURES },
        { "timeout", 0, CLI_MS, AT(timeout), "2m", "TIME", "time for the new replicas to be ready",
          .group = CLI_FAILURES },
        { "replace", 0, CLI_FLAG, AT(replace), NULL, NULL,
          "if an update is in progress, replace it by this one", .group = CLI_FAILURES },
        { "wait", 0, CLI_FLAG, AT(wait), "yes", NULL, "wait for the end of the update",
          .group = CLI_OUTPUT }),
    CLI_EXAMPLES({ "ydl serve update resnet --to 2", "serve version 2 from now on" },
                 { "ydl serve update resnet --to 2 --canary 10%",
                   "try version 2 on a tenth of the requests first" },
                 { "ydl serve update shop --model bert --to @champion",
                   "serve what an alias names, and follow it" },
                 { "ydl serve update -f shop.yaml", "apply a file that was changed" }),
    CLI_SECTIONS({ "EXIT STATUS",
        "0\tThe new version serves.\n"
        "1\tIt was given up, and the old one continues to serve; or the update could not be "
        "started. The message says why.\n"
        "73\tThis version is served already.\n"
        "75\tAnother update is in progress." }),
};
/* clang-format on */
