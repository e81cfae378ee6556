/* logrotate.h - output of long tasks is kept in pieces, as the job says. */
#pragma once
#include "loop/fiber.h"

struct agent;

struct agent_logrotate {
    struct fiber *fiber; /* NULL: nothing is to be cut */
    struct cond ended;
};

void logrotate_begin(struct agent *a); /* at every start; returns at once */
void logrotate_end(struct agent *a);   /* fibers only */
