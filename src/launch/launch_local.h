/* launch_local.h - starts a new job on this machine: its directory, then its master. */
#pragma once
#include "job/spec/spec.h"
#include "loop/loop.h"
#include "loop/proc.h"
#include "platform/local/local_jobs.h"

/* ydl-node, which lies beside ydl; *ret is the caller's. */
int launch_node_program(char **ret, struct err *err);

struct launch_options {
    const char *cwd;         /* where tasks run; NULL: in the job's directory, or here */
    const char *here;        /* where ydl-out is made; set by launch_local() */
    char *const *command;    /* what the user typed, for the record; NULL: nothing */
    struct session *session; /* the cluster that the job names files or targets on; NULL: none */
    bool quiet;              /* no progress line for files from there */
    bool attached;           /* the job is stopped when whoever attaches to it goes away */
};

/* Where tasks of a job here leave their results, before anything of it is made; where the job
 * sends them elsewhere at its end, "<directory of the job>/out". NULL when out of memory. */
char *launch_out(const struct spec *s, const char *cwd, const char *id);

/* Makes the job's directory, starts its master in a session of its own and returns when its API
 * answers. `s` is complete and checked; files that are elsewhere are copied first, and `s` then
 * names the copies. *ret_dir is the caller's: job_dir_done(). *ret_master (may
 * be NULL: then the master is on its own) is the caller's too: proc_free() ends it. Fibers only. */
int launch_local(struct loop *l, struct spec *s, const struct launch_options *o,
                 struct job_dir *ret_dir, struct proc **ret_master, struct err *err);
