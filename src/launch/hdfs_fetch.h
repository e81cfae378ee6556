/* hdfs_fetch.h - what a job on this machine has on a cluster: files that it brings along from
 * there, and targets of its results. The same job file then runs here and on YARN.
 *
 * The client does all that needs a person's ticket: it looks whether everything is as the job says,
 * copies the files, and leaves for the agents, which save results at the job's end, how to reach
 * the cluster. Fibers only. */
#pragma once
#include "hadoop/session/session.h"
#include "job/spec/spec.h"
#include "platform/local/local_jobs.h"

/* The first file or target on a cluster that the job names, borrowed; NULL: there is none. Pure. */
const char *fetch_needed(const struct spec *s);

/* Are all files there, and can results be put where they are to go? Adds to `f` what is wrong. A
 * cluster that cannot be reached is an error. */
int fetch_check(struct session *session, const struct spec *s, struct spec_faults *f,
                struct err *err);

/* Copies the files into the job's directory, with a progress line unless `quiet`, and names the
 * copies in `s` instead. SIGINT and SIGTERM end it with -ECANCELED. They are removed together with
 * the job's directory. */
int fetch_files(struct session *session, struct spec *s, const struct job_dir *d, bool quiet,
                struct err *err);

/* Writes what agents need to save results there: the configuration, and tokens where the cluster
 * wants them. Does nothing for a job without targets there. */
int fetch_access(struct session *session, const struct spec *s, const struct job_dir *d,
                 struct err *err);
