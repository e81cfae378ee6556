/* export.h - output and results are saved where the job says when the agent leaves. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct agent_task;

/* Saves all and tells the master of each target. `output_only`: only output, within seconds. Fibers
 * only: returns when all is copied or there is no progress. */
void export_all(struct agent *a, bool output_only);

/* Did the task leave anything that export_all() will save? */
bool export_has_results(const struct agent_task *t);

/* What this container has saved of the output of a task ("worker-3", "out") is the file of this
 * number in HDFS, which stays the same when the file is renamed; 0: nothing. The caller sends it to
 * the master, so that clients know that the file and what the agent sends begin alike. */
uint64_t output_saved(const struct agent *a, const char *label, const char *end);
