/* measure.h - what tasks use, reported to the master on request. */
#pragma once
#include "agent.pb-c.h"
#include "loop/fiber.h"
#include <sys/types.h>

struct agent;

struct task_usage {         /* of all its processes */
    uint64_t memory, ticks; /* bytes; processor time at this look, … */
    uint64_t before;        /* … at the one before, … */
    int64_t at;             /* … when that was, by the loop's clock, … */
    pid_t pid;              /* … and of which process */
};

struct agent_measure {
    struct fiber *fiber; /* NULL: nobody wants to know */
    int64_t until;       /* loop's clock */
    struct cond ended;
};

void measure_begin(struct agent *a, const Agent__Measure *m); /* or goes on; returns at once */
void measure_end(struct agent *a);                            /* fibers only */
