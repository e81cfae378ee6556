/* kill.c - `ydl kill`: ends a job at once. */
#include "client/job_actions.h"
#include "cmd/job/verbs.h"

static int kill_work(struct job_call *x, struct err *err)
{
    return act_end(x, "kill", "/v1/kill", err);
}

/* clang-format off */
const struct cli_verb verb_kill = {
    .name = "kill", .summary = "kill a job at once", .operands = "JOB", .least = 1, .most = 1,
    .ask = "Which job?", .opts = job_where_opts, .args_size = sizeof(struct job_where),
    JOB_VERB_ON(kill_work),
    .text = "Kills every task of a job without asking it to end, and waits until the job has "
            "ended.",
    CLI_EXAMPLES({ "ydl kill last", "kill the newest job" }),
    CLI_SECTIONS({ "JSON OUTPUT",
        "job\tThe job's id.\n"
        "done\tkill, or nothing if the job had already ended.\n"
        "state, exit\tHow it ended." }),
};
/* clang-format on */
