/* deployment_plan.h - from the plan of a deployment to the spec of its gateway. Pure.
 *
 * A plan is a gateway's spec (doc/reference/gateway.md) whose versions name a group of replicas, a
 * role of the job, in place of the replicas, and that has no address:
 *
 *     {"models": [{"name": "resnet", "serve": 2, "versions": [{"version": 2, "group": "a"}]}]}
 *
 * Each replica says where it listens by a key of the job's key-value store, whose name is all that
 * counts:
 *
 *     serve/at/GROUP/INDEX/ATTEMPT/HOST:PORT
 *
 * A replica that moved has several; the highest attempt is the present one. */
#pragma once
#include "base/json.h"
#include "base/str.h"

#define DEPLOYMENT_PLAN_ENV "YDL_SERVE_PLAN" /* of the gateway's task */
#define DEPLOYMENT_AT "serve/at/"
#define DEPLOYMENT_SIZE "serve/size/"    /* GROUP: how many replicas it has, once it was scaled */
#define DEPLOYMENT_STATUS "serve/status" /* what the gateway says of itself */

struct deployment_size {
    char group[33];
    unsigned n;
};

/* What replicas say; all borrowed. */
struct deployment_replicas {
    const struct strs *keys; /* those that begin with DEPLOYMENT_AT; others are passed over */
    const struct deployment_size *sizes;
    size_t n_sizes;
};

/* Was this replica started again since it wrote the key? Such keys can be deleted. */
bool deployment_is_past(const char *key, const struct strs *keys);

/* The spec as text, the caller's. Replicas beyond their group's size are left out. -EINVAL for what
 * is no plan. */
int deployment_spec(const json_t *plan, const char *listen, const struct deployment_replicas *x,
                    char **ret, struct err *err);
