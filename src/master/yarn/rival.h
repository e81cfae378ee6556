/* rival.h - another master that has the job, while the ResourceManager does not answer this one.
 * See rival.c. Fibers only. */
#pragma once
#include "master/yarn/master_yarn_private.h"

bool rival_has_job(struct master *m); /* looks into HDFS */
void rival_watch(struct master *m);   /* until the job ends, or another has it: m->over */
/* Before the end is told: waits while it is unknown whether another master has the job, a minute at
 * most. 0, with m->over where another has it; or -ECANCELED. */
int rival_wait(struct master *m);
