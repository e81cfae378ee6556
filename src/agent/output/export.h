/* export.h - output and results are saved where the job says when the agent leaves. */
#pragma once
#include <stdbool.h>

struct agent;

/* Saves all and tells the master of each target. `output_only`: nobody waits for us any more, there
 * are seconds left. Fibers only: takes as long as the copying, or until nothing moves. */
void export_all(struct agent *a, bool output_only);
