/* serve_status.c - `ydl serve status`: a deployment and its replicas. */
#include "cli/doc.h"
#include "cmd/serve/monitor/serve_history.h"
#include "cmd/serve/scale/serve_autoscale.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_direct.h"
#include "cmd/serve/serve_request.h"
#include "cmd/serve/serve_watch.h"
#include "serve/deployment/deployment_fetch.h"
#include "serve/deployment/deployment_move.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_update.h"
#include "terminal/format.h"

#include <stdio.h>

struct args {
    struct job_where where;
    bool history;
    int64_t since; /* milliseconds; 0: not given */
};

/* clang-format off */
static const struct table_column columns[] = {
    { "REPLICA",  false, "{name}" },
    { "STATE",    false, "{state}" },
    { "VERSION",  true,  "{version}" },
    { "REQ/S",    true,  "{requests_per_second}" },
    { "P50 MS",   true,  "{p50_ms}" },
    { "P99 MS",   true,  "{p99_ms}" },
    { "ERRORS",   true,  "{errors}" },
    { "ADDRESS",  false, "{address}" },
};
/* clang-format on */

/* One that fetches its model says how far it is. */
static int show_fetch(json_t *row, const json_t *report)
{
    const json_t *fetch = deployment_fetch_find(json_object_get(report, "fetching"),
                                                json_string_value(json_object_get(row, "name")));
    AUTO_FREE char *text = fetch ? deployment_fetch_text(fetch) : NULL;

    return fetch ? json_object_set_new(row, "state", json_text(text)) : 0;
}

/* All replicas of all versions in one list, each with its version. */
static json_t *replicas_in(const json_t *report)
{
    AUTO_JSON *list = json_array();
    const json_t *model, *version;
    json_t *replica;
    size_t i, k, n;

    json_array_foreach(json_object_get(report, "models"), i, model)
    {
        json_array_foreach(json_object_get(model, "versions"), k, version)
        {
            json_array_foreach(json_object_get(version, "replicas"), n, replica)
            {
                AUTO_JSON *row = json_copy(replica);

                if (!row ||
                    json_object_set(row, "version", json_object_get(version, "version")) < 0 ||
                    show_fetch(row, report) < 0 || json_array_append(list, row) < 0)
                    return NULL;
            }
        }
    }
    return take(list);
}

/* Replicas whose containers will be taken away. */
static int print_moves(const json_t *model, struct err *err)
{
    const json_t *list = json_object_get(json_object_get(model, "moving"), "replicas"), *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        AUTO_FREE char *text = deployment_move_text(model, one);

        if (!text)
            return err_oom(err);
        printf("  %s\n", text);
    }
    return 0;
}

/* What is happening to a model, or happened last. */
static int print_model(const json_t *model, const json_t *report, struct err *err)
{
    const json_t *last = json_object_get(model, "last");
    const char *follow = format_text(model, "follow"), *result = format_text(last, "result");
    AUTO_FREE char *update = NULL;
    AUTO_FREE char *scaling = serve_autoscale_text(
        model, deployment_model(report, format_text(model, "name")), loop_wall());

    printf("%s: version %lld", format_text(model, "name"),
           (long long)json_int_or(model, "serve", 0));
    printf(*follow ? ", follows the alias %s\n" : "%s\n", follow);
    if (!scaling)
        return err_oom(err);
    if (*scaling)
        printf("  autoscale %s\n", scaling);
    if (deployment_update_phase(model) != UPDATE_NONE) {
        update = serve_watch_text(model, report);
        if (!update)
            return err_oom(err);
        printf("  update %s\n", update);
    } else if (last) {
        printf("  last update %lld → %lld, %s%s%s: %s\n", (long long)json_int_or(last, "from", 0),
               (long long)json_int_or(last, "to", 0), result,
               *format_text(last, "by") ? " by " : "", format_text(last, "by"),
               format_text(last, "why"));
    }
    return print_moves(model, err);
}

/* All addresses, the first one in the line of the deployment itself. */
static void print_head(const json_t *status, const json_t *report, const json_t *urls)
{
    const json_t *one;
    size_t i;

    printf("%s  %s  %s\n", format_text(status, "name"), format_text(status, "state"),
           serve_is_direct(report)      ? "no gateway: ask the replicas"
           : json_array_size(urls) == 0 ? "no address yet"
                                        : json_string_value(json_array_get(urls, 0)));
    json_array_foreach(urls, i, one)
    {
        if (i > 0 && !serve_is_direct(report))
            printf("  and %s\n", json_string_value(one));
    }
}

