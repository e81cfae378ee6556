/* agent.h - what runs in a container: holds ports, starts and reaps tasks, ships their output.
 *
 * It is started by whoever obtained the container, connects to the job's master and does what the
 * master says (proto/agent.proto). One loop, no threads. It is a child subreaper: whatever its
 * tasks leave behind becomes its child and is ended. When the master is gone it ends everything,
 * cleans up and leaves; with a lease, tasks continue for that long while it looks for the master or
 * its successor. When told to leave, it saves output and results first. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

#define AGENT_UNSAVED 73 /* exit code: something could not be saved, and no master was told */

/* All borrowed, until agent_run() returns. */
struct agent_options {
    const char *join_file; /* see join.h; or NULL with … */
    bool container;        /* … in a container of YARN: platform/agent_container.h; or with … */
    const char *client; /* … a directory made by the client, which does the same. We end when our
                           standard input does: the client holds the other end */
    uint32_t number;    /* the one that the master gave it */
    const char *node;   /* name of the machine; NULL: its host name */
    const char *host;   /* numeric address of its tasks; NULL: the one it reached the master from */
};

/* Runs an agent from beginning to end, with a loop of its own. Returns 0 (or AGENT_UNSAVED) when it
 * was told to leave, 128 + N after signal N, else a negative errno; all tasks have ended. Main
 * thread. */
int agent_run(const struct agent_options *o, struct err *err);
