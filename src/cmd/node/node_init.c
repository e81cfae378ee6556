/* node_init.c - `ydl-node init`: process 1 of a container that an agent runs by docker. */
#include "agent/container_init.h"
#include "cmd/verbs.h"

static int node_init_run(struct cli *c, struct err *err)
{
    struct init_options o = *(const struct init_options *)c->args;

    if (!o.socket || !o.env || !o.out || !o.err || !o.cwd || !o.end)
        return cli_bad(err, "all options are needed");
    o.words = c->operands;
    return init_run(&o, err);
}

/* clang-format off */
const struct cli_verb verb_node_init = {
    .name = "init", .summary = "run a task as process 1 of its container (started by an agent)",
    .operands = "COMMAND [ARGUMENT…]", .least = 1, .most = CLI_ANY, .command_follows = true,
    .hidden = true, .run = node_init_run,
    CLI_OPTS(struct init_options,
        { "socket", 0, CLI_TEXT, offsetof(struct init_options, socket), NULL, "FILE",
          "socket of the task; the container ends when it is closed" },
        { "env", 0, CLI_TEXT, offsetof(struct init_options, env), NULL, "FILE",
          "file with the environment of the task" },
        { "out", 0, CLI_TEXT, offsetof(struct init_options, out), NULL, "FILE",
          "file for standard output" },
        { "err", 0, CLI_TEXT, offsetof(struct init_options, err), NULL, "FILE",
          "file for standard error" },
        { "cwd", 0, CLI_TEXT, offsetof(struct init_options, cwd), NULL, "DIR",
          "working directory" },
        { "end", 0, CLI_TEXT, offsetof(struct init_options, end), NULL, "FILE",
          "file for the exit status" }),
};
/* clang-format on */
