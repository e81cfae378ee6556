/* past_job.h - a job from what it left in files: on this machine, or in HDFS.
 *
 *     DIR/job.json                            what it is
 *     DIR/events.jsonl                        what happened, of a job on one machine
 *     DIR/events-1.jsonl, events-1.1.jsonl …  the same in segments (job/segment.h), one or more
 *                                             of each master it had
 *
 * The files of a job that runs can be read too; they may lag behind. Fibers only. */
#pragma once
#include "base/json.h"
#include "hadoop/fs/fs.h"

#define PAST_EXIT_LOST 70    /* of a job whose master was killed: nobody wrote an end */
#define PAST_EXIT_KILLED 143 /* of one that was killed from outside */

/* How a job ended whose log does not say it. */
struct past_end {
    const char *state; /* "FAILED" */
    const char *reason;
    int exit;
    int64_t ended;            /* milliseconds since 1970; 0: when the log was last written to */
    const char *unsaved;      /* results are not where they belong, and why; NULL: nobody says so */
    const char *lines, *hint; /* further lines about the cause, and a hint; NULL or "": nothing */
};

/* Where the files are. Everything is borrowed. */
struct past {
    const char *id;
    struct fs *fs;
    const char *dir;            /* events and facts */
    const char *logs;           /* output of tasks (logfiles.h); perhaps the same */
    bool runs;                  /* it has not ended: no end is made up */
    const struct past_end *end; /* NULL: "its master was killed" */
};

/* Is there a log, so that it had a master? 1, 0 or negative. */
int past_begun(const struct past *p, struct err *err);

/* The status document (job/history.h) from the events log, with "lost": true and an end of our own
 * making when the log has none. *ret is the caller's. */
int past_status(const struct past *p, bool tasks, json_t **ret, struct err *err);

/* The same without roles, tasks and story, from the first and the last lines: for long lists. */
int past_summary(const struct past *p, json_t **ret, struct err *err);

/* Calls `fn` for each line of the events log, without its newline; not 0 ends it and is returned.
 * Records that stand in several segments come once. A last line that was cut short is left out. No
 * log at all is no line. */
int past_events(const struct past *p, int (*fn)(void *arg, const char *line, size_t n), void *arg,
                struct err *err);
