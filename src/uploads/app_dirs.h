/* app_dirs.h - directories of applications in BASE/jobs, and those that nobody needs any more.
 *
 * Fibers only. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "hadoop/fs/fs.h"

enum home_state {
    HOME_ENDED,
    HOME_LIVES,
    HOME_UNKNOWN, /* the ResourceManager does not know it: not submitted yet, or long forgotten */
};

/* Says what became of an application; a negative errno when that cannot be found out. */
struct home_alive {
    int (*state)(void *user, const char *app, struct err *err);
    void *user;
};

/* For struct home_alive: asks the ResourceManager; `user` is a struct yarn_client. */
int home_ask_yarn(void *user, const char *app, struct err *err);

/* An application that nobody knows may be about to be submitted: its directory stays so long. */
#define HOME_UNKNOWN_MS ((int64_t)3600 * 1000)

/* Removes the directories below BASE/jobs (`base` is a path on `fs`) of applications that have
 * ended. *ret (may be NULL) is how many. What cannot be found out or removed is left, and no
 * error; -ECANCELED and a server that is not reached are. */
int home_sweep(struct fs *fs, const char *base, const struct home_alive *alive, size_t *ret,
               struct err *err);

/* A directory below BASE/jobs whose application lives or may be about to. */
struct home_job {
    char *app;
    int64_t since;    /* its time, ms since 1970 */
    bool settled;     /* it has said what it uses */
    struct strs uses; /* "HASH/NAME" */
};
struct home_jobs {
    struct home_job *v;
    size_t n;
};
/* All of them. Unlike a sweep this fails when one cannot be found out: whoever removes things on
 * the ground of the answer must be sure. */
int home_jobs(struct fs *fs, const char *base, const struct home_alive *alive,
              struct home_jobs *ret, struct err *err);
void home_jobs_done(struct home_jobs *l);
static inline void auto_home_jobs_(struct home_jobs *l)
{
    home_jobs_done(l);
}
#define AUTO_HOME_JOBS AUTO(home_jobs) struct home_jobs /* = { 0 } */
