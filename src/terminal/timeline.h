/* timeline.h - where the time went while a job started: its phases, and who was waited for in
 * each. Pure.
 *
 * The master and the client note phases in the events log (records of the event "phase": name,
 * who, and perhaps time). What they do not note is derived from other records, so the log of any
 * job has a timeline; a phase that cannot be found is left out. */
#pragma once
#include "base/json.h"
#include <stdbool.h>
#include <stdint.h>

enum timeline_who { TIMELINE_YDL, TIMELINE_RM, TIMELINE_NM, TIMELINE_USER, TIMELINE_WHO_ };

/* In the order in which they happen. */
enum timeline_phase {
    PHASE_COMMAND,    /* the user's command began */
    PHASE_STAGED,     /* files are where the cluster finds them */
    PHASE_SUBMITTED,  /* the RM has the application … */
    PHASE_ACCEPTED,   /* … and takes it */
    PHASE_MASTER,     /* the master's program began */
    PHASE_REGISTERED, /* the RM knows the master */
    PHASE_ASKED,      /* containers were asked for */
    PHASE_GRANTED,    /* the last one was granted */
    PHASE_AGENTS,     /* the last agent has come */
    PHASE_PREPARED,   /* the last port is held, the last file in its place */
    PHASE_RUNNING,    /* the last task runs */
    PHASE_ENDED,      /* the first task that decides has ended, or somebody ended the job */
    PHASE_FINISHED,   /* nothing is left of it */
    PHASES_
};

struct timeline {
    struct {
        bool noted; /* by a record of its own */
        int64_t at; /* milliseconds since 1970; 0: not known */
        int who;    /* enum timeline_who; -1: not said */
    } phases[PHASES_];
    bool local; /* there is no cluster to wait for */
    bool ran;   /* what comes now is no part of the start */
};

void timeline_init(struct timeline *t);
void timeline_add(struct timeline *t, const json_t *record);

struct timeline_row {
    const char *name;
    int64_t at;   /* milliseconds since the first */
    int64_t took; /* since the one before */
    enum timeline_who who;
};
/* Rows in their order; returns how many. `sums` gets what each had of it. */
size_t timeline_rows(const struct timeline *t, struct timeline_row rows[PHASES_],
                     int64_t sums[TIMELINE_WHO_]);

const char *timeline_who_key(enum timeline_who w);  /* "rm" */
const char *timeline_who_name(enum timeline_who w); /* "ResourceManager" */
