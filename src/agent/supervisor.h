/* supervisor.h - the processes above an agent: in a container or beside the client these, and for
 * an agent of a job on one machine just the guard.
 *
 *     NodeManager ──► keeper ──► guard ──► agent ──► tasks, and whatever they start
 *                     └ its group ┘└──── a group of their own
 *
 * A NodeManager restarts a failed container in place; but it takes one that ended by SIGKILL for
 * killed on purpose and gives up. So two tiny processes stand above the agent: when the agent is
 * killed, by whomever, they end what it left behind and exit with a code that the NodeManager is
 * told to retry.
 *
 * What ends a container ends the keeper and its group. The guard is in another one, and inherits
 * whatever becomes an orphan below it: when the keeper is killed, or the agent stands still
 * (SIGSTOP) while its container is ended, it sees to it that nothing is left. Each of the three can
 * be killed: those below hear of it by SIGTERM, those above by waiting for them.
 *
 * The launch script then makes its links to files once more, by `ln -sf`: where one to a directory
 * (an archive that was unpacked) is there already, the new one would land inside that directory,
 * in the NodeManager's cache, and spoil it for everybody. So those are removed before. */
#pragma once
#include "base/err.h"

#define SUPERVISOR_AGAIN 98 /* exit code: the agent was killed, start it again */

/* Runs fn(arg) in a child, and in this process waits for its end: returns its exit code, or
 * SUPERVISOR_AGAIN when a signal ended it; in the child, fn's result. To be called before anything
 * is open or running. `links`: the directory with the launch script's links; NULL where there is no
 * such script, and no link is to be touched. */
int supervisor_run(int (*fn)(void *arg), void *arg, const char *links, struct err *err);

/* Runs fn(arg) in a child, below a guard alone, as the master starts a new agent by itself. What an
 * agent leaves that is killed after its master ends with it. Returns the agent's exit code in this
 * process, 128 + signal when one ended it; in the child, fn's result. */
int supervisor_guard(int (*fn)(void *arg), void *arg, struct err *err);
