/* yarn_container.h - what an agent in a container of YARN and one beside the client have in common:
 * the credentials that it was given, and a directory that is its own. See agent_platform.h. */
#pragma once
#include "agent/platform/agent_platform.h"

#define TOKEN_FILE "HADOOP_TOKEN_FILE_LOCATION" /* what Hadoop finds tokens by */

int yarn_container_join(struct agent *a, struct err *err);
void yarn_container_done(struct agent *a);
int yarn_container_set_up(struct agent *a, struct err *err);
int yarn_container_mounts(const struct agent *a, struct strs *to);
int yarn_container_session(const struct agent *a, const char *uri, struct session_options *o,
                           struct session **ret, struct err *err);
int64_t yarn_container_job_began(const struct agent *a, const struct remote *remote);
/* The container's variables, or the user's, and the mark that a successor knows tasks by. */
int yarn_container_env(const struct agent_task *t, struct env *weak, struct env *e);
