/* tasks.h - the tasks of a job as a table, for `status --tasks` and `top`. */
#pragma once
#include "base/json.h"
#include "cmd/job/usage.h"

/* Prints the tasks of a status document on standard output. With `used`, also what each uses. */
int tasks_print(const json_t *status, const struct usage *used, struct err *err);