static int print_text(const json_t *status, const json_t *plan, const json_t *report,
                      const json_t *urls, struct err *err)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    AUTO_JSON *rows = replicas_in(report);
    size_t i;
    int r = rows ? 0 : err_oom(err);

    print_head(status, report, urls);
    json_array_foreach(models, i, m)
    {
        if (r == 0)
            r = print_model(m, report, err);
    }
    if (r < 0)
        return r;
    return json_array_size(rows) ? doc_table(rows, columns, COUNT_OF(columns), err) : 0;
}

/* Without what is the deployment's own affair. */
static json_t *models_json(const json_t *plan)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    AUTO_JSON *list = json_array();
    size_t i;

    json_array_foreach(models, i, m)
    {
        if (json_array_append_new(
                list,
                json_pack("{s:O, s:O, s:O?, s:O?, s:O, s:O?, s:O?, s:O?, s:O?, s:O?}", "model",
                          json_object_get(m, "name"), "version", json_object_get(m, "serve"),
                          "previous", json_object_get(m, "previous"), "follows",
                          json_object_get(m, "follow"), "replicas", json_object_get(m, "replicas"),
                          "update", json_object_get(m, "update"), "last",
                          json_object_get(m, "last"), "autoscale", json_object_get(m, "autoscale"),
                          "scaled", json_object_get(m, "scaled"), "moving",
                          json_object_get(m, "moving"))) < 0)
            return NULL;
    }
    return take(list);
}

static int check_since(const struct args *a, struct err *err)
{
    if (a->since && !a->history)
        return cli_bad(err, "--since needs --history");
    if (a->since > SERVE_HISTORY_MAX)
        return cli_bad(err, "--since: 30 days are kept");
    return 0;
}

static int serve_status_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_JSON *status = NULL;
    AUTO_JSON *report = NULL;
    AUTO_JSON *plan = NULL;
    AUTO_JSON *urls = json_array();
    int r = check_since(a, err);

    if (r == 0)
        r = serve_find(x, &status, err);
    if (r == 0 && a->history)
        return serve_history_print(x, a->since ? a->since : SERVE_HISTORY_SINCE, err);
    if (r < 0)
        return r;
    if (!json_is_integer(json_object_get(status, "ended"))) {
        report = serve_report(x, 0);
        (void)serve_plan(x, &plan, NULL);
        json_decref(urls);
        urls = serve_is_direct(report) ? serve_direct_urls(report) : serve_urls(status, plan);
    }
    if (!urls)
        return err_oom(err);
    if (!x->globals->json)
        return print_text(status, plan, report, urls, err);
    return doc_print(err, "{s:O, s:O, s:O, s:O?, s:O, s:o, s:o, s:O, s:o}", "name",
                     json_object_get(status, "name"), "job", json_object_get(status, "job"),
                     "state", json_object_get(status, "state"), "url", json_array_get(urls, 0),
                     "urls", urls, "models", models_json(plan), "groups", serve_groups(status),
                     "tasks", json_object_get(status, "tasks"), "gateway",
                     report ? json_incref(report) : json_null());
}

/* clang-format off */
const struct cli_verb verb_serve_status = {
    .name = "status", .summary = "show a deployment", .operands = "DEPLOYMENT", .least = 1,
    .most = 1, .ask = "Which deployment? Try: ydl serve list", JOB_VERB(serve_status_work),
    .text = "Shows a deployment's address, the version of each model that is served, updates in "
            "progress, and the replicas: their state, and the requests, times and errors of the last "
            "minute. With --history, shows the requests, errors and times of each version in "
            "the last hour, a row for each minute. With --since, a longer or shorter time: more "
            "than two hours are shown in quarters of an hour, and 30 days are kept. Minutes "
            "without requests are left out.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "history", 0, CLI_FLAG, offsetof(struct args, history), NULL, NULL,
          "show what each version answered over time", .group = CLI_OUTPUT },
        { "since", 0, CLI_MS, offsetof(struct args, since), NULL, "TIME",
          "with --history: how far back", .fallback = "1h", .group = CLI_OUTPUT }),
    CLI_EXAMPLES({ "ydl serve status resnet", "show its replicas, and requests of the last minute" },
                 { "ydl serve status resnet --history --since 7d",
                   "show what each version answered in the last week" }),
};
/* clang-format on */
