/* controller.h - the gateway's task of a deployment: HAProxy in front of the replicas that there
 * are, and whoever carries the plan out. Of several gateways that is the first one; the others
 * follow (gateway_reports.h).
 *
 * The plan (deployment_plan.h) is in the job's key-value store, and this alone changes it: when
 * somebody asks (deployment_request.h), when an update comes to its next step
 * (deployment_update.h), when an alias that is followed was moved. A change is written there before
 * anything is done about it, and everything that is done can be done twice: a controller that is
 * killed is followed by one that goes on from what the store says. Fibers only. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "loop/loop.h"

struct controller_options {
    struct loop *loop;
    const char *plan;    /* JSON: the first one */
    const char *socket;  /* the task's own: YDL_SOCKET */
    const char *listen;  /* HOST:PORT of the gateway */
    const char *dir;     /* ours alone, absolute and short: files and sockets are made there */
    const char *home;    /* where the task was started, absolute */
    const char *haproxy; /* the program */
    unsigned index;      /* of several gateways: the first one, 0, carries the plan out */
    void (*note)(void *user, const char *text);
    /* What runs a version that an alias names now: adds "library" to {version, path, format}, as
     * far as it is another format than that of `present`. -EINVAL: it cannot be served. */
    int (*find)(void *user, const json_t *present, json_t *version, struct err *err);
    void *user;
};

/* Runs until the fiber is cancelled (0, when all has ended in order), or the gateway fails. */
int controller_run(const struct controller_options *o, struct err *err);
