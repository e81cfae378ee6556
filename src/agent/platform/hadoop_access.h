/* hadoop_access.h - what a task in a container needs to reach the cluster as its job does, besides
 * tokens: the configuration, the user, and where this user may keep files on the node. */
#pragma once
#include "agent/environ.h"
#include "base/err.h"

struct agent;
struct agent_task;

/* Writes the job's configuration into the directory of our own things. Blocks on the local disk. */
int hadoop_access_begin(struct agent *a, struct err *err);
int hadoop_access_env(const struct agent_task *t, struct env *e);

/* The user's directories on the node, from those of the application that YARN names in LOCAL_DIRS,
 * with commas between them: they outlive containers and jobs. *ret is the caller's, and NULL where
 * there is none. */
int hadoop_access_node_dirs(const char *local_dirs, char **ret);
