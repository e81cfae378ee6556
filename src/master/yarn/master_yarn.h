/* master_yarn.h - a master in a container of YARN. Fibers only. */
#pragma once
#include "loop/loop.h"

/* Runs the job that this container was started for, by what its credentials say; see
 * master_run(). */
int master_yarn_run(struct loop *l, struct err *err);
