/* doctor_nn.h - the NameNode of the default file system, for checks that fs.h has no call for.
 * Fibers only. */
#pragma once
#include "cmd/doctor/doctor.h"
#include "hadoop/hdfs/namenode.h"

/* A service for them. *ret is the caller's. */
int nn_default_service(const struct doctor *d, struct rpc_service **ret, struct err *err);
