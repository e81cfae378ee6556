/* task_table.h - the tasks of a job as a table, for `status --tasks` and `top`. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include <stdbool.h>

/* Prints the tasks of a status document on standard output. With `usage`, also what each uses
 * (client_usage()). */
int tasks_print(const json_t *status, bool usage, struct err *err);
