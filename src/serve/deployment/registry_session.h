/* registry_session.h - signing in to the cluster of a registry, as a task of a deployment does. */
#pragma once
#include "base/err.h"
#include "loop/loop.h"
#include <stdbool.h>

struct session;

/* Of the tasks, where their own environment would not do: a directory with the cluster's
 * configuration and, in a container of YARN, which user the job is of (the agent says both); with
 * Kerberos here, whose keys to sign in with (see session.h). */
#define REGISTRY_USER_ENV "YDL_HADOOP_USER"
#define REGISTRY_CONF_ENV "YDL_HADOOP_CONF"
#define REGISTRY_PRINCIPAL_ENV "YDL_HADOOP_PRINCIPAL"
#define REGISTRY_KEYTAB_ENV "YDL_HADOOP_KEYTAB"

/* Reads the configuration, and the tokens as they are now. `hasty`: who asks has other things to do
 * than to wait for a cluster that is away. Contacts nobody. *ret is the caller's. */
int registry_session_new(struct loop *l, bool hasty, struct session **ret, struct err *err);
