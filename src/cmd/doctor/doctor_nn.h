/* doctor_nn.h - the NameNode of the default file system, for checks that fs.h has no call for.
 * Fibers only. */
#pragma once
#include "cmd/doctor/doctor.h"
#include "hadoop/hdfs/namenode.h"

/* Its addresses; -EOPNOTSUPP when the default file system is not HDFS. *ret is the caller's. */
int nn_default_hosts(const struct doctor *d, struct hosts *ret, struct err *err);
/* A service for them. *ret is the caller's. */
int nn_default_service(const struct doctor *d, struct rpc_service **ret, struct err *err);
