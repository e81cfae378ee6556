/* blacklist.h - nodes on which a job's containers keep failing: when to stop using one, and when
 * to try it again. Pure: the caller tells its platform.
 *
 * Only faults that can be the node's count, never a task's own exit code; the older front ends
 * count everything but preemption and lost nodes, and the first time already. One thread at a
 * time. */
#pragma once
#include "base/auto.h"
#include "job/event.h"
#include <stdbool.h>

/* Failures that a node may have caused. */
enum blacklist_cause {
    BLACKLIST_START,     /* nothing could be started there */
    BLACKLIST_FILES,     /* files could not be put in place */
    BLACKLIST_DISK,      /* full or broken */
    BLACKLIST_AGENT,     /* our agent ended while its container stood */
    BLACKLIST_TASK,      /* how a task ended by itself */
    BLACKLIST_LOST,      /* the node itself was lost: it will hardly be offered */
    BLACKLIST_PREEMPTED, /* the cluster, or a person, took it back */
    BLACKLIST_CAUSES_
};
enum blacklist_cause
blacklist_cause_of(enum fail_class cls); /* of a task or container that failed so */

enum blacklist_mode { BLACKLIST_NODES_FAULT, BLACKLIST_ANY_FAULT };

struct blacklist; /* opaque */
/* `max`: the number of faults within the job after which the node is avoided; 0: 2, or 1 with
 * BLACKLIST_ANY_FAULT. */
int blacklist_new(enum blacklist_mode mode, unsigned max, struct blacklist **ret, struct err *err);
struct blacklist *blacklist_free(struct blacklist *a);
AUTO_DEFINE(blacklist, struct blacklist *, blacklist_free);

/* Something failed on `node`. `n_fit`: how many nodes could take what is asked for, the avoided
 * ones among them; 0: unknown. Returns 1 when the node is to be avoided from now on (said once), 0
 * when not: there are too few faults yet, or it is the last node that fits. -ENOMEM. */
int blacklist_fault(struct blacklist *a, const char *node, enum blacklist_cause cause,
                    unsigned n_fit);
bool blacklist_has(const struct blacklist *a, const char *node);
bool blacklist_any(const struct blacklist *a);
/* As an earlier master of the job had it: the node is avoided, or has been let off. -ENOMEM. */
int blacklist_restore(struct blacklist *a, const char *node, bool on);

/* Asks have not been served since `since` (ms; all times are of one clock): when a node may have to
 * be let off. At once when there is no other left (`n_fit` as above), otherwise after a while,
 * which is longer each time: a full cluster is no reason to go where things fail. INT64_MAX: not at
 * all.
 */
#define BLACKLIST_FIRST_MS 60000
#define BLACKLIST_MOST_MS 3600000
int64_t blacklist_lift_at(const struct blacklist *a, int64_t since, unsigned n_fit);
/* The node that has been avoided longest may be tried again; its faults are forgotten but one. Its
 * name, borrowed until blacklist_free(); NULL when none is avoided. */
const char *blacklist_lift(struct blacklist *a, int64_t now);
/* Calls `fn` for each avoided node, oldest first. */
void blacklist_each(const struct blacklist *a, void (*fn)(void *arg, const char *node), void *arg);
