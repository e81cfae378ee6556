/* cluster_facts.h - what a client must know of a YARN cluster before it submits: nodes, limits,
 * labels and the queue.
 *
 * deploy_facts_get() asks the ResourceManager, a few calls of a millisecond or two each; the rest
 * is plain data, which capacity.h judges. Amounts are vectors over `types`: [0] is memory in MB,
 * [1] is cores, then further types by name (yarn.io/gpu). Strings are never NULL. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "base/str.h"
#include "hadoop/yarn/ids.h"
#include <stdbool.h>
#include <stdint.h>

struct session;
struct yarn_client;

#define DEPLOY_MOST ((int64_t)1 << 45) /* no amount is larger, so that sums cannot overflow */
#define DEPLOY_TYPES 16                /* of resources; a cluster's further ones are left out */
enum { DEPLOY_MEMORY, DEPLOY_CORES };
#define DEPLOY_GPU "yarn.io/gpu"

struct deploy_size {
    int64_t v[DEPLOY_TYPES]; /* what a cluster does not have is 0 */
};

struct deploy_node {
    char *host, *rack, *label; /* label "": none */
    int port;
    bool running; /* takes containers now: not lost, unhealthy or on its way out */
    struct deploy_size total, used;
};

struct deploy_label {
    char *name;
    bool exclusive; /* else its nodes also serve asks without a label while they are idle */
};

/* What the queue may take of the nodes of one label. */
struct deploy_share {
    char *label;             /* "": nodes without one */
    bool limited;            /* `most` is known */
    struct deploy_size most; /* where limited; DEPLOY_MOST for a type without a limit */
};

/* The queue to submit to. Without one of that name only `name`, `found` and `others` count. */
struct deploy_queue {
    char *name; /* as it was asked for */
    bool found, leaf, running;
    bool may_come;           /* not found, but the scheduler may create it at the first submit */
    bool silent;             /* its scheduler does not report its limits */
    int may_submit;          /* the user's right: 1, 0, or -1 when the RM does not say */
    struct deploy_size used; /* by the whole queue now; memory and cores only */
    struct deploy_share *shares;
    size_t n_shares;
    struct strs labels; /* that it may use; "*" among them means all */
    char *default_label;
    struct strs others; /* leaf queues of the cluster, for hints; filled when it cannot be used */
};

struct deploy_facts {
    struct yarn_app_id app; /* a new application's id: the submit's, if there will be one */
    char *user;             /* as the cluster sees us */
    struct strs types;      /* names, at most DEPLOY_TYPES; the first two always "memory-mb",
                               "vcores" */
    bool more_types;        /* there are further ones */
    struct deploy_node *nodes;
    size_t n_nodes;
    struct deploy_size largest; /* the most that one container may ask for, whatever the node */
    /* The smallest container, and of what asks are rounded up to multiples. The RM does not tell;
     * it is what the configuration here says, and 1 where that says nothing, or 0: does not matter.
     */
    struct deploy_size least, step;
    /* Whether the scheduler counts cores at all: by default YARN's does not. True only where it is
     * certain: there are further types, or capacity-scheduler.xml stands beside the configuration
     * and says so. */
    bool counts_cores;
    struct deploy_label *labels;
    size_t n_labels;
    struct deploy_queue queue;
};

/* `queue` NULL is "default". A queue that is not there is no error (capacity_check() says so).
 * Fibers only. `ret` is filled again and needs deploy_facts_done() after success. The session is
 * that of the client. */
int deploy_facts_get(struct yarn_client *c, struct session *s, const char *queue,
                     struct deploy_facts *ret, struct err *err);
void deploy_facts_done(struct deploy_facts *f); /* zero is fine */

#define AUTO_DEPLOY_FACTS AUTO_DONE(deploy_facts_done) struct deploy_facts

/* The place of a type in sizes, or -1. */
int deploy_type(const struct deploy_facts *f, const char *name);
/* What the queue may take of nodes with this label, or NULL when the RM did not say. */
const struct deploy_share *deploy_share(const struct deploy_queue *q, const char *label);
