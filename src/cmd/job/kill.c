/* kill.c - `ydl kill`: ends a job at once. */
#include "client/job_actions.h"
#include "cmd/job/verbs.h"

static int kill_work(struct job_call *x, struct err *err)
{
    return act_end(x, "kill", "/v1/kill", err);
}

static int kill_run(struct cli *c, struct err *err)
{
    return job_run_on(c, kill_work, err);
}

static const struct cli_example examples[] = {
    { "ydl kill last", "kill the newest job" },
    { 0 },
};

static const struct cli_section sections[] = {
    { "JSON OUTPUT", "job\tThe job's id.\n"
                     "done\tkill, or nothing if the job had already ended.\n"
                     "state, exit\tHow it ended." },
    { 0 },
};

const struct cli_verb verb_kill = {
    .name = "kill",
    .summary = "kill a job at once",
    .text =
        "Kills every task of a job without asking it to end, and waits until the job has ended.",
    .opts = job_where_opts,
    .args_size = sizeof(struct job_where),
    .operands = "JOB",
    .least = 1,
    .most = 1,
    .examples = examples,
    .sections = sections,
    .ask = "Which job?",
    .run = kill_run,
};
