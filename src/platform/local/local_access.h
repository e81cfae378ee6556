/* local_access.h - how a job on this machine reaches a cluster: by what the client left in the
 * job's run directory (local_jobs.h). */
#pragma once
#include "hadoop/session/session.h"

/* A session by RUN's cluster.json and tokens; `o` has the rest, and is changed. *ret is the
 * caller's. Contacts nobody. Blocks on the local disk. */
int local_access_session(struct loop *l, const char *run, struct session_options *o,
                         struct session **ret, struct err *err);
