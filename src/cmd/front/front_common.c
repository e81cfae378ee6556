/* front_common.c - see front_common.h */
#include "cmd/front/front_common.h"

static const char *const places[] = { "local", "yarn", NULL };

/* clang-format off */
#define PLAIN                                                                                       \
    { { "--conf" }, "DIR", "read the Hadoop configuration in DIR instead of $HADOOP_CONF_DIR",      \
      .word = "--conf" },                                                                           \
    { { "--json" }, NULL, "print facts and errors as JSON on standard output", .word = "--json" },  \
    { { "-v", "--verbose" }, NULL, "say more, and show the same command in ydl's own words",        \
      .word = "--verbose" },                                                                        \
    { { "-q", "--quiet" }, NULL, "print no progress, notes or warnings", .word = "--quiet" },       \
    { { "--version" }, NULL, "print the version" }

const struct legacy_option common_plain[] = {
    PLAIN,
    { .names = { NULL } },
};

const struct legacy_option common_job[] = {
    { { "--on" }, "PLACE", "run on this machine or on the cluster", .choices = places },
    { { "--detach" }, NULL, "start the job, print its id and leave it to itself" },
    { { "--name" }, "NAME", "what the job is called", .word = "--name" },
    { { "--docker-image" }, "IMAGE", "the container image that tasks run in", .word = "--image" },
    { { "--node-label" }, "LABEL", "run on nodes that have this label", .word = "--label" },
    { { "--queue" }, "QUEUE", "the queue to submit to", .word = "--queue" },
    { { "--gpus" }, "N", "number of GPUs of a worker's container", .number = true,
      .word = "--gpus" },
    { { "--env" }, "NAME=VALUE", "environment variables of every task", .list = true,
      .word = "--env" },
    { { "--files" }, "FILE[#NAME]", "files and directories to put beside each task", .list = true,
      .word = "--files" },
    { { "--archives" }, "FILE[#NAME]", "archives to unpack beside each task", .list = true,
      .word = "--archives" },
    { { "--venv" }, "DIR", "a Python environment whose programs come first in PATH",
      .word = "--venv" },
    { { "--output" }, "[DIR=]TARGET", "where to put what tasks leave in $YDL_OUT", .list = true,
      .word = "--output" },
    PLAIN,
    { .names = { NULL } },
};
/* clang-format on */
