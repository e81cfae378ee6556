/* serve_scale.c - `ydl serve scale`: more replicas, or fewer. */
#include "cmd/serve/serve_call.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <string.h>

#define MOST 256 /* as many as a gateway takes */

/* The gateway hears of it first: it sends nothing to a replica that is about to go. */
static int tell_size(struct job_call *x, const char *group, const char *count, struct err *err)
{
    AUTO_FREE char *target = str_printf("/v1/kv/" DEPLOYMENT_SIZE "%s", group);

    return target ? client_put_now(x->client, target, count, strlen(count), err) : err_oom(err);
}

static int scale_group(struct job_call *x, const char *group, const char *count, struct err *err)
{
    AUTO_FREE char *target = str_printf("/v1/scale?role=%s&count=%s", group, count);
    AUTO_FREE char *text = str_printf("%s: changing to %s replica%s", x->cli->operands[0], count,
                                      str_eq(count, "1") ? "" : "s");
    json_t *extra = NULL;
    int64_t n = 0;
    int r = target && text ? tell_size(x, group, count, err) : err_oom(err);

    if (r == 0)
        r = str_to_i64(count, 0, MOST, &n);
    if (r == 0)
        r = json_make(&extra, err, "{s:s, s:I}", "group", group, "replicas", (json_int_t)n);
    return r < 0 ? r : act_request(x, "scale", target, text, extra, err);
}

static int serve_scale_work(struct job_call *x, struct err *err)
{
    const char *count = x->cli->operands[1];
    AUTO_JSON *status = NULL;
    AUTO_JSON *groups = NULL;
    int64_t n = 0;
    int r;

    if (str_to_i64(count, 0, MOST, &n) < 0)
        return cli_bad(err, "'%s' is not a number of replicas from 0 to %d", count, MOST);
    r = serve_find(x, &status, err);
    if (r < 0)
        return r;
    groups = serve_groups(status);
    if (json_array_size(groups) == 0)
        return err_set(err, -ENOENT, "'%s' has no replicas", x->cli->operands[0]);
    return scale_group(x, format_text(json_array_get(groups, 0), "group"), count, err);
}

/* clang-format off */
const struct cli_verb verb_serve_scale = {
    .name = "scale", .summary = "change the number of replicas", .operands = "DEPLOYMENT N",
    .least = 2, .most = 2, .ask = "Which deployment, and how many replicas?",
    JOB_VERB(serve_scale_work),
    .text = "Starts more replicas, or stops those with the highest numbers when they have answered "
            "what they have. With 0 nothing answers until there are some again.",
    .opts = job_where_opts, .args_size = sizeof(struct job_where),
    CLI_EXAMPLES({ "ydl serve scale resnet 4", "change to four replicas" }),
};
/* clang-format on */
