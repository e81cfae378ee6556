/* yarn_spread.h - chooses the node to ask for, for each container.
 *
 * The scheduler gives out what may run anywhere one container at a time, with each report of a
 * node; what is asked for on particular nodes comes at once. So every container gets a node of its
 * choice here: where most is free, evenly, or as its role wants it. An ask that is not served there
 * soon is repeated for any node, or, for roles that want a node for each container, for any node
 * without one. Pure; one thread. */
#pragma once
#include "platform/yarn/yarn_job_facts.h"
#include <stdbool.h>

struct yarn_spread; /* opaque */

#define YARN_SPREAD_ANYWHERE SIZE_MAX

/* What a container wants of its node. Everything is borrowed. */
struct yarn_spread_want {
    const struct yarn_resource *size;
    const char *label; /* of the nodes; NULL: of those without one */
    size_t role;       /* its role's place in the job */
    enum spec_spread how;
    const struct strs
        *hosts; /* those first, if they have room: hosts and /racks; NULL: all alike */
};

/* Nodes as they were when the job was submitted; copied. NULL when out of memory. */
struct yarn_spread *yarn_spread_new(const struct yarn_facts_node *nodes, size_t n);
struct yarn_spread *yarn_spread_free(struct yarn_spread *s); /* always NULL */

/* Picks a node with room and takes the room; YARN_SPREAD_ANYWHERE when none is known. */
size_t yarn_spread_pick(struct yarn_spread *s, const struct yarn_spread_want *w);
/* Gives the room back. ANYWHERE is fine. */
void yarn_spread_back(struct yarn_spread *s, size_t node, const struct yarn_spread_want *w);
/* A container asked for on `node` was granted on `host`, which may be new: moves the reservation.
 * Returns the node, ANYWHERE when out of memory. */
size_t yarn_spread_move(struct yarn_spread *s, size_t node, const char *host,
                        const struct yarn_spread_want *w);

/* May one more run on this host, besides the one that is to be on `node`? Room is not looked at.
 */
bool yarn_spread_allows(const struct yarn_spread *s, size_t node, const char *host,
                        const struct yarn_spread_want *w);
/* Nodes on which it may run, whether there is room now or not: at most `max`, beginning with a
 * different one for each `turn`. Returns how many. */
size_t yarn_spread_choice(const struct yarn_spread *s, const struct yarn_spread_want *w,
                          size_t turn, size_t *nodes, size_t max);

const char *yarn_spread_host(const struct yarn_spread *s, size_t node); /* borrowed */
const char *yarn_spread_rack(const struct yarn_spread *s, size_t node);

/* The node can (no longer) be used; one that was not known is added when it is `usable`. */
int yarn_spread_set(struct yarn_spread *s, const struct yarn_facts_node *node, bool usable);
/* Nothing is asked for on this node, whatever the cluster says of it, until that is taken back. */
void yarn_spread_avoid(struct yarn_spread *s, const char *host, bool on);
/* How many nodes that can be told apart are available with this label, the avoided ones among them;
 * NULL: without one. YARN knows nodes by their hosts' names: NodeManagers that share a name can
 * only be avoided together. */
size_t yarn_spread_count(const struct yarn_spread *s, const char *label);
