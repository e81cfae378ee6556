/* master_container.h - a master in a container of YARN: what it was told, and its job's files in
 * HDFS.
 *
 * The credentials of the container say everything (platform/yarn/yarn_boot.h); job.json and
 * spec.json are fetched into the container's own directory, so that the rest of the master finds
 * its job there as it does on one machine. Fibers only. */
#pragma once
#include "hadoop/fs/fs.h"
#include "hadoop/session/session.h"
#include "master/yarn/master_tokens.h"
#include "platform/local/local_jobs.h"
#include "platform/yarn/yarn_boot.h"
#include "platform/yarn/yarn_job_facts.h"
#include "platform/yarn/yarn_platform.h"

struct master_container {
    struct yarn_boot boot; /* its address is set when the agent channel is open */
    struct session *session;
    struct fs_set *set;
    struct fs *fs;     /* where BASE is */
    char *jobs, *logs; /* paths there of BASE/jobs/APP and BASE/logs/APP */
    char *jobs_uri, *logs_uri;
    struct yarn_facts facts;
    struct job_dir dir; /* below the container's work directory */
    char host[64];      /* our numeric address */
    char *node;         /* the machine's name as YARN has it */
    struct conf
        *node_conf; /* the machine's own configuration, where it names a scheduler; or NULL */
    int attempt;    /* of the master, from 1 */
    int64_t began;  /* when it was started; wall clock */

    /* Tokens other than those that we were started with. */
    struct keytab *keytab; /* gets newer ones; NULL: none came with the job */
    bool newer_tokens;     /* we have some */
    struct tokens_got got; /* of these, what is to be cancelled */
    int64_t tokens_ms;     /* how long they are good, when the keytab brought them before the start;
                              0: it did not */
    /* Of one that had to wait for them (tokens_wait.c). */
    int64_t wait_until;       /* loop's clock; 0: it had not */
    struct yarn_early *early; /* the ResourceManager knows us already */
    int api_fd, api_port;     /* where it says that we are; -1: anywhere */
};

/* Reads what this container was told and fetches the job's files. `ret` needs
 * master_container_close() in any case. */
int master_container_open(struct loop *l, struct master_container *ret, struct err *err);
void master_container_close(struct master_container *c);

/* The configuration of the machine that we are on, if there is one that we can read and it names
 * the scheduler's address: where the NodeManager stands between masters and the ResourceManager
 * (AMRMProxy), that is the NodeManager's own, and only it takes our token. NULL otherwise. Blocks
 * on the local disk. *ret is the caller's. */
int master_container_node_conf(struct conf **ret, struct err *err);

/* Tells agents that look for us, and people's `ydl`, where we are: BASE/jobs/APP/master.json. */
int master_container_announce(struct master_container *c, struct err *err);
/* Removes BASE/jobs/APP: the job is over. */
int master_container_clean(struct master_container *c, struct err *err);
/* The whole of a small file of the job's; -ENOENT when it is not there. */
int master_container_load(struct master_container *c, const char *path, struct buf *ret,
                          struct err *err);
