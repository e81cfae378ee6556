/* autoscale.h - how many replicas a model needs for the requests that it has. Pure.
 *
 *     more:   when each replica had on average more than 1.1 * `target` requests in flight over
 *             the last two seconds, and those of the last step are ready. As many as it takes, by
 *             the last two looks, to have `target` for each again; one step at most doubles them,
 *             or adds four if that is more
 *     fewer:  when fewer would have been enough for the highest load of the whole `cool_down`, and
 *             their number has not changed for as long. The last ones go, and as many of those that
 *             stay are ready
 *
 * So what was taken away is not needed again before the load is higher than it was all that time,
 * and what was added stays for `cool_down` at least. What is not known changes nothing, and what
 * was not seen for a while, or only in part, does not count as little load.
 *
 * In a plan: "autoscale": {"target": 4, "min": 1, "max": 8, "cool_down": 60000} of a model, and
 * "scaled": {"from", "to", "at", "why"}, the last change. A model with 0 replicas is left alone:
 * somebody said so. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "serve/deployment/deployment_plan.h"
#include <stdbool.h>

#define AUTOSCALE_TARGET 4
#define AUTOSCALE_COOL_DOWN_MS 60000
#define AUTOSCALE_TARGET_MAX 1000000
#define AUTOSCALE_COOL_DOWN_MAX_MS ((int64_t)86400 * 1000)

struct autoscale {
    unsigned target; /* requests in flight for each replica */
    unsigned min, max;
    int64_t cool_down; /* ms */
};

/* The rule of a document; -EINVAL with what is wrong with it. Hostile. */
int autoscale_parse(const json_t *rule, struct autoscale *ret, struct err *err);
/* That of a model of a plan; false: it has none. */
bool autoscale_of(const json_t *model, struct autoscale *ret);
json_t *autoscale_json(const struct autoscale *rule); /* a new one, or NULL */

/* Which replicas are ready. */
struct autoscale_ready {
    unsigned n;
    bool is[DEPLOYMENT_REPLICAS]; /* by their index */
};

/* Requests in flight of the version that serves, by the gateway's report of the model; -1: it is
 * not known. */
int64_t autoscale_load(const json_t *model, const json_t *report, struct autoscale_ready *ret);

struct autoscale_seen {
    int64_t now; /* ms, a clock that does not jump */
    int64_t load;
    bool partial; /* there may be more: requests that an older process of the gateway still has */
    unsigned replicas; /* that there should be */
    struct autoscale_ready ready;
};

#define AUTOSCALE_RECENT 16
#define AUTOSCALE_PARTS 12 /* of a cool-down */

/* What was seen; all zero is nothing. */
struct autoscale_memory {
    int64_t since, last; /* of what was seen without a gap */
    int64_t cool_down;   /* of the rule then */
    int64_t changed;     /* when the number of replicas did last */
    unsigned replicas;
    struct {
        int64_t at, load;
    } recent[AUTOSCALE_RECENT];
    size_t n; /* looks so far; the next one goes to n % AUTOSCALE_RECENT */
    struct {
        int64_t part, most;
    } parts[AUTOSCALE_PARTS + 1]; /* the highest load, by time divided by a part's length */
};

#define AUTOSCALE_WHY 160

/* One look: how many replicas there should be, with `why` if they are not as many as now. */
unsigned autoscale_look(const struct autoscale *rule, struct autoscale_memory *m,
                        const struct autoscale_seen *seen, char why[AUTOSCALE_WHY]);
