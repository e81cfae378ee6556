/* settings.h - what the configuration says about talking to HDFS, read once. Plain data. */
#pragma once
#include "base/err.h"
#include "hadoop/conf/conf.h"
#include "hadoop/hdfs/recovery.h"
#include <stdbool.h>
#include <stdint.h>

struct hdfs_settings {
    bool secure;       /* Kerberos */
    unsigned qops;     /* dfs.data.transfer.protection as SASL_QOP_BITs; 0 when not set */
    bool use_hostname; /* dial DataNodes by name */
    int64_t connect_ms, read_ms, write_ms;
    int64_t restart_ms; /* how long a DataNode that announced its restart is waited for */
    int block_retries;  /* new pipelines tried for one block */
    int read_rounds;    /* times that all replicas of a block may fail a read */
    int64_t window_ms;  /* pause before such a round */
    uint32_t umask;     /* permission bits taken from what we create */
    struct replace_policy replace;
    /* Of the files we create, where the configuration sets them itself; 0 leaves them to the
     * server. */
    uint32_t replication;
    uint64_t block_size;
};

int hdfs_settings_read(const struct conf *conf, struct hdfs_settings *ret, struct err *err);

/* "022", or "u=rwx,g=rx,o=" which names what stays. -EINVAL. Pure. */
int hdfs_umask_parse(const char *text, uint32_t *ret);
