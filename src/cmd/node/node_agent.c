/* node_agent.c - `ydl-node agent`: what runs in a container and looks after its tasks. */
#include "agent/agent.h"
#include "agent/supervisor.h"
#include "cmd/verbs.h"

struct args {
    const char *join, *client, *node, *host;
    unsigned number;
    bool container;
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
    { "container", 0, CLI_FLAG, offsetof(struct args, container), NULL, NULL,
      "be told everything by the YARN container that it runs in" },
    { "client", 0, CLI_TEXT, offsetof(struct args, client), NULL, "DIR",
      "be told the same by a directory of ydl run's, and end when standard input does" },
    { 0 },
};
/* clang-format on */

struct run {
    struct agent_options o;
    struct err *err;
};

static int node_agent_run_agent(void *arg)
{
    struct run *r = arg;

    return agent_run(&r->o, r->err);
}

static int node_agent_run(struct cli *c, struct err *err)
{
    const struct args *args = c->args;
    struct run r = { .o = { .join_file = args->join,
                            .container = args->container,
                            .client = args->client,
                            .number = args->number,
                            .node = args->node,
                            .host = args->host },
                     .err = err };

    if ((args->join != NULL) + args->container + (args->client != NULL) != 1)
        return cli_bad(err, "either --join, --container or --client says whose it is");
    if (args->join)
        return node_agent_run_agent(&r);
    return supervisor_run(node_agent_run_agent, &r, args->container ? "." : NULL, err);
}

const struct cli_verb verb_node_agent = {
    .name = "agent",
    .summary = "run the tasks of a container, as a job's master says",
    .text =
        "Dials the master of a job and does what it says: holds ports, puts files in place,\n"
        "starts tasks, sends their output, ends them and everything they leave behind. It ends\n"
        "all of them when the master is gone. FILE must be readable by its owner alone.\n"
        "With --container the NodeManager's variables and the container's credentials say\n"
        "what FILE would; tasks then go on without a master until a new one is there, for as\n"
        "long as the last one allowed. --client is the same for tasks on the machine of who\n"
        "started the job: they run in the working directory.",
    .opts = opts,
    .args_size = sizeof(struct args),
    .run = node_agent_run,
};
