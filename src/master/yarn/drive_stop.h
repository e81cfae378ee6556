/* drive_stop.h - when the driver stops in a container. See drive_stop.c. Called by the driver's
 * fiber alone; negative: the driver ends, and tells no end of the job. */
#pragma once
#include "master/yarn/master_yarn_private.h"

int drive_on_signal(struct master *m, struct err *err);
int drive_given_up(struct master *m, struct err *err);     /* m->over: YARN has ended us */
int drive_right_to_end(struct master *m, struct err *err); /* before the end of the job is told */
