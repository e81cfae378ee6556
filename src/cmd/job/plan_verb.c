/* plan_verb.c - `ydl plan`: what `ydl run` would do. */
#include "cmd/job/options.h"
#include "cmd/job/verbs.h"

static int run(struct cli *c, struct err *err)
{
    AUTO_SPEC s = { 0 };
    const struct framework *fw = NULL;
    int r = options_spec(c, &s, &fw, err);

    return r != 0 ? r : options_plan(c, &s, fw, err);
}

static const struct cli_example examples[] = {
    { "ydl plan -n 2 -s 1 --framework mxnet -- python train.py", "what each task would get" },
    { "ydl plan -f job.yaml --json", "the same for a program" },
    { 0 },
};

const struct cli_verb verb_plan = {
    .name = "plan",
    .summary = "say what a job would do, and check it",
    .text = "Checks a job as run does and prints everything that would happen: of each task the\n"
            "command, the environment, the files, ports and resources. Nothing is started and\n"
            "nothing is written. Addresses and ports are made up.\n\n"
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
