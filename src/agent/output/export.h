/* export.h - output and results are saved where the job says when the agent leaves. */
#pragma once
#include <stdbool.h>

struct agent;

/* Saves all and tells the master of each target. `output_only`: only output, within seconds. Fibers
 * only: returns when all is copied or there is no progress. */
void export_all(struct agent *a, bool output_only);
