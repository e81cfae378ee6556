/* node_init.c - `ydl-node init`: process 1 of a container that an agent runs by docker. */
#include "agent/container_init.h"
#include "cmd/verbs.h"

/* clang-format off */
static const struct cli_opt opts[] = {
    { "socket", 0, CLI_TEXT, offsetof(struct init_options, socket), NULL, "FILE",
      "the task's socket, whose end is the container's" },
    { "env",    0, CLI_TEXT, offsetof(struct init_options, env),    NULL, "FILE",
      "its environment" },
    { "out",    0, CLI_TEXT, offsetof(struct init_options, out),    NULL, "FILE",
      "where its output goes" },
    { "err",    0, CLI_TEXT, offsetof(struct init_options, err),    NULL, "FILE",
      "where its errors go" },
    { "cwd",    0, CLI_TEXT, offsetof(struct init_options, cwd),    NULL, "DIR",
      "where it runs" },
    { "end",    0, CLI_TEXT, offsetof(struct init_options, end),    NULL, "FILE",
      "where to write how it ended" },
    { 0 },
};
/* clang-format on */

static int node_init_run(struct cli *c, struct err *err)
{
    struct init_options o = *(const struct init_options *)c->args;

    if (!o.socket || !o.env || !o.out || !o.err || !o.cwd || !o.end)
        return cli_bad(err, "an option is missing");
    o.words = c->operands;
    return init_run(&o, err);
}

const struct cli_verb verb_node_init = {
    .name = "init",
    .summary = "run a task as process 1 of its container: started by an agent, not by people",
    .hidden = true,
    .opts = opts,
    .args_size = sizeof(struct init_options),
    .operands = "COMMAND [ARGUMENT…]",
    .least = 1,
    .most = CLI_ANY,
    .command_follows = true,
    .run = node_init_run,
};
