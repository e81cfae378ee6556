/* controller.h - the gateway of a deployment: HAProxy in front of the replicas that there are.
 *
 * Looks at the job's key-value store for replicas, tells the gateway of changes, and puts what the
 * gateway says of itself there (deployment_plan.h). Fibers only. */
#pragma once
#include "base/err.h"
#include "loop/loop.h"

struct controller_options {
    struct loop *loop;
    const char *plan;    /* JSON */
    const char *socket;  /* the task's own: YDL_SOCKET */
    const char *listen;  /* HOST:PORT of the gateway */
    const char *dir;     /* ours alone, absolute and short: files and sockets are made there */
    const char *haproxy; /* the program */
    void (*note)(void *user, const char *text);
    void *user;
};

/* Runs until the fiber is cancelled (0, when all has ended in order), or the gateway fails. */
int controller_run(const struct controller_options *o, struct err *err);
/* A replica says where it is. */
int controller_announce(struct loop *l, const char *socket, const char *key, struct err *err);
