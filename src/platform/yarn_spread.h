/* yarn_spread.h - which node each container is asked for on.
 *
 * The scheduler gives out what may run anywhere one container at a time, with each report of a
 * node; what is asked for on particular nodes comes at once. So every container gets a node of its
 * choice here: where most is free, evenly. What is not served there soon is asked for anywhere.
 * Pure; one thread. */
#pragma once
#include "platform/yarn_facts.h"
#include <stdbool.h>

struct yarn_spread; /* opaque */

#define YARN_SPREAD_ANYWHERE SIZE_MAX

/* Nodes as they were when the job was submitted; copied. NULL when out of memory. */
struct yarn_spread *yarn_spread_new(const struct yarn_facts_node *nodes, size_t n);
struct yarn_spread *yarn_spread_free(struct yarn_spread *s); /* always NULL */

/* Picks a node with room for `r` and takes the room; YARN_SPREAD_ANYWHERE when none is known. */
size_t yarn_spread_pick(struct yarn_spread *s, const struct yarn_resource *r);
/* Gives the room back. ANYWHERE is fine. */
void yarn_spread_back(struct yarn_spread *s, size_t node, const struct yarn_resource *r);
const char *yarn_spread_host(const struct yarn_spread *s, size_t node); /* borrowed */
const char *yarn_spread_rack(const struct yarn_spread *s, size_t node);

/* The node is (not) to be had any more; one that was not known is added when it `usable`. */
int yarn_spread_set(struct yarn_spread *s, const struct yarn_facts_node *node, bool usable);
size_t yarn_spread_usable(const struct yarn_spread *s); /* how many nodes there are */
