/* scale.c - `ydl scale`: changes how many containers a role has. */
#include "client/job_actions.h"
#include "cmd/job/verbs.h"
#include "job/spec/spec.h"
#include "wire/http.h"

#include <string.h>

/* "worker=4" into its halves; *ret_role is the caller's. */
static int scale_take_apart(const char *word, char **ret_role, int64_t *ret_count, struct err *err)
{
    const char *equals = strchr(word, '=');

    if (!equals || equals == word || str_to_i64(equals + 1, 0, SPEC_TASKS_MAX, ret_count) < 0)
        return cli_bad(err, "'%s' is not ROLE=COUNT, such as worker=4", word);
    *ret_role = strndup(word, (size_t)(equals - word));
    return *ret_role ? 0 : err_oom(err);
}

static int scale_work(struct job_call *x, struct err *err)
{
    AUTO_FREE char *role = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_BUF target = { .max = KIB };
    json_t *extra = NULL;
    int64_t count = 0;
    int r = scale_take_apart(x->cli->operands[1], &role, &count, err);

    if (r < 0)
        return r;
    if (buf_add_str(&target, "/v1/scale?role=") < 0 || http_quote(&target, role) < 0 ||
        buf_printf(&target, "&count=%lld", (long long)count) < 0 || !buf_text(&target))
        return err_oom(err);
    text = str_printf("%s: changing %s to %lld container%s", client_id(x->client), role,
                      (long long)count, count == 1 ? "" : "s");
    r = text ? json_make(&extra, err, "{s:s, s:I}", "role", role, "count", (json_int_t)count)
             : err_oom(err);
    return r < 0 ? r : act_request(x, "scale", buf_text(&target), text, extra, err);
}

/* clang-format off */
const struct cli_verb verb_scale = {
    .name = "scale", .summary = "change the number of containers of a role",
    .operands = "JOB ROLE=COUNT", .least = 2, .most = 2,
    .ask = "Which job, and how many containers?", .opts = job_where_opts,
    .args_size = sizeof(struct job_where), JOB_VERB_ON(scale_work),
    .text = "Changes how many containers a role of a running job has. New containers are "
            "requested and their tasks started; surplus tasks are stopped, highest ranks first. "
            "If the framework cannot change its size while it runs, all tasks are restarted, or "
            "the change is refused if the job must not be restarted.",
    CLI_EXAMPLES({ "ydl scale mnist worker=4", "change to four workers" }),
    CLI_SECTIONS(
      { "EXIT STATUS",
        "0\tThe change was requested.\n"
        "1\tThe job has ended or is ending, or cannot be changed to this size.\n"
        "75\tThe job is not running yet, or tasks of an earlier change are still being stopped: "
        "try again later." },
      { "JSON OUTPUT",
        "job\tThe job's id.\n"
        "done\tscale, or nothing if the job has ended.\n"
        "role, count\tThe role and its new number of containers." }),
};
/* clang-format on */
