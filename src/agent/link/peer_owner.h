/* peer_owner.h - whose process of this machine has connected to one of the master's trackers. */
#pragma once
#include "agent.pb-c.h"

struct agent;

/* Tells the master, who asks again when it hears nothing. Blocks for as long as a look at the
 * kernel's list of sockets takes. */
void peer_owner_answer(struct agent *a, const Agent__Whose *m);
