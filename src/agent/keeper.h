/* keeper.h - the process above an agent in a container, or beside the client.
 *
 * A NodeManager starts a container again, in its place, when it failed; but one that ended by
 * SIGKILL it takes for killed on purpose, and gives up. So a process of next to nothing stands
 * above the agent: when the agent is killed, whoever did it, it ends what the agent left behind
 * and exits with a code of its own, which the NodeManager is told to restart.
 *
 * The launch script then makes its links to files once more, by `ln -sf`: where one to a directory
 * (an archive that was unpacked) is there already, the new one would land inside that directory,
 * in the NodeManager's cache, and spoil it for everybody. So those are removed before. */
#pragma once
#include "base/err.h"

#define KEEPER_AGAIN 98 /* exit code: the agent was killed, start it again */

/* Runs fn(arg) in a child, and in this process waits for its end: returns its exit code, or
 * KEEPER_AGAIN when a signal ended it; in the child, fn's result. To be called before anything is
 * open or running. `links`: the directory with the launch script's links; NULL where there is no
 * such script, and no link is to be touched. */
int keeper_run(int (*fn)(void *arg), void *arg, const char *links, struct err *err);
