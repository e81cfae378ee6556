/* recover.h - a job that is taken over from the masters before us. See recover.c. */
#pragma once
#include "base/err.h"

struct agent_log;
struct master;

/* Takes a job over from the masters before us: reads what they wrote, and makes engine, journal,
 * slots and agents what they were. 1 when there was something, 0 when the job begins here. The
 * platform has just been made. Fibers only. */
int recover_job(struct master *m, struct err *err);
const struct agent_log *recover_agents(const struct master *m); /* between the two */
/* Reads the log; before the platform is made. */
int recover_read(struct master *m, struct err *err);
void recover_done(struct master *m); /* what was read is not needed any more */
