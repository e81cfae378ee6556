/* deployment_move.h - replicas whose containers will be taken away make room for others first.
 * Pure: it changes the plan by what was seen.
 *
 *                enough others are ready            it has answered what it had
 *     WAITING ──────────────────────────► DRAINING ──────────────────────────► STOPPING ──► (moved)
 *        one more replica is started       it gets no more requests             the job starts it
 *        for each that waits                                                    elsewhere
 *
 * All of it is in the plan, as "moving" of a model: {serial, extra, replicas: [{index, attempt,
 * why, node, until, phase, since, address}]}. `serial` is the version's that serves, `extra` how
 * many replicas it has beyond its number until all who move are ready elsewhere. `why` is "node"
 * (its node leaves the cluster), "avoided" (too much has failed there) or "container" (the cluster
 * wants the container for somebody else: then nobody is given one more, and it is drained as long
 * as another one is ready). Of one that is taken away before it was replaced nothing is left here:
 * the job starts it again.
 *
 * Every step can be made again by a controller that was started in the middle of it. */
#pragma once
#include "base/json.h"
#include "base/str.h"
#include <stdbool.h>

/* Without a gateway: more than who watches the addresses needs to see that one has gone. */
#define MOVE_LINGER_MS 5000

/* What there is to see of a model at one look. */
struct move_seen {
    int64_t now;             /* milliseconds since 1970 */
    const json_t *report;    /* what the gateway says of this model; NULL: not known */
    const struct strs *keys; /* of replicas: DEPLOYMENT_AT */
    const char *leaving;     /* the job's answer to "leaving" (rendezvous/kv.h); NULL: not known */
    int64_t old;             /* old processes of the gateway that still answer requests */
    bool told;               /* all gateways have the spec that follows from the plan */
    bool direct;             /* there is no gateway */
};

/* One look: 1 when the plan is another one now, 0, or a negative errno. */
int deployment_move_step(json_t *model, const struct move_seen *seen, struct err *err);

bool deployment_is_moving(const json_t *plan); /* any of its models */
/* How many replicas a version has beyond its model's number. */
unsigned deployment_move_extra(const json_t *model, const json_t *version);
/* Does this start of a replica get no requests any more? */
bool deployment_move_leaves(const json_t *model, const json_t *version, int64_t index,
                            int64_t attempt);
/* Those that the job is to start elsewhere now; it may be told again. The first result that is not
 * 0 ends it. */
int deployment_move_each(const json_t *model,
                         int (*fn)(void *arg, const char *group, int64_t index, int64_t attempt),
                         void *arg);
/* "a-1 (node nm3 leaves the cluster) waits for another replica", for status; the caller's, NULL
 * when out of memory. */
char *deployment_move_text(const json_t *model, const json_t *replica);
/* Why: "its node nm3 leaves the cluster"; in `out`. */
#define MOVE_WHY 320
const char *deployment_move_why(const json_t *replica, char out[MOVE_WHY]);
