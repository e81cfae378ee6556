/* replica.h - a replica's task of a deployment: which version it is to serve, and saying where it
 * listens. Fibers only. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "loop/loop.h"

/* Set by the platform: directories of this user on the node, with commas between them. */
#define REPLICA_NODE_DIRS_ENV "YDL_NODE_DIRS"

struct replica_task {
    struct loop *loop;
    const char *plan;                            /* JSON: the first one */
    const char *socket, *role, *index, *attempt; /* the task's own */
    const char *address;                         /* HOST:PORT where it will listen */
    const char *key_file;                        /* where to write what its gateway will show */
    void (*note)(void *user, const char *text);  /* what its user may want to know */
    void *user;
};

/* Waits for the gateway's key, announces the replica, and has its version on this machine: from a
 * registry on HDFS it is fetched. *ret is what its group runs now: {model,
 * version, path, library, …}, the caller's; "open" is true where it is to answer everybody. */
int replica_begin(const struct replica_task *t, json_t **ret, struct err *err);
