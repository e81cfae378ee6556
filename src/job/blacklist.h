/* blacklist.h - nodes on which a job's containers keep failing: which are to be avoided, and which
 * may be tried again. Pure: the caller tells its platform.
 *
 * Only faults that can be the node's count, never a task's own exit code; the older front ends
 * count everything but preemption and lost nodes, and the first time already. One thread at a
 * time. */
#pragma once
#include "base/auto.h"
#include "job/event.h"
#include <stdbool.h>

/* What a node may be blamed for. */
enum avoid_cause {
    AVOID_START,     /* nothing could be started there */
    AVOID_FILES,     /* files could not be put in place */
    AVOID_DISK,      /* full or broken */
    AVOID_AGENT,     /* our agent ended while its container stood */
    AVOID_TASK,      /* how a task ended by itself */
    AVOID_LOST,      /* the node itself was lost: it will hardly be offered */
    AVOID_PREEMPTED, /* the cluster, or a person, took it back */
    AVOID_CAUSES_
};
enum avoid_cause avoid_cause_of(enum fail_class cls); /* of a task or container that failed so */

enum avoid_mode { AVOID_NODES_FAULT, AVOID_ANY_FAULT };

struct avoid; /* opaque */
/* `max`: so many faults within the job and the node is avoided; 0: 2, or 1 with AVOID_ANY_FAULT. */
int avoid_new(enum avoid_mode mode, unsigned max, struct avoid **ret, struct err *err);
struct avoid *avoid_free(struct avoid *a);
AUTO_DEFINE(avoid, struct avoid *, avoid_free);

/* Something failed on `node`. `n_fit`: how many nodes could take what is asked for, the avoided
 * ones among them; 0: unknown. Returns 1 when the node is to be avoided from now on (said once), 0
 * when not: too few faults yet, or it would be the last one that fits. -ENOMEM. */
int avoid_fault(struct avoid *a, const char *node, enum avoid_cause cause, unsigned n_fit);
bool avoid_has(const struct avoid *a, const char *node);
bool avoid_any(const struct avoid *a);
/* As an earlier master of the job had it: the node is avoided, or has been let off. -ENOMEM. */
int avoid_restore(struct avoid *a, const char *node, bool on);

/* Asks have not been served since `since` (ms; all times are of one clock): when a node may have to
 * be let off. At once when there is no other left (`n_fit` as above), otherwise after a while,
 * which is longer each time: a full cluster is no reason to go where things fail. INT64_MAX: not at
 * all.
 */
#define AVOID_FIRST_MS 60000
#define AVOID_MOST_MS 3600000
int64_t avoid_lift_at(const struct avoid *a, int64_t since, unsigned n_fit);
/* The node that has been avoided longest may be tried again; its faults are forgotten but one. Its
 * name, borrowed until avoid_free(); NULL when none is avoided. */
const char *avoid_lift(struct avoid *a, int64_t now);
/* Calls `fn` for each avoided node, oldest first. */
void avoid_each(const struct avoid *a, void (*fn)(void *arg, const char *node), void *arg);
