/* restart.c - `ydl restart`: starts one task of a job again, or all. */
#include "client/job_actions.h"
#include "cmd/job/verbs.h"

static int restart_work(struct job_call *x, struct err *err)
{
    const char *task = x->cli->n_operands > 1 ? x->cli->operands[1] : NULL;
    AUTO_FREE char *target = str_printf("/v1/restart%s%s", task ? "?task=" : "", task ? task : "");
    AUTO_FREE char *text =
        str_printf("%s: restarting %s", client_id(x->client), task ? task : "all tasks");
    json_t *extra = NULL;
    int r = task ? act_task(task, err) : 0;

    if (r < 0)
        return r;
    r = target && text ? json_make(&extra, err, "{s:o}", "task", json_text(task)) : err_oom(err);
    return r < 0 ? r : act_request(x, "restart", target, text, extra, err);
}

/* clang-format off */
const struct cli_verb verb_restart = {
    .name = "restart", .summary = "restart one task of a job, or all", .operands = "JOB [TASK]",
    .least = 1, .most = 2, .ask = "Which job?", .opts = job_where_opts,
    .args_size = sizeof(struct job_where), JOB_VERB_ON(restart_work),
    .text = "Ends one task of a running job and starts it again in its place, with the same rank "
            "and port; without TASK, restarts all tasks. This does not count as a failure.",
    CLI_EXAMPLES({ "ydl restart mnist worker:1", "restart one task in place" },
                 { "ydl restart mnist", "restart all tasks" }),
    CLI_SECTIONS(
      { "EXIT STATUS",
        "0\tThe restart was requested.\n"
        "1\tThe job has ended or is ending, or has no such task.\n"
        "75\tThe job or the task is not running yet: try again later." },
      { "JSON OUTPUT",
        "job\tThe job's id.\n"
        "done\trestart, or nothing if the job has ended.\n"
        "task\tThe task, or null for all." }),
};
/* clang-format on */
