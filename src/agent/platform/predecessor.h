/* predecessor.h - an agent that died in this container before us. */
#pragma once
#include "base/err.h"

struct agent;

/* Ends the processes that its tasks left and removes their files. At once when we are the first.
 * Fibers only: waits up to 5 s for processes to go. */
int predecessor_end(struct agent *a, struct err *err);
