/* signal_forward.h - SIGUSR1 and SIGUSR2 from the launcher to the tasks. Never blocks. */
#pragma once
#include "agent.pb-c.h"

struct agent;

void signal_forward(struct agent *a, const Agent__Signal *m);
