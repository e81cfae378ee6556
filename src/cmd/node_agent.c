/* node_agent.c - `ydl-node agent`: what runs in a container and looks after its tasks. */
#include "agent/agent.h"
#include "cmd/verbs.h"

struct args {
    const char *join, *node, *host;
    unsigned number;
};

/* clang-format off */
static const struct cli_opt opts[] = {
    { "join",   0, CLI_TEXT,  offsetof(struct args, join),   NULL, "FILE",
      "the file that says where the master is, and with which key to speak to it" },
    { "number", 0, CLI_COUNT, offsetof(struct args, number), "0",  "N",
      "the number that the master gave to this agent" },
    { "node",   0, CLI_TEXT,  offsetof(struct args, node),   NULL, "NAME",
      "the name of this machine, instead of what the system says" },
    { "host",   0, CLI_TEXT,  offsetof(struct args, host),   NULL, "ADDRESS",
      "the numeric address by which others reach its tasks" },
    { 0 },
};
/* clang-format on */

static int run(struct cli *c, struct err *err)
{
    const struct args *args = c->args;
    struct agent_options o = {
        .join_file = args->join, .number = args->number, .node = args->node, .host = args->host
    };

    if (!args->join)
        return cli_bad(err, "--join is missing");
    return agent_run(&o, err);
}

const struct cli_verb verb_node_agent = {
    .name = "agent",
    .summary = "run the tasks of a container, as a job's master says",
    .text =
        "Dials the master of a job and does what it says: holds ports, puts files in place,\n"
        "starts tasks, sends their output, ends them and everything they leave behind. It ends\n"
        "all of them when the master is gone. FILE must be readable by its owner alone.",
    .opts = opts,
    .args_size = sizeof(struct args),
    .run = run,
};
