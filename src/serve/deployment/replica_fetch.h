/* replica_fetch.h - a replica's version, where the registry is on HDFS: from this node's cache, or
 * through it. Fibers only. */
#pragma once
#include "serve/deployment/replica.h"

/* Puts the version's path on this machine into `version`; it stays there as long as this process
 * and those that it becomes live. How far a fetch is stands in the job's key-value store
 * (DEPLOYMENT_FETCH). */
int replica_fetch(const struct replica_task *t, const json_t *plan, json_t *version,
                  struct err *err);
