/* rabit_map.h - who is linked to whom among the workers of a rabit job. Pure.
 *
 * Two shapes over the same workers: a binary tree, in which values are reduced, and a ring, in
 * which data is passed on. Ranks are given along the ring, and the ring walks the tree so that most
 * steps follow an edge that the tree has already: few links serve both. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdint.h>

#define RABIT_TREE_MAX 3  /* a parent and two children */
#define RABIT_LINKS_MAX 5 /* and two neighbours in the ring */

struct rabit_node {
    int32_t parent; /* rank; -1: the root */
    int32_t tree[RABIT_TREE_MAX], n_tree;
    int32_t prev, next;                      /* in the ring; -1 when it is alone */
    int32_t links[RABIT_LINKS_MAX], n_links; /* all of these, each once */
};

/* *ret is an array of `world` nodes by rank, the caller's: free(). */
int rabit_map_new(unsigned world, struct rabit_node **ret, struct err *err);
