/* node_agent.c - `ydl-node agent`: what runs in a container and looks after its tasks. */
#include "agent/agent.h"
#include "agent/supervisor.h"
#include "cmd/verbs.h"

struct args {
    const char *join, *client, *node, *host;
    unsigned number;
    bool container;
};

struct run {
    struct agent_options o;
    struct err *err;
};

static int node_agent_work(void *arg)
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
        return cli_bad(err, "one of --join, --container and --client is needed");
    if (args->join)
        return supervisor_guard(node_agent_work, &r, err);
    return supervisor_run(node_agent_work, &r, args->container ? "." : NULL, err);
}

/* clang-format off */
const struct cli_verb verb_node_agent = {
    .name = "agent", .summary = "run the tasks of a container for the master of a job",
    .run = node_agent_run,
    .text = "Connects to the master of a job and carries out its requests: reserves ports, puts "
            "files in place, starts tasks, sends their output, ends them and all processes they "
            "leave behind. It ends all tasks when the master is gone. FILE must be readable only "
            "by its owner. With --container, the NodeManager's variables and the container's "
            "credentials replace FILE; tasks then go on without a master until a new one "
            "connects, for as long as the last one allowed. --client is the same for tasks on the "
            "machine that started the job: they run in the working directory.",
    CLI_OPTS(struct args,
        { "join", 0, CLI_TEXT, offsetof(struct args, join), NULL, "FILE",
          "file with the address and the key of the master" },
        { "number", 0, CLI_COUNT, offsetof(struct args, number), "0", "N",
          "number that the master gave to this agent" },
        { "node", 0, CLI_TEXT, offsetof(struct args, node), NULL, "NAME", "name of this machine",
          .fallback = "the system's host name" },
        { "host", 0, CLI_TEXT, offsetof(struct args, host), NULL, "ADDRESS",
          "numeric address at which others reach its tasks" },
        { "container", 0, CLI_FLAG, offsetof(struct args, container), NULL, NULL,
          "take all settings from the YARN container" },
        { "client", 0, CLI_TEXT, offsetof(struct args, client), NULL, "DIR",
          "take all settings from DIR, made by ydl run, and end when standard input ends" }),
};
/* clang-format on */
