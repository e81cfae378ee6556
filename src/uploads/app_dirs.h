/* app_dirs.h - directories of applications in BASE/jobs, and removal of those no longer needed.
 *
 * Fibers only. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "hadoop/fs/fs.h"

enum app_state {
    APP_DIRS_ENDED,
    APP_DIRS_LIVES,
    APP_DIRS_UNKNOWN, /* the ResourceManager does not know it: not submitted yet, or long forgotten
                       */
};

/* Says what became of an application; a negative errno when that cannot be found out. */
struct app_dirs_alive {
    int (*state)(void *user, const char *app, struct err *err);
    void *user;
};

/* For struct app_dirs_alive: asks the ResourceManager; `user` is a struct yarn_client. */
int app_dirs_ask_yarn(void *user, const char *app, struct err *err);

/* An application that nobody knows may be about to be submitted: its directory stays so long. */
#define APP_DIRS_UNKNOWN_MS ((int64_t)3600 * 1000)

/* Removes the directories below BASE/jobs (`base` is a path on `fs`) of applications that have
 * ended. *ret (may be NULL) is how many. An application whose state is unknown, or a directory that
 * cannot be removed, is left and is no error; -ECANCELED and a server that is not reached are. */
int app_dirs_sweep(struct fs *fs, const char *base, const struct app_dirs_alive *alive, size_t *ret,
                   struct err *err);

/* A directory below BASE/jobs whose application lives or may be about to. */
struct app_dir {
    char *app;
    int64_t since;    /* its time, ms since 1970 */
    bool settled;     /* it has said what it uses */
    struct strs uses; /* "HASH/NAME" */
};
struct app_dirs {
    struct app_dir *v;
    size_t n;
};
/* All of them. Unlike a sweep this fails when a state is unknown: a caller that removes files
 * because of the answer must be sure. */
int app_dirs(struct fs *fs, const char *base, const struct app_dirs_alive *alive,
             struct app_dirs *ret, struct err *err);
void app_dirs_done(struct app_dirs *l);
#define AUTO_APP_DIRS AUTO_DONE(app_dirs_done) struct app_dirs /* = { 0 } */
