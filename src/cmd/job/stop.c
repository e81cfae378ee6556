/* stop.c - `ydl stop`: ends a job, with its grace. */
#include "client/job_actions.h"
#include "cmd/job/verbs.h"

struct args {
    struct job_where where;
    const char *grace;
};

static int stop_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_FREE char *target = NULL;
    int64_t ms = 0;

    if (!a->grace)
        return act_end(x, "stop", "/v1/stop", err);
    if (str_to_ms(a->grace, &ms) < 0)
        return cli_bad(err, "option '--grace': '%s' is not a duration such as 30s, 5m or 1h30m",
                       a->grace);
    target = str_printf("/v1/stop?grace_ms=%lld", (long long)ms);
    return target ? act_end(x, "stop", target, err) : err_oom(err);
}

/* clang-format off */
const struct cli_verb verb_stop = {
    .name = "stop", .summary = "stop a job and let it clean up", .operands = "JOB", .least = 1,
    .most = 1, .ask = "Which job?", JOB_VERB_ON(stop_work),
    .text = "Asks every task of a job to end, kills those that have not ended after the job's "
            "grace time, and waits until the job has ended.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "grace", 0, CLI_TEXT, offsetof(struct args, grace), NULL, "DURATION",
          "time between the request to stop and the kill (default: as the job says)" }),
    CLI_EXAMPLES({ "ydl stop last", "stop the newest job" },
                 { "ydl stop mnist --grace 5m",
                   "stop a job, and give it five minutes to save its state" }),
    CLI_SECTIONS({ "JSON OUTPUT",
        "job\tThe job's id.\n"
        "done\tstop, or nothing if the job had already ended.\n"
        "state, exit\tHow it ended." }),
};
/* clang-format on */
