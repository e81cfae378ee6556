/* job_call.h - what the verbs for jobs share: a loop and a fiber to run on, the job that an operand
 * names, the cluster where one is configured, and a job's end as an exit code. Main thread. */
#pragma once
#include "client/client.h"
#include "client/connect.h"
#include "client/yarn_jobs.h"

/* Where a verb looks for jobs: the first member of the arguments of every verb that does. */
struct job_where {
    int on; /* enum job_place; -1: $YDL_ON, else everywhere */
    const char *staging;
};

/* clang-format off */
#define JOB_WHERE_OPTS                                                                              \
    { "on", 0, CLI_CHOICE, offsetof(struct job_where, on), NULL, "PLACE",                           \
      "where to look for jobs", job_places, .fallback = "$YDL_ON, or both", .group = CLI_OTHER,     \
      .rare = true },                                                                               \
    { "staging", 0, CLI_TEXT, offsetof(struct job_where, staging), NULL, "DIR",                     \
      "directory of jobs on YARN, if they were started with --staging DIR", .group = CLI_OTHER,     \
      .rare = true }
/* clang-format on */
extern const char *const job_places[];        /* "local", "yarn" */
extern const struct cli_opt job_where_opts[]; /* of verbs that have no others */

enum job_place { JOB_LOCAL, JOB_YARN, JOB_ANYWHERE };

/* What a verb works with. */
struct job_call {
    const struct cli *cli;
    const struct globals *globals;
    struct loop *loop;
    struct client *client;       /* of the job; NULL: none was named */
    struct connection net;       /* its session: job_session() */
    struct yarn_jobs *yarn;      /* job_yarn() */
    bool looked;                 /* for a configuration */
    int without_yarn;            /* why jobs on YARN were left out; 0: they were not */
    int64_t tokens_ms;           /* of a job that was just submitted: struct submitted */
    struct client_agent *beside; /* the same: its tasks here, see client_agent.h; NULL: none */
};

/* A verb's work, on a fiber. Returns an exit code, or a negative errno with `err` set. */
typedef int job_fn(struct job_call *x, struct err *err);

/* Runs it. Ctrl-C and SIGTERM cancel the fiber, and the result is "interrupted". */
int job_run(const struct cli *c, job_fn *fn, struct err *err);
/* The same as a verb's `run`; without any care for signals, for those that handle them (follow.h);
 * and for the job that the first operand names, if there is one: the arguments of such a verb begin
 * with a struct job_where. */
int job_verb(struct cli *c, struct err *err);
int job_verb_plain(struct cli *c, struct err *err);
int job_verb_on(struct cli *c, struct err *err);
#define JOB_VERB(fn) .run = job_verb, .work = CLI_WORK(job_fn, fn)
#define JOB_VERB_PLAIN(fn) .run = job_verb_plain, .work = CLI_WORK(job_fn, fn)
#define JOB_VERB_ON(fn) .run = job_verb_on, .work = CLI_WORK(job_fn, fn)

static inline const void *job_args(const struct job_call *x)
{
    return x->cli->args;
}

/* ---- the cluster ---- */

/* The session on the cluster that is configured, made when first wanted: *ret is borrowed. No
 * configuration, or a broken one, is an error. Contacts nobody. */
int job_session(struct job_call *x, struct session **ret, struct err *err);
/* The jobs on it: *ret is borrowed, and NULL when no cluster is configured at all. */
int job_yarn(struct job_call *x, const char *staging, struct yarn_jobs **ret, struct err *err);
/* Where to look. */
int job_place(const struct job_where *w, enum job_place *ret, struct err *err);
/* The same as job_yarn() for callers that can do without it: NULL also where the user does not want
 * YARN, and when `w` allows both a broken configuration is only a note. */
int job_yarn_too(struct job_call *x, const struct job_where *w, struct yarn_jobs **ret,
                 struct err *err);
/* The cluster failed with `r`, and jobs of this machine are asked for too: 0 and a note on standard
 * error; `r` when it is not the cluster's failure, or when only YARN is asked for. Who then finds
 * nothing does not know that there is nothing: x->without_yarn. */
int job_without_yarn(struct job_call *x, const struct job_where *w, int r, struct err *err);

/* Finds a job by its id (local-…, application_…), by its name when that is unique, or "last", the
 * newest. *ret is the caller's. Fibers only. */
int job_find(struct job_call *x, const char *what, struct client **ret, struct err *err);

/* Calls fn() for each job of this machine and then of YARN, both newest first, at most `most` of
 * either, as the verb's struct job_where says. A cluster that is away is only a note where both are
 * meant. Fibers only. */
#define JOB_EACH_RUNNING                                                                           \
    1U /* those that have not ended; what fails for one that ends is no failure */
#define JOB_EACH_SWEEP 2U /* what ended jobs left on YARN is put away meanwhile */
typedef int job_each_fn(void *arg, struct client *c, struct err *err);
int job_each(struct job_call *x, unsigned how, size_t most, job_each_fn *fn, void *arg,
             struct err *err);

/* ---- its end ---- */

/* The exit code that a job's status document gives; -EPROTO when it has none. */
int job_exit(const json_t *status, struct err *err);
/* Its story (story.h) on standard error. */
int job_tell(const json_t *status, const char *logs, struct err *err);
