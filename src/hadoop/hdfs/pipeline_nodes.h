/* pipeline_nodes.h - the DataNodes of a block, as a writer keeps them: copies that can be dropped
 * one by one. Pure. */
#pragma once
#include "hadoop/hdfs.pb-c.h"
#include <stdbool.h>
#include <stddef.h>

struct node {
    Hdfs__DatanodeInfo *info;
    Hdfs__StorageType storage; /* kind of the disk the block goes to */
    char *storage_id;          /* and which one; "" when the NameNode does not say */
};

struct nodes {
    struct node *v;
    size_t n;
};

/* Fills `ret`, which is empty, with the locations of a block. -ENOMEM leaves it empty. */
int nodes_from(struct nodes *ret, const Hdfs__LocatedBlock *block);
int nodes_add(struct nodes *to, const struct node *node); /* copies */
void nodes_remove(struct nodes *from, size_t i);
bool nodes_have(const struct nodes *in, const Hdfs__DatanodeId *id);
void nodes_done(struct nodes *n); /* zero is fine; empty then */

/* The index of the one whose address ("10.0.0.1:9866") this is, as DataNodes call each other; -1
 * when none. */
int nodes_find_address(const struct nodes *in, const char *address);
bool node_same(const Hdfs__DatanodeId *a, const Hdfs__DatanodeId *b);

#define AUTO_NODES AUTO_DONE(nodes_done) struct nodes
