/* deployment_update.h - a new version of a model takes the place of the one that serves, or does
 * not. Pure: it changes the plan by what was seen.
 *
 *     WARMING ──warm──► WATCHING ──good──► ROUTING ──routed──► DRAINING ──idle──► STOPPING ──► NONE
 *        │                  │                 ▲
 *        │ late, broken,    │ bad, broken,    │   the version that is kept gets all requests, the
 *        │ taken back       │ taken back      │   other one answers what it has and is stopped
 *        └──────────────────┴─────────────────┘
 *
 * All of it is in the plan, as "update": {to, from, phase, since, by, why, percent, errors, slower,
 * requests, watch, warm, id}; `result` is there once it is decided, and "serve" of the model is
 * then the version that is kept. What became of the last one is in "last". Every step can be made
 * again by a controller that was started in the middle of it. */
#pragma once
#include "base/json.h"
#include <stdbool.h>

/* Unless somebody says otherwise. */
#define UPDATE_WARM_MS 120000 /* for the new replicas to become ready */
#define UPDATE_WATCH_MS                                                                            \
    10000 /* without a canary: how long it is watched, if there are few requests */
#define UPDATE_CANARY_LEAST 0.01 /* percent: a version that gets no requests is never judged */
/* For "slower", where both versions do not answer at the same time and cannot be compared. */
#define UPDATE_ANY_TIME 1000

enum update_phase {
    UPDATE_NONE,
    UPDATE_WARMING,  /* replicas of the new version start */
    UPDATE_WATCHING, /* it gets some of the requests, or all, and the gateway watches it */
    UPDATE_ROUTING,  /* decided: all requests go to the version that is kept … */
    UPDATE_DRAINING, /* … the other one answers what it has … */
    UPDATE_STOPPING, /* … and its replicas are stopped */
    UPDATE_PHASES_
};

enum update_event {
    UPDATE_NOTHING,
    UPDATE_WARM,       /* all its replicas are ready */
    UPDATE_LATE,       /* they were not in time */
    UPDATE_BROKEN,     /* they end as they begin */
    UPDATE_GOOD,       /* the gateway says so, or the time to watch is over */
    UPDATE_BAD,        /* the gateway says so */
    UPDATE_TAKEN_BACK, /* somebody asked for it */
    UPDATE_ROUTED,     /* all requests go to the version that is kept */
    UPDATE_IDLE,       /* the other one has nothing left to answer */
    UPDATE_STOPPED,    /* its group has been scaled to 0 */
    UPDATE_EVENTS_
};

enum update_phase update_next(enum update_phase phase, enum update_event event); /* NONE: no row */
const char *update_phase_name(enum update_phase p);
/* Of a model of a plan; UPDATE_NONE when there is no update. */
enum update_phase deployment_update_phase(const json_t *model);
bool deployment_is_updating(const json_t *plan); /* any of its models */

/* What there is to see of a model at one look. */
struct update_seen {
    int64_t now;          /* milliseconds since 1970 */
    const json_t *report; /* what the gateway says of this model; NULL: not known */
    int64_t leaving;      /* old processes of the gateway that still answer requests */
    int64_t moved;        /* when a fetch of the new version's files moved last; 0: none did */
    int64_t starts;       /* how often one of the new replicas was started again, at most */
    bool told;            /* all gateways have the spec that follows from the plan */
    bool stray;           /* one of several sends requests to another version than the plan's */
    bool stopped;         /* the job has taken the size 0 of the group that ends */
};

/* Begins an update. `request` has {version: {…}, percent, …} as in deployment_request.h, checked.
 */
int deployment_update_begin(json_t *plan, json_t *model, const json_t *request, int64_t now,
                            struct err *err);
/* The new version is given up: 1; 0: it is too late for that, or there is no update. */
int deployment_update_take_back(json_t *model, const char *why, int64_t now, struct err *err);
/* One step: 1 when the plan is another one now, 0, or a negative errno. */
int deployment_update_step(json_t *plan, json_t *model, const struct update_seen *seen,
                           struct err *err);
