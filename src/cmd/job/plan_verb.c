/* plan_verb.c - `ydl plan`: what `ydl run` would do. */
#include "cmd/job/options.h"
#include "cmd/job/plan_print.h"
#include "cmd/job/verbs.h"

static int work(struct job_call *x, struct err *err)
{
    AUTO_SPEC s = { 0 };
    const struct framework *fw = NULL;
    int r = options_spec(x->cli, &s, &fw, err);

    return r != 0 ? r : plan_print(x, &s, fw, err);
}

static int run(struct cli *c, struct err *err)
{
    return job_run(c, work, err);
}

static const struct cli_example examples[] = {
    { "ydl plan -n 2 -s 1 --framework mxnet -- python train.py", "what each task would get" },
    { "ydl plan -f job.yaml --json", "the same for a program" },
    { 0 },
};

const struct cli_verb verb_plan = {
    .name = "plan",
    .summary = "say what a job would do, and check it",
    .text =
        "Checks a job as run does and prints everything that would happen: of each task the\n"
        "command, the environment, the files, ports and resources. Nothing is started and\n"
        "nothing is written. Addresses and ports are made up.\n\n"
        "With --on yarn also the files that would be sent there are listed, and the cluster is\n"
        "asked whether it could hold the job; without one at hand that is left out.\n\n"
        "Mistakes in the job are printed all at once, and the exit status is 2.",
    .opts = options_table,
    .args_size = sizeof(struct options),
    .operands = "[COMMAND…]",
    .most = CLI_ANY,
    .complete = CLI_COMMANDS,
    .command_follows = true,
    .examples = examples,
    .sections = options_sections,
    .run = run,
};
