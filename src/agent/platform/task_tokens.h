/* task_tokens.h - the tokens that tasks authenticate with, in a file. Loop thread; blocks on the
 * local disk. */
#pragma once
#include "agent.pb-c.h"
#include "base/err.h"

struct agent;

/* Writes those of the container to dirs.token_file; nothing without a container. */
int tokens_begin(struct agent *a, struct err *err);
/* Newer ones from the master, in the place of the container's own. A failure is reported to it. */
void tokens_replace(struct agent *a, const Agent__Tokens *m);
