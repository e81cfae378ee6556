/* fence.h - tasks stand still while their node is cut off, so that they never run beside their
 * replacements. Loop thread.
 *
 *     no ping
 *        │ the master, the ResourceManagers and the NameNodes are tried
 *        ├──► one is there: fine
 *        └──► none: SIGSTOP to the tasks; the master is dialled again
 *                ├──► Welcome, and a ping: it has kept us; SIGCONT
 *                └──► it refuses us, or we leave: tasks are killed as they are
 *
 * That something else than a master is reached again is no reason to go on: the master may have
 * given us up before it died. A ping over the old connection is none either: it may be as old as
 * the cut. fence_clock.h says when each step comes. */
#pragma once
#include "agent.pb-c.h"
#include "agent/link/fence_clock.h"
#include "agent/link/fence_targets.h"
#include "base/err.h"
#include "loop/fiber.h"
#include <stdbool.h>

struct agent;

struct agent_fence {
    struct fiber *fiber; /* NULL: not needed */
    struct cond changed;
    struct fence_clock clock;
    struct fence_targets targets;
    bool welcomed;     /* by a master, since `targets` were looked up or the tasks were stopped */
    bool frozen;       /* the tasks stand still */
    int64_t frozen_at; /* loop's clock */
    int64_t stood;     /* for how long they did, all times together, but for the present one */
};

int fence_on_welcome(struct agent *a, const Agent__Welcome *m, struct err *err);
/* After the pong to it was sent. */
void fence_on_ping(struct agent *a, const Agent__Ping *ping);
/* The agent leaves: whatever stands still does so until it is killed. */
void fence_end(struct agent *a);
/* Waits while tasks stand still. Fibers only; -ECANCELED. */
int fence_wait(struct agent *a);
