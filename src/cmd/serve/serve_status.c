/* serve_status.c - `ydl serve status`: a deployment and its replicas. */
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "terminal/format.h"

#include <stdio.h>

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
                    json_array_append(list, row) < 0)
                    return NULL;
            }
        }
    }
    return take(list);
}

static int print_text(const json_t *status, const json_t *report, const char *url, struct err *err)
{
    AUTO_JSON *rows = replicas_in(report);

    printf("%s  %s  %s\n", format_text(status, "name"), format_text(status, "state"),
           *url ? url : "no address yet");
    if (!rows)
        return err_oom(err);
    return json_array_size(rows) ? doc_table(rows, columns, COUNT_OF(columns), err) : 0;
}

static int serve_status_work(struct job_call *x, struct err *err)
{
    AUTO_JSON *status = NULL;
    AUTO_JSON *report = NULL;
    char url[SERVE_URL] = "";
    int r = serve_find(x, &status, err);

    if (r < 0)
        return r;
    if (!json_is_integer(json_object_get(status, "ended"))) {
        (void)serve_url(status, url);
        report = serve_report(x, 0);
        serve_secure(report, url);
    }
    if (!x->globals->json)
        return print_text(status, report, url, err);
    return doc_print(
        err, "{s:O, s:O, s:O, s:o, s:o, s:O, s:o}", "name", json_object_get(status, "name"), "job",
        json_object_get(status, "job"), "state", json_object_get(status, "state"), "url",
        *url ? json_string(url) : json_null(), "groups", serve_groups(status), "tasks",
        json_object_get(status, "tasks"), "gateway", report ? json_incref(report) : json_null());
}

/* clang-format off */
const struct cli_verb verb_serve_status = {
    .name = "status", .summary = "show a deployment", .operands = "DEPLOYMENT", .least = 1,
    .most = 1, .ask = "Which deployment? Try: ydl serve list", JOB_VERB(serve_status_work),
    .text = "Shows a deployment's address and its replicas: their state, and the requests, times "
            "and errors of the last minute.",
    .opts = job_where_opts, .args_size = sizeof(struct job_where),
};
/* clang-format on */
