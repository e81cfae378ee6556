/* cluster.h - what the verbs of `ydl cluster` share: a client of the ResourceManager. Fibers only.
 */
#pragma once
#include "client/connect.h"
#include "hadoop/yarn/records.h"
#include "hadoop/yarn/rm_client.h"

struct cluster {
    struct connection *x;
    struct yarn_client *yarn;
    bool json;
};

typedef int cluster_fn(struct cluster *k, struct err *err);

/* The verbs' `run`: calls their function with a client; nobody was contacted yet. */
int cluster_run(struct cli *c, struct err *err);
#define CLUSTER_VERB(fn) .run = cluster_run, .work = CLI_WORK(cluster_fn, fn)

/* The arguments of the running verb. */
static inline const void *cluster_args(const struct cluster *k)
{
    return k->x->cli->args;
}

/* An application's id from an operand; CLI_USAGE when it is none. */
int cluster_app_id(const char *text, struct yarn_app_id *ret, struct err *err);

/* Fails with -ENOENT and a hint that names the nearest queue when `name` is none. Applications are
 * in leaf queues: with `leaf`, another one is -EINVAL. */
int cluster_check_queue(struct cluster *k, const char *name, bool leaf, struct err *err);
