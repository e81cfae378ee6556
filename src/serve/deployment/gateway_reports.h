/* gateway_reports.h - several gateways of one deployment. The first one's task carries the plan out
 * (controller.h) and judges new versions; the others follow the plan, and say in
 * the job's key-value store how far they are:
 *
 *     serve/gateway/1   {"beat": 712, "revision": 7, "status": {…}}
 *     serve/counts/1    what went through it: gateway/counts.h
 *     serve/shares      {"resnet": {"version": 2, "percent": 10}}: what a canary gets just now
 *
 * `revision` is the plan's that its HAProxy has; -1: it begins, and does not listen yet. It says
 * that before it reads the plan: who has seen nothing of it knows that it will read the plan as it
 * is by then. `status` is what a gateway answers to that command, without the numbers that `counts`
 * has too. Pure, and what comes from the store is hostile. */
#pragma once
#include "base/json.h"
#include <stdbool.h>

#define GATEWAYS_MOST 16
#define GATEWAYS_AT "serve/gateway/"    /* and its index */
#define GATEWAYS_COUNTS "serve/counts/" /* likewise */
#define GATEWAYS_SHARES "serve/shares"

/* Another gateway, as the first one sees it. */
struct gateway_seen {
    json_t *report; /* the last one; NULL: none yet */
    int64_t beat;
    unsigned silent; /* looks in a row in which it said nothing new */
    unsigned behind; /* … in which it did not have the plan */
};

void gateway_seen_done(struct gateway_seen *s);
/* A look: `text` is its report, NULL when there is none. -ENOMEM; what is no report is none. */
int gateway_seen_look(struct gateway_seen *s, const char *text, int64_t revision, struct err *err);
/* Is it there, and has it something to lose by the next step that it does not know of? One that
 * does not move for long is not waited for: its node may be gone. */
bool gateway_seen_is_waited_for(const struct gateway_seen *s, int64_t revision);
/* Does it count: it listens, and is not silent. */
bool gateway_seen_counts(const struct gateway_seen *s);
/* Does it send requests for this model elsewhere than the plan says, or some to a canary? */
bool gateway_seen_strays(const struct gateway_seen *s, const char *model, int64_t serve);

/* The status of the first gateway becomes that of all: what waits and what is in flight is summed,
 * a version has as many ready replicas as the gateway that sees fewest; and its row in "gateways".
 */
int gateway_reports_join(json_t *status, const struct gateway_seen *s, unsigned index,
                         struct err *err);
/* The row of the first one. */
int gateway_reports_begin(json_t *status, struct err *err);

/* What a report needs of a status: numbers that are in the counts too are left out. */
int gateway_reports_brief(json_t *status, struct err *err);

/* The shares that a status says, and the one of a model's canary; percent. */
int gateway_shares_make(const json_t *status, json_t **ret, struct err *err);
double gateway_share(const json_t *shares, const char *model, int64_t version);
