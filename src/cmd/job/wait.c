/* wait.c - `ydl wait`: waits for a job's end. */
#include "client/job_wait.h"
#include "cmd/job/verbs.h"

struct args {
    struct job_where where;
    int64_t timeout;
};

static int wait_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);

    return wait_for_end(x, a->timeout, err);
}

/* clang-format off */
const struct cli_verb verb_wait = {
    .name = "wait", .summary = "wait for a job to end", .operands = "JOB", .least = 1, .most = 1,
    .ask = "Which job?", JOB_VERB_ON(wait_work),
    .text = "Waits until a job has ended and exits with its status. If the job failed, prints "
            "why.\n\n"
            "A job is named by its id, by its name if that is unique, or by 'last', the newest "
            "job.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "timeout", 0, CLI_MS, offsetof(struct args, timeout), NULL, "DURATION",
          "stop waiting after DURATION, with exit status 124; the job goes on" }),
    CLI_EXAMPLES({ "ydl wait last && echo done", "wait until the newest job has succeeded" },
                 { "ydl wait mnist --timeout 10m", "wait at most ten minutes" }),
    CLI_SECTIONS(
      { "EXIT STATUS",
        "That of the job, see ydl-run(1); 124 if it is still running after --timeout." },
      { "JSON OUTPUT", "The document of ydl-status(1)." }),
};
/* clang-format on */
