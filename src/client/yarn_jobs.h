/* yarn_jobs.h - jobs on YARN as their owner's `ydl` sees them: applications of type "ydl", and
 * their files below BASE (platform/yarn/yarn_boot.h).
 *
 * What all clients of one session share: a connection to the ResourceManager, the file systems, and
 * where BASE is. Counted; whoever has one keeps it with yarn_jobs_ref(). Fibers only. */
#pragma once
#include "hadoop/fs/fs.h"
#include "hadoop/yarn/rm_client.h"
#include "platform/yarn/yarn_boot.h"

#define YARN_JOBS_TYPE "ydl"        /* of our applications */
#define YARN_JOBS_KEY "ydl.staging" /* the setting that says where BASE is */

struct yarn_jobs; /* opaque */

/* `session` is borrowed and outlives it. `staging` (copied; NULL: $YDL_STAGING, the setting, then
 * .ydl in the user's home) is BASE. Contacts nobody. *ret is the caller's: yarn_jobs_unref(). */
int yarn_jobs_new(struct loop *l, struct session *session, const char *staging,
                  struct yarn_jobs **ret, struct err *err);
struct yarn_jobs *yarn_jobs_ref(struct yarn_jobs *y);
struct yarn_jobs *yarn_jobs_unref(struct yarn_jobs *y); /* NULL is fine; always NULL */
AUTO_DEFINE(yarn_jobs, struct yarn_jobs *, yarn_jobs_unref);
#define AUTO_YARN_JOBS AUTO(yarn_jobs) struct yarn_jobs

struct loop *yarn_jobs_loop(const struct yarn_jobs *y);
struct session *yarn_jobs_session(const struct yarn_jobs *y);
struct fs_set *yarn_jobs_files(const struct yarn_jobs *y);
int yarn_jobs_set_base(struct yarn_jobs *y, const char *base, struct err *err);
/* Made when it is first wanted; borrowed. */
int yarn_jobs_rm(struct yarn_jobs *y, struct yarn_client **ret, struct err *err);

/* A directory of an application below BASE: the fs (borrowed) and its path there (the caller's). */
int yarn_jobs_path(struct yarn_jobs *y, enum yarn_home what, const char *app, struct fs **ret,
                   char **ret_path, struct err *err);
/* Begins to remove what ended applications left in there, beside everything else; at the last
 * yarn_jobs_unref() it ends. Never fails: see uploads/app_dirs_sweep.h. */
void yarn_jobs_sweep(struct yarn_jobs *y);
/* Removes the directory there of an application that YARN says has ended, if its master left it;
 * that it cannot be removed is not reported. */
void yarn_jobs_remove(struct yarn_jobs *y, const char *app);
/* The job's key, from HDFS. -ENOENT when it is not there (any more), -EACCES when it is not ours.
 */
int yarn_jobs_key(struct yarn_jobs *y, const char *app, struct stream_key *ret, struct err *err);

/* Our applications, newest first. */
struct yarn_apps {
    Yarn__GetApplicationsResponse *answer;
    Yarn__ApplicationReport **v; /* borrowed from the answer */
    size_t n;
};
/* Those called `name` (NULL: all), with `running` only those that have not ended. */
int yarn_jobs_list(struct yarn_jobs *y, const char *name, bool running, struct yarn_apps *ret,
                   struct err *err);
void yarn_apps_done(struct yarn_apps *a);                         /* zero is fine */
#define AUTO_YARN_APPS AUTO_DONE(yarn_apps_done) struct yarn_apps /* = { 0 } */

/* Has the master said its last word? (The RM may still be putting it away.) */
bool yarn_app_ended(const Yarn__ApplicationReport *a);
