/* agent_container.h - what the agent learns from the YARN container that it runs in.
 *
 * The NodeManager passes directories in environment variables; the master passes its address and
 * the job's key in the container's credentials (platform/yarn/yarn_boot.h).
 *
 * Tasks that run beside the client have no container, but `ydl run` makes something similar: a
 * directory with credentials for our own files, while tasks run in the user's directory and
 * environment. Reading blocks on the local disk. */
#pragma once
#include "agent/environ.h"
#include "base/auto.h"
#include "platform/yarn/yarn_boot.h"

/* The mark in a task's environment by which a later agent of the same container knows what an
 * earlier one left. A container's id is never given out twice. */
#define AGENT_CONTAINER_MARK "YDL_CONTAINER"

#define AGENT_CONTAINER_OWN ".ydl"                /* what is ours in a container's work directory */
#define AGENT_CONTAINER_CREDENTIALS "credentials" /* in the directory that the client makes */

struct agent_container {
    char *id;      /* CONTAINER_ID */
    char *node;    /* NM_HOST: how the cluster calls this machine */
    char *dir;     /* its work directory, absolute: ours when we are started … */
    dev_t dir_dev; /* … and which one that was */
    ino_t dir_ino;
    char *own;     /* the directory for our things */
    char *log_dir; /* the first of LOG_DIRS that can be written to */
    char *staging; /* the job's directory in HDFS */
    struct credentials *credentials;
    struct yarn_boot boot;
    bool client; /* none of YARN's: we are beside the client */
};

/* Reads all of it. The file of credentials is removed then: it holds the job's key, and tasks run
 * in the same directory. (A NodeManager that starts us anew makes it anew.) `ret` needs
 * agent_container_done() in any case. */
int agent_container_read(struct agent_container *ret, struct err *err);
/* The same for an agent beside the client, with the directory that was made for it: absolute, and
 * nobody else's. */
int agent_container_read_client(const char *dir, struct agent_container *ret, struct err *err);
void agent_container_done(struct agent_container *c); /* wipes; zero is a valid start */
/* Has its work directory been removed, or moved away? A NodeManager removes those of containers
 * that it has lost track of, some time before they are reported lost. Always false beside the
 * client. */
bool agent_container_is_gone(const struct agent_container *c);

#define AUTO_CONTAINER AUTO_DONE(agent_container_done) struct agent_container

/* Lends the variables of `from` that are for tasks: in a container of YARN all but those that
 * describe the container or tune a Java virtual machine, beside the client all but those meant for
 * us. -ENOMEM. */
int agent_container_env(const struct agent_container *c, char *const *from, struct env *e);
