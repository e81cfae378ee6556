/* deployment_request.h - what is asked of a deployment that runs. Pure.
 *
 * Whoever wants a change puts a request into the job's key-value store, under serve/ask/ID, and
 * finds the answer in the plan, under the same ID, in the same revision as the change itself: a
 * request is carried out once, whoever is killed meanwhile.
 *
 *     {"do": "update", "model": "resnet", "version": {"version": 2, "path": …, "format": …,
 *      "library": …, "sha256": …}, "percent": 10, "errors": 1, "slower": 2, "requests": 200,
 *      "watch": 0, "warm": 120000, "by": "me", "replace": false, "follow": "champion" or null}
 *     {"do": "return", "model": "resnet", "by": "me"}
 *     {"do": "scale", "model": "resnet", "replicas": 3, "autoscale": {…} or null}
 *
 * `percent` is the share of the new version while it is watched; `watch` (milliseconds; 0: none) is
 * how long that takes if too few requests come to judge it by; `warm` is the time for its replicas
 * to become ready. Of `replicas` and `autoscale` (autoscale.h; null: no longer) one may be missing.
 * A `follow` that is there says which alias the model follows from now on. */
#pragma once
#include "base/json.h"

#define DEPLOYMENT_ID_MAX 64 /* characters of a request's id */

/* Carries a request out: 1 when the plan has changed, and has the answer; 0: it had been carried
 * out before. -ENOMEM. `text` is hostile. */
int deployment_request(json_t *plan, const char *id, const char *text, int64_t now,
                       struct err *err);
/* The same for one that is refused for a reason that the plan does not show. */
int deployment_refuse(json_t *plan, const char *id, const struct err *why, struct err *err);
/* The answer in a plan: {id, error?, hint?}; NULL: there is none yet. Borrowed. */
const json_t *deployment_answer(const json_t *plan, const char *id);
