/* recovery.h - what to do when a pipeline breaks: the decisions, without the doing. Pure.
 *
 * A pipeline that loses a DataNode continues with the others: what they acked is safe, and what
 * they did not ack is still in our memory and is sent again. */
#pragma once
#include "hadoop/hdfs/packet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* dfs.client.block.write.replace-datanode-on-failure.* */
enum replace_when { REPLACE_NEVER, REPLACE_DEFAULT, REPLACE_ALWAYS };

struct replace_policy {
    enum replace_when when;
    bool best_effort;         /* go on without when none can be found */
    uint32_t min_replication; /* the same when at least so many are left; 0 for never */
};

/* Whether a DataNode should be added to a pipeline of which `left` of `wanted` are well. By
 * default only for blocks that three or more should have, and then when half are lost or a reader
 * may count on what it saw (`flushed`). */
bool recovery_replace(const struct replace_policy *p, uint32_t wanted, size_t left, bool flushed);

/* Whether it may go on with `left` DataNodes after none could be added: always, but where the
 * configuration insists (ALWAYS, and no best effort). A write that one DataNode can still take is
 * not given up because others are missing. */
bool recovery_go_on(const struct replace_policy *p, size_t left);

/* How far a block has come. */
enum stage {
    STAGE_SETUP,  /* nothing was sent: the block can be given back */
    STAGE_STREAM, /* packets are under way */
    STAGE_CLOSE,  /* all data is acked, the empty last packet was sent */
};

/* What broke. */
enum fault {
    FAULT_NODE,    /* one DataNode, known by its index */
    FAULT_FIRST,   /* the connection: the first DataNode is to blame */
    FAULT_RESTART, /* a DataNode said that it restarts */
};

enum remedy {
    REMEDY_ABANDON, /* give the block back, ask for another without that DataNode */
    REMEDY_REBUILD, /* drop the DataNode, new generation stamp, same block */
    REMEDY_WAIT,    /* give it time to come back, then rebuild with it */
    REMEDY_FAIL,    /* nobody is left */
};

struct breakage {
    enum stage stage;
    enum fault fault;
    size_t nodes;     /* in the pipeline, the bad one included */
    bool unacked;     /* nothing of this block was acked: all of it is still in our memory */
    bool local;       /* the restarting DataNode is on this machine */
    bool waited_long; /* it was waited for as long as the settings say */
};

enum remedy recovery_choose(const struct breakage *b);
