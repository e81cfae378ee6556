/* job_files.h - the job's files in HDFS, for the moments when the agent needs them.
 *
 * Opened, used and closed: an idle agent keeps no connection, configuration or buffers. Fibers
 * only. */
#pragma once
#include "base/auto.h"
#include "hadoop/fs/fs.h"
#include "hadoop/session/session.h"

struct agent;

struct remote {
    struct session *session; /* NULL: local files only */
    struct fs_set *set;
    enum fs_default where; /* paths without a scheme are */
};

/* With the newest tokens that we have. `call_ms` limits one operation; 0: retry patiently, the
 * caller watches the time. For a job on this machine `uri` says whether a cluster is needed at all;
 * then who started the job has left beside the join file how to reach it
 * (platform/local/local_jobs.h). `ret` needs remote_done() in any case. Contacts nobody. */
int remote_open(const struct agent *a, const char *uri, int64_t call_ms, struct remote *ret,
                struct err *err);
/* Where a URI lies; see fs_find(). */
int remote_find(const struct remote *r, const char *uri, struct fs **ret, char **ret_path,
                struct err *err);
void remote_done(struct remote *r); /* zero is a valid start */

#define AUTO_REMOTE AUTO_DONE(remote_done) struct remote
