/* master_leave.h - the last word of a master in a container. See master_leave.c. */
#pragma once

struct master;

/* Everything is said and in its place: the ResourceManager may forget us. Fibers only. */
void leave_yarn(struct master *m);
