/* agent_leave.h - the end of an agent: its tasks end, the master is answered until the last thing
 * is saved, and then what is ours is removed. Fibers only, unless it says otherwise. */
#pragma once
#include "loop/fiber.h"
#include <stdbool.h>
#include <stdint.h>

struct agent;

struct agent_leave {
    bool begun;                    /* nothing new is started any more */
    bool told, job_failed, spared; /* by a Shutdown, … (agent.c) */
    int64_t grace;                 /* … that leaves tasks so many ms */
    int64_t save_ms;               /* … and so much time for saving; 0: it does not say */
    bool unsaved;                  /* something could not be saved, … (export.c) */
    bool untold;                   /* … and no master that is there to the end has heard of it */
    bool said, acked;              /* the master has been told all, … and has written it down */
    bool cleaning;                 /* nothing is needed any more */
    struct fiber *pings;           /* answers the master meanwhile; NULL: nobody does */
    struct cond news;              /* that one has ended, or `acked` */
};

/* Ends all tasks and everything below us. Returns after at most `grace` ms and some seconds. */
void leave_tasks(struct agent *a, int64_t grace);
/* Removes our files and closes the channel. `master_gone`: nobody else would remove them. */
void leave_clean(struct agent *a, bool master_gone);

/* From here on, until leave_clean(), a fiber answers the master's pings. Any caller; returns at
 * once. */
void leave_pings_start(struct agent *a);
