/* local_jobs.h - local jobs as directories.
 *
 *     $XDG_STATE_HOME/ydl/jobs/ID/       0700, kept until it is pruned
 *         job.json        facts: id, name, user, created, cwd, out, attached, command
 *         spec.json       the specification, complete
 *         events.jsonl    the events log
 *         logs/ROLE-RANK.out, .err       output of each task
 *         master.log      what master and agents said about themselves
 *         fetched/        files that the job named on a cluster; goes with RUN
 *         out/            results, where they have no other place or wait to be copied to it
 *         lock            held (flock) by the master while it lives; contains its process id
 *         run             text: the job's run directory
 *     RUN/ = a 0700 directory ydl-XXXXXX in $TMPDIR, /tmp or /var/tmp: the first that has a short
 *            name, is on a disk, and in which no other user can exchange it
 *         api.sock        the master's HTTP API
 *         join.json       0600, for the agents
 *         cluster.json    0600, for agents that save results on a cluster: {"conf": its
 *                         configuration, "user": who we are there}
 *         tokens          0600, what they sign in with, where the cluster wants it
 *         agents.sock     the agent channel
 *         XXXXXX/tasks/   the tasks' sockets, specification files and TMPDIR
 *
 * Whether a job lives is said by its lock, never by RUN: what a cleaner of /tmp takes away there is
 * put back by the master (master/local/run_dir.c). RUN is removed when the job ends: by the master,
 * by the last agent when the master was killed, or by the next `ydl` command that finds the lock
 * free. Blocks on the local disk. */
#pragma once
#include "base/json.h"
#include "base/path.h"
#include <stdbool.h>

#define JOBS_FETCHED "fetched"
#define JOBS_OUT "out"
#define JOBS_CLUSTER "cluster.json"
#define JOBS_TOKENS "tokens"

struct job_dir {
    char *id, *path; /* path: …/jobs/ID */
    char *run;       /* RUN; NULL when it is gone, or was when we looked */
    int lock; /* held by the process that created the job, for its master to inherit; else -1 */
};
#define JOB_DIR_INIT                                                                               \
    {                                                                                              \
        .lock = -1                                                                                 \
    }
void job_dir_done(struct job_dir *d);
#define AUTO_JOB_DIR AUTO_DONE(job_dir_done) struct job_dir /* = JOB_DIR_INIT */

/* …/ydl below the state directory; *ret is the caller's. */
int jobs_state_dir(char **ret, struct err *err);

/* A new directory with an id of its own ("local-20261116-063210-4f2a") and its RUN. */
int jobs_create(const char *state_dir, struct job_dir *ret, struct err *err);

/* Finds one by id, by name when unique among jobs, or "last" (newest). -ENOENT with a hint at
 * `ydl list`; -EEXIST-like sentence with the ids when a name is not unique. */
int jobs_find(const char *state_dir, const char *what, struct job_dir *ret, struct err *err);

/* The one in the directory `path`: what its master is told. */
int jobs_open(const char *path, struct job_dir *ret, struct err *err);

/* Calls `fn` for each job, newest first, until it returns non-zero, which is returned. `fn` may
 * empty `d` to keep what it had. */
int jobs_each(const char *state_dir, int (*fn)(void *arg, struct job_dir *d), void *arg,
              struct err *err);

/* A directory of the same kind as RUN, for other uses; *ret is the caller's to remove and to free.
 */
int jobs_make_run(char **ret, struct err *err);

/* Where the agents work, below RUN. A new string; NULL when out of memory. */
char *jobs_work_dir(const struct job_dir *d);

/* job.json, written once, before the master starts; and read back: *ret is the caller's. */
int jobs_write_facts(const struct job_dir *d, const json_t *facts, struct err *err);
int jobs_facts(const struct job_dir *d, json_t **ret, struct err *err);
/* The same for the job's master: -EPROTONOSUPPORT when another version of ydl made it. */
int jobs_own_facts(const struct job_dir *d, json_t **ret, struct err *err);

/* Looks for RUN again, and whether it is ours: a master that lives puts back what was removed. */
bool jobs_find_run(struct job_dir *d);

/* Is its master alive? Tries the lock. When not, what a killed master left (RUN and everything in
 * it) is removed. */
bool jobs_alive(struct job_dir *d);

/* Removes a job that is not alive, all of it. */
int jobs_remove(struct job_dir *d, struct err *err);
