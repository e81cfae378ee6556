/* serve_list.c - `ydl serve list`: the deployments that run. */
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_direct.h"
#include "cmd/serve/serve_request.h"
#include "terminal/format.h"

/* clang-format off */
static const struct table_column columns[] = {
    { "NAME",     false, "{name}" },
    { "STATE",    false, "{state|lower}" },
    { "MODELS",   false, "{versions}" },
    { "REPLICAS", true,  "{replicas}" },
    { "URL",      false, "{url}" },
    { "STARTED",  false, "{created|when}" },
};
/* clang-format on */

static int64_t count_replicas(const json_t *status)
{
    AUTO_JSON *groups = serve_groups(status);
    const json_t *one;
    int64_t n = 0;
    size_t i;

    json_array_foreach(groups, i, one) n += json_int_or(one, "count", 0);
    return n;
}

/* "mlp:2", "bert:1" */
static json_t *versions_of(const json_t *plan)
{
    AUTO_JSON *list = json_array();
    const json_t *m;
    size_t i;

    json_array_foreach(json_object_get(plan, "models"), i, m)
    {
        if (json_array_append_new(list, json_sprintf("%s:%lld", format_text(m, "name"),
                                                     (long long)json_int_or(m, "serve", 0))) < 0)
            return NULL;
    }
    return take(list);
}

static int serve_list_add(void *arg, struct client *c, struct err *err)
{
    AUTO_JSON *status = NULL;
    AUTO_JSON *report = NULL;
    AUTO_JSON *plan = NULL;
    char url[SERVE_URL] = "";
    json_t *v = NULL;
    int r = client_status(c, true, &status, err);

    if (r < 0 || !str_eq(format_text(status, "framework"), SERVE_FRAMEWORK))
        return r;
    report = serve_report_of(c, 0);
    (void)serve_plan_of(c, 0, &plan, NULL);
    (void)serve_url(status, plan, url);
    serve_direct_first(report, url, sizeof(url));
    r = json_make(&v, err, "{s:o, s:s, s:s, s:o, s:o, s:I, s:I}", "name",
                  json_text(format_text(status, "name")), "job", client_id(c), "state",
                  format_text(status, "state"), "url", *url ? json_string(url) : json_null(),
                  "versions", versions_of(plan), "replicas", (json_int_t)count_replicas(status),
                  "created", (json_int_t)json_int_or(status, "created", 0));
    return r < 0 ? r : json_array_append_new(arg, v) < 0 ? err_oom(err) : 0;
}

static int serve_list_work(struct job_call *x, struct err *err)
{
    AUTO_JSON *list = json_array();
    int r =
        list ? job_each(x, JOB_EACH_RUNNING, SIZE_MAX, serve_list_add, list, err) : err_oom(err);

    if (r < 0)
        return r;
    return x->globals->json ? doc_print(err, "{s:O}", "deployments", list)
                            : doc_table(list, columns, COUNT_OF(columns), err);
}

/* clang-format off */
const struct cli_verb verb_serve_list = {
    .name = "list", .summary = "list deployments", JOB_VERB(serve_list_work),
    .text = "Lists the deployments that run, with their addresses.",
    .opts = job_where_opts, .args_size = sizeof(struct job_where),
};
/* clang-format on */
