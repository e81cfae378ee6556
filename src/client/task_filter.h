/* task_filter.h - which tasks' output somebody wants to see: "worker", "worker:0". Pure. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* Are these words all roles of the job, or tasks of such a role? `whose` names the job in the
 * sentence that says which one is not: cli_bad(). 0, or a negative errno. */
int task_filter_check(const struct strs *wanted, const struct strs *roles, const char *whose,
                      struct err *err);
