/* agent.h - what runs in a container: holds ports, starts and reaps tasks, ships their output.
 *
 * It is a child of whoever got the container, dials the job's master and does what that says
 * (proto/agent.proto). One loop, no threads. It is a child subreaper: whatever its tasks leave
 * behind becomes its child and is ended. When the master is gone it ends everything, cleans up and
 * leaves; with a lease, tasks go on for so long while it looks for the master, or for the one that
 * comes after it. Told to leave, it saves output and results first. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

#define AGENT_UNSAVED 73 /* exit code: not all could be saved, and no master has heard of it */

/* All borrowed, until agent_run() returns. */
struct agent_options {
    const char *join_file; /* see join.h; or NULL with … */
    bool container; /* … YARN's container telling everything: agent_container.h; or with … */
    const char *client; /* … a directory of the client's: the same. Standard input is our life
                           then: who holds the other end is the client */
    uint32_t number;    /* the one that the master gave it */
    const char *node;   /* name of the machine; NULL: what the system says */
    const char *host; /* numeric address of its tasks for others; NULL: as it reached the master */
};

/* Does all of it; makes the loop. Returns 0 (or AGENT_UNSAVED) when it was told to leave and 128 +
 * N after the signal N, with everything ended; else a negative errno. Main thread. */
int agent_run(const struct agent_options *o, struct err *err);
