/* rollout.h - a new version takes the place of the old one, or does not. Pure: it is told what
 * happened and says what share of the requests the new version gets.
 *
 *              ready               good               drained
 *     WARMING ───────► WATCHING ──────────► SHIFTED ──────────► DONE
 *        │  lost          │  bad, lost         │  bad, lost
 *        └────────────────┴──────► RETURNED ◄──┘
 *
 * While WATCHING the new version gets the canary's share. SHIFTED it gets everything, and the old
 * one is still there to return to. */
#pragma once
#include "base/err.h"
#include "serve/gateway/gateway_spec.h"
#include "serve/gateway/traffic.h"

enum rollout_state {
    ROLLOUT_NONE, /* no row leads here: a state and an event that do not fit */
    ROLLOUT_WARMING,
    ROLLOUT_WATCHING,
    ROLLOUT_SHIFTED,
    ROLLOUT_DONE,
    ROLLOUT_RETURNED,
    ROLLOUT_STATES_
};

enum rollout_event {
    ROLLOUT_READY,   /* a replica of the new version is ready */
    ROLLOUT_GOOD,    /* enough requests, and no worse than the old version */
    ROLLOUT_BAD,     /* worse than the old version */
    ROLLOUT_LOST,    /* no replica of the new version is ready any more, or in time */
    ROLLOUT_DRAINED, /* the old version has nothing left to do */
    ROLLOUT_EVENTS_
};

struct rollout {
    enum rollout_state state;
    unsigned percent; /* the canary's share while WATCHING, in hundredths */
    char why[160];    /* of the last step, a sentence */
};

void rollout_begin(struct rollout *r, unsigned percent);
/* A step; `why` is copied. -EPROTO, and no change, when this event cannot happen now. */
int rollout_step(struct rollout *r, enum rollout_event event, const char *why, struct err *err);
bool rollout_over(const struct rollout *r);
/* The share of the new version now: 0 to GATEWAY_HUNDRED. */
unsigned rollout_share(const struct rollout *r);
const char *rollout_state_name(enum rollout_state s);

/* What two versions have done; borrowed. */
struct rollout_numbers {
    const struct traffic_sum *old_version, *new_version; /* since the watch began */
    uint64_t before, before_refused; /* requests of the old version in the minute before */
};

/* 0: too little to say; 1: *ret is ROLLOUT_GOOD or ROLLOUT_BAD, and `why` has the numbers. */
int rollout_judge(const struct gateway_watch *w, const struct rollout_numbers *x,
                  enum rollout_event *ret, char why[160]);
