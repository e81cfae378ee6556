/* replica_key.h - the key that the gateway of a deployment shows to its replicas, which answer
 * nobody else. The gateway's task makes it, once for the deployment, and keeps it in the job's
 * key-value store: whoever is started again finds it there. Both write it to a file that nobody
 * else can read, for the programs that take it from one. Fibers only. */
#pragma once
#include "base/err.h"
#include "serve/deployment/line_client.h"

#define REPLICA_KEY "serve/key"

/* The gateway's side: the key is made if there is none yet, and written to `path`. */
int replica_key_make(struct line_client *store, const char *path, struct err *err);
/* A replica's: it is waited for. -ETIMEDOUT: the gateway's task has not made one in time. */
int replica_key_await(struct line_client *store, const char *path, struct err *err);
/* Adds the keys of the deployment's users, where they ask replicas directly. */
int replica_key_add(const char *path, const char *users, struct err *err);
