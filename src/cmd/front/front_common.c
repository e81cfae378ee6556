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
#define JOB .group = CLI_ADDED, .feature = COMMON_JOB
#define PLAIN .group = CLI_ADDED, .feature = COMMON_PLAIN

const struct cli_opt common_opts[] = {
    { "--on", .meta = "PLACE", .help = "where to run", .choices = places, JOB },
    { "--detach", .help = "submit the job, print its id and exit", JOB },
    { "--name", .meta = "NAME", .help = "name of the job", .same_as = "--name", JOB },
    { "--docker-image", .meta = "IMAGE", .help = "container image to run tasks in",
      .same_as = "--image", JOB },
    { "--node-label", .meta = "LABEL", .help = "run only on nodes with this label",
      .same_as = "--label", JOB },
    { "--queue", .meta = "QUEUE", .help = "queue to submit to", .same_as = "--queue", JOB },
    { "--gpus", .meta = "N", .help = "number of GPUs per worker", .type = CLI_I64,
      .same_as = "--gpus", JOB },
    { "--env", .meta = "NAME=VALUE", .help = "environment variable for all tasks", .type = CLI_LIST,
      .same_as = "--env", JOB },
    { "--files", .meta = "FILE[#NAME]",
      .help = "file or directory to put into each task's working directory", .type = CLI_LIST,
      .same_as = "--files", JOB },
    { "--archives", .meta = "FILE[#NAME]",
      .help = "archive to unpack into each task's working directory", .type = CLI_LIST,
      .same_as = "--archives", JOB },
    { "--venv", .meta = "DIR",
      .help = "directory of the Python environment to use: its programs come first in PATH",
      .same_as = "--venv", JOB },
    { "--output", .meta = "[DIR=]TARGET", .help = "where to save what tasks write to $YDL_OUT",
      .type = CLI_LIST, .same_as = "--output", JOB },
    { "--publish", .meta = "NAME", .help = "publish what tasks write to $YDL_OUT as a model",
      .same_as = "--publish", JOB },
    { "--publish-path", .meta = "DIR", .help = "publish this directory of it",
      .fallback = "all of it", .same_as = "--publish-path", JOB },
    { "--registry", .meta = "DIR", .help = "registry of models", .fallback = "as 'ydl model'",
      .same_as = "--registry", JOB },
    { "--conf", .meta = "DIR", .help = "cluster configuration", .fallback = "$HADOOP_CONF_DIR",
      .same_as = "--conf", PLAIN },
    { "--json", .help = "print results and errors as JSON", .same_as = "--json", PLAIN },
    { "-v", .also = { "--verbose" },
      .help = "print more messages, and the equivalent ydl command", .same_as = "--verbose",
      PLAIN },
    { "-q", .also = { "--quiet" }, .help = "print no progress, notes or warnings",
      .same_as = "--quiet", PLAIN },
    { "--version", .help = "print the version", PLAIN },
    { 0 },
};
/* clang-format on */
