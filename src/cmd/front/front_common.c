/* front_common.c - options and texts of every front end; see fronts.h. */
#include "cmd/front/fronts.h"

static const char exits[] =
    "0\tThe job succeeded.\n"
    "2\tThe command line, or a file that it names, is wrong; nothing was started.\n"
    "69\tThe cluster cannot be reached.\n"
    "75\tTry again later: the job waited too long for resources, or lost nodes too often.\n"
    "130\tInterrupted.\n\n"
    "A job that failed gives the exit status of the task that failed first. See ydl-run(1).";

const char front_variables[] =
    "HADOOP_CONF_DIR\tThe directory with the configuration of the cluster.\n"
    "YDL_ON\tWhere jobs run by default: local or yarn.\n"
    "YDL_PLAN\tIf set to 1, the plan is printed and nothing is started; see ydl-plan(1).\n"
    "YDL_SAY\tIf set to 1, the equivalent ydl command is shown, as with -v.";

const struct cli_section front_sections[] = { { "ENVIRONMENT", front_variables },
                                              { "EXIT STATUS", exits },
                                              { 0 } };

static const char *const places[] = { "local", "yarn", NULL };

/* clang-format off */
#define PLAIN                                                                                       \
    { "--conf", .meta = "DIR",                                                                      \
      .help = "use the Hadoop configuration in DIR instead of $HADOOP_CONF_DIR",                    \
      .same_as = "--conf" },                                                                        \
    { "--json", .help = "print facts and errors as JSON on standard output",                        \
      .same_as = "--json" },                                                                        \
    { "-v", .also = { "--verbose" },                                                                \
      .help = "print more messages, and the equivalent ydl command", .same_as = "--verbose" },      \
    { "-q", .also = { "--quiet" }, .help = "print no progress, notes or warnings",                  \
      .same_as = "--quiet" },                                                                       \
    { "--version", .help = "print the version" }

const struct cli_opt common_plain[] = {
    PLAIN,
    { 0 },
};

const struct cli_opt common_job[] = {
    { "--on", .meta = "PLACE", .help = "where to run: on this machine or on the cluster",
      .choices = places },
    { "--detach", .help = "submit the job, print its id and exit" },
    { "--name", .meta = "NAME", .help = "name of the job", .same_as = "--name" },
    { "--docker-image", .meta = "IMAGE", .help = "container image to run tasks in",
      .same_as = "--image" },
    { "--node-label", .meta = "LABEL", .help = "run only on nodes with this label",
      .same_as = "--label" },
    { "--queue", .meta = "QUEUE", .help = "queue to submit to", .same_as = "--queue" },
    { "--gpus", .meta = "N", .help = "number of GPUs per worker", .type = CLI_I64,
      .same_as = "--gpus" },
    { "--env", .meta = "NAME=VALUE", .help = "environment variable for all tasks", .type = CLI_LIST,
      .same_as = "--env" },
    { "--files", .meta = "FILE[#NAME]",
      .help = "file or directory to put into each task's working directory", .type = CLI_LIST,
      .same_as = "--files" },
    { "--archives", .meta = "FILE[#NAME]",
      .help = "archive to unpack into each task's working directory", .type = CLI_LIST,
      .same_as = "--archives" },
    { "--venv", .meta = "DIR",
      .help = "directory of the Python environment to use: its programs come first in PATH",
      .same_as = "--venv" },
    { "--output", .meta = "[DIR=]TARGET", .help = "where to save what tasks write to $YDL_OUT",
      .type = CLI_LIST, .same_as = "--output" },
    PLAIN,
    { 0 },
};
/* clang-format on */
