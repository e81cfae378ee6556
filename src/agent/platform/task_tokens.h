/* task_tokens.h - the tokens that tasks authenticate with, in a file. Loop thread; blocks on the
 * local disk. */
#pragma once
#include "agent.pb-c.h"
#include "base/err.h"

struct agent;

/* Writes the container's to dirs.token_file. Only in a container, or beside the client. */
int tokens_begin(struct agent *a, struct err *err);
/* Newer ones from the master, in the place of the container's own. A failure is reported to it. */
void tokens_replace(struct agent *a, const Agent__Tokens *m);
