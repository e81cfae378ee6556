/* cluster_spec.h - the cluster specification: where every task of one generation listens.
 *
 * Filled by the master once every port is held; read by frameworks, variables and `ydl spec`.
 * Pure. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_PORTS_MAX 4 /* of one task */

struct cluster_task {
    const char *host;    /* numeric address; borrowed from the node table */
    const char *node;    /* the machine's name: equal for tasks on one machine; borrowed */
    unsigned slot;       /* container number within the role */
    unsigned local_rank; /* number within the container */
    unsigned short port[CLUSTER_PORTS_MAX]; /* 0 where it has none */
    unsigned short n_ports;
    uint64_t neighbours; /* bit I: another task, of role I, is on this machine */
};

struct cluster_role {
    const char *name;
    struct cluster_task *tasks; /* by rank */
    size_t n;
};

struct cluster {
    struct cluster_role *roles; /* in the specification's order */
    size_t n;
    unsigned generation;
};

const struct cluster_role *cluster_role(const struct cluster *c, const char *name);

/* Fills in everybody's `neighbours`, when all nodes are known: looked for once, because every task
 * of a large job asks. -ENOMEM. */
int cluster_find_neighbours(struct cluster *c);

/* A task's ports as a list; NULL when out of memory. */
json_t *cluster_ports_json(const struct cluster_task *t);
/* The contents of the file that YDL_SPEC names: {"generation": 0, "roles": {"ps": [{"rank": 0,
 * "host": "127.0.0.1", "node": "…", "ports": [10001]}]}}. */
int cluster_json(const struct cluster *c, json_t **ret, struct err *err);
