/* deployment_plan.h - the plan of a deployment: what is to run, as a document in the job's
 * key-value store; and the spec of its gateway that follows from it. Pure.
 *
 *     {"name": "shop", "revision": 7, "serial": 2, "registry": "/models", "use": "shop-4f2a91c0",
 *      "platform": "yarn", "direct": false, "gateways": 2,
 *      "origin": {"machine": "…", "registry": "/models"},
 *      "models": [{"name": "resnet", "replicas": 2, "groups": ["a", "b"], "serve": 1,
 *        "previous": 0, "follow": "champion",
 *        "versions": [{"version": 1, "group": "a", "serial": 1, "path": "/models/…/1",
 *                      "format": "onnx", "library": "/…/libonnxruntime.so", "sha256": "…",
 *                      "manifest": "…"}],
 *        "update": {…}, "next": {…}, "last": {…}, "settings": {"cpus": "1"},
 *        "autoscale": {…}, "scaled": {…}, "moving": {…}}],
 *      "answers": [{"id": "…", "error": "…"}], "gateway": {"host": "127.0.0.1"},
 *      "cache_limit": 53687091200}
 *
 * The environment of the job's tasks has the first one. From then on the gateway's task alone
 * changes it (controller.h); everybody else asks for changes (deployment_request.h). Members that
 * are not ours are the gateway's own (doc/reference/gateway.md).
 *
 * A group is a role of the job. Each model has two, and a version in a group has a serial number:
 * what replicas of an earlier version in the same group said does not count. Each replica says
 * where it listens by a key of the store, whose name is all that counts:
 *
 *     serve/at/GROUP/SERIAL/INDEX/ATTEMPT/HOST:PORT
 *
 * A replica that moved has several; the highest attempt is the present one. */
#pragma once
#include "base/json.h"
#include "base/str.h"
#include <stdbool.h>

#define DEPLOYMENT_PLAN_ENV "YDL_SERVE_PLAN" /* of the job's tasks: the first plan */
#define DEPLOYMENT_PLAN "serve/plan"
#define DEPLOYMENT_AT "serve/at/"
#define DEPLOYMENT_FETCH "serve/fetch/"  /* GROUP/SERIAL/INDEX: "DONE TOTAL" bytes of a fetch */
#define DEPLOYMENT_ASK "serve/ask/"      /* ID: a request for a change */
#define DEPLOYMENT_STATUS "serve/status" /* what the gateway says of itself */
#define DEPLOYMENT_MODELS 12             /* most models of a deployment */
#define DEPLOYMENT_REPLICAS 256 /* most replicas of a version: as many as a gateway takes */
#define DEPLOYMENT_GROUP 33     /* bytes of a group's name, with the NUL */

/* On YARN what the gateway needs travels: where its task finds it. */
#define DEPLOYMENT_HAPROXY "ydl-haproxy"
#define DEPLOYMENT_HAPROXY_LIB DEPLOYMENT_HAPROXY "/lib" /* what it loads */

/* -EINVAL for what is no plan. `what` names it. */
int deployment_plan_check(const char *what, const json_t *plan, struct err *err);
int deployment_plan_parse(const char *what, const char *text, json_t **ret, struct err *err);

/* ---- looking into one; all borrowed, NULL: there is none ---- */
json_t *deployment_model(const json_t *plan, const char *name); /* NULL: the only one */
json_t *deployment_version(const json_t *model, int64_t number);
/* The version that is in a group, and its model. */
json_t *deployment_in_group(const json_t *plan, const char *group, json_t **ret_model);
/* Does it run on YARN? Its member "platform" says so. */
bool deployment_is_on_yarn(const json_t *plan);
/* Without a gateway: clients ask the replicas. Its member "direct" says so. */
bool deployment_is_direct(const json_t *plan);
/* How many gateways there are, at least 1. Its member "gateways" says so. */
unsigned deployment_gateways(const json_t *plan);
/* How many replicas a group has to have. */
unsigned deployment_group_size(const json_t *model, const char *group);

/* ---- replicas ---- */

/* Can this key be deleted: was the replica started again since it wrote it, or scaled away, or does
 * it belong to a version that is gone? */
bool deployment_is_past(const json_t *plan, const char *key, const struct strs *keys);
/* The group of a replica's key; false: it is none. */
bool deployment_key_group(const char *key, char out[DEPLOYMENT_GROUP]);
/* Has one of a version's replicas with the index `n` or above said where it is; and, where `rows`
 * (of a gateway's report) are not NULL, does the gateway still have something for it? */
bool deployment_has_beyond(const json_t *version, unsigned n, const struct strs *keys,
                           const json_t *rows);
/* How often each replica of a version was started before, by its index; -1: it said nothing. */
void deployment_attempts(const json_t *version, const struct strs *keys,
                         int64_t ret[DEPLOYMENT_REPLICAS]);

/* What the gateway's task knows that the plan does not. */
struct deployment_here {
    const char *listen;   /* HOST:PORT */
    const char *key_file; /* what replicas are shown */
    const json_t *shares; /* of canaries: gateway_reports.h; NULL: the gateway judges by itself */
    const char *dir;      /* where the task was started: files of the plan may be relative to it */
};

/* The gateway's spec as text, the caller's. `keys` begin with DEPLOYMENT_AT; others are passed
 * over. Replicas beyond their group's size are left out. */
int deployment_spec(const json_t *plan, const struct deployment_here *here, const struct strs *keys,
                    char **ret, struct err *err);
