/* rebuild.c - making a pipeline: for a new block, or again after a DataNode failed. See writer.h.
 *
 *     addBlock ──► connect, WRITE_BLOCK{CREATE} ──► stream
 *                     │ fails: abandonBlock, that DataNode excluded, once more
 *     a DataNode fails while streaming:
 *       drop it ──► (perhaps another is added) ──► updateBlockForPipeline: new generation stamp
 *         ──► connect, WRITE_BLOCK{STREAMING_RECOVERY} ──► updatePipeline ──► stream on
 *
 * The new stamp makes the replica of the DataNode that was dropped worthless, should it return. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/hdfs/op.h"
#include "hadoop/hdfs/writer.h"

#include <string.h>

#define OP_MAX (1 * MIB)
#define ACK_BUFFER (4 * KIB)
#define NODE_EXTRA_MS 5000 /* a pipeline may take so much longer for each of its DataNodes */
#define REBUILDS_MAX 5     /* in a row without a single ack: the data itself upsets them */
/* addBlock answers NotReplicatedYet until a DataNode has reported the block before, which takes
 * milliseconds on a healthy cluster. So the first wait is short, and they double. */
#define ADD_FIRST_MS 5
#define ADD_MOST_MS 1600
#define ADD_WAIT_MS 30000
#define NO_SPACE_PAUSE_MS 1000
/* A DataNode that announced its restart is tried again this often. */
#define RESTART_PAUSE_MS 2000

/* ---- connecting ---- */

/* The failure of a connect or of its answer, as breakage of the pipeline. */
static void pipeline_note_failure(struct hdfs_writer *w, const Hdfs__BlockOpResponse *answer,
                                  const struct err *cause)
{
    enum fault fault = FAULT_FIRST;
    size_t bad = 0;

    if (answer && answer->first_bad_link && answer->first_bad_link[0]) {
        int i = nodes_find_address(&w->p.nodes, answer->first_bad_link);

        fault = FAULT_NODE;
        bad = i < 0 ? 0 : (size_t)i;
    }
    if (answer && answer->status == HDFS__TRANSFER_STATUS__TRANSFER_OOB_RESTART)
        fault = FAULT_RESTART;
    pipeline_break(w, fault, bad, cause);
}

static int ask_to_write(struct hdfs_writer *w, Hdfs__BlockStage stage, uint64_t new_stamp,
                        Hdfs__BlockOpResponse **ret, struct err *err)
{
    Hdfs__ExtendedBlock block = w->p.block;
    const struct op_block op_block = {
        .block = &block,
        .token = w->p.token,
        .client_name = w->fs->client_name,
    };
    const struct op_write op_write_args = {
        .nodes = &w->p.nodes,
        .stage = stage,
        .min_bytes = w->p.acked,
        .max_bytes = w->p.sent,
        .new_stamp = new_stamp,
        .checksum = (Hdfs__ChecksumType)w->crc,
        .chunk = (uint32_t)w->chunk,
    };
    AUTO_BUF op = { .max = OP_MAX };
    int r;

    block.has_num_bytes = true;
    /* In WRITE_BLOCK this field is not the length so far: DataNodes choose a volume with enough
     * room by it. */
    block.num_bytes = w->block_size; /* how large it may become */
    r = op_write(&op, &op_block, &op_write_args);
    if (r < 0)
        return err_code(err, r, "ask for a pipeline");
    return datanode_ask(w->p.stream, &op, ret, err);
}

/* Connects to the first DataNode, which connects to the next, and so on. A failure of a DataNode is
 * noted and gives 1; a negative result is final. */
static int connect_pipeline(struct hdfs_writer *w, Hdfs__BlockStage stage, uint64_t new_stamp,
                            struct err *err)
{
    const struct hdfs_settings *set = &w->fs->settings;
    int64_t extra = NODE_EXTRA_MS * (int64_t)w->p.nodes.n;
    const struct dn_stream_limits limits = {
        .connect_ms = set->connect_ms + extra,
        .read_ms = set->read_ms + extra,
        .write_ms = set->write_ms + extra,
        .buffer = ACK_BUFFER,
    };
    AUTO_ANSWER *answer = NULL;
    struct err cause = ERR_INIT;
    int r;

    w->p.broken = false;
    r = datanode_connect(w->fs, w->p.nodes.v[0].info->id, w->p.token, &limits, &w->p.stream,
                         &cause);
    if (r == 0)
        r = ask_to_write(w, stage, new_stamp, &answer, &cause);
    if (r == 0)
        return 0;
    w->p.stream = dn_stream_close(w->p.stream);
    if (r == -ECANCELED || r == -ENOMEM) {
        *err = cause;
        return r;
    }
    pipeline_note_failure(w, answer, &cause);
    return 1;
}

/* ---- a new block ---- */

static int add_block_once(struct hdfs_writer *w, Hdfs__AddBlockResponse **ret, struct err *err)
{
    Hdfs__AddBlockRequest request = HDFS__ADD_BLOCK_REQUEST__INIT;
    AUTO_FREE Hdfs__DatanodeInfo **excluded = calloc(w->excluded.n + 1, sizeof(*excluded));

    if (!excluded)
        return err_oom(err);
    for (size_t i = 0; i < w->excluded.n; i++)
        excluded[i] = w->excluded.v[i].info;
    request.src = w->path;
    request.client_name = w->fs->client_name;
    /* By `previous` the NameNode recognizes a repeated addBlock and answers with the block that it
     * gave the first time, so the call can be retried safely. */
    request.previous = w->has_previous ? &w->previous : NULL;
    request.exclude_nodes = excluded;
    request.n_exclude_nodes = w->excluded.n;
    request.has_file_id = true;
    request.file_id = w->file_id;
    return nn_call(w->fs->nn, NN_ADD_BLOCK, &request, ret, err);
}

/* Waits while the block before is not reported yet, and gives excluded DataNodes another chance
 * when no others are left. */
static int add_block(struct hdfs_writer *w, Hdfs__AddBlockResponse **ret, struct err *err)
{
    int64_t until = loop_in(w->fs->loop, ADD_WAIT_MS), pause = ADD_FIRST_MS;

    for (;;) {
        int r = add_block_once(w, ret, err);

        if (r == 0)
            return 0;
        if (err->detail == RPC_EX_NOT_REPLICATED_YET && loop_now(w->fs->loop) < until) {
            r = fiber_sleep(w->fs->loop, pause);
            pause = pause * 2 < ADD_MOST_MS ? pause * 2 : ADD_MOST_MS;
        } else {
            r = explain("add a block to", w->path, r, err);
            if (r != -ENOSPC || w->excluded.n == 0)
                return r;
            nodes_done(&w->excluded);
            r = fiber_sleep(w->fs->loop, NO_SPACE_PAUSE_MS);
        }
        if (r < 0)
            return err_set(err, r, "stopped");
    }
}

/* The answer becomes the block of the pipeline. The token is borrowed, so the answer stays as
 * `holder` for as long as the pipeline does. The pool's name is copied: `previous` needs it after
 * the pipeline is gone. */
static int take_block(struct hdfs_writer *w, Hdfs__AddBlockResponse *answer, struct err *err)
{
    const Hdfs__LocatedBlock *b = answer->block;

    pipeline_leave(w);
    w->p.holder = answer;
    w->p.token = b->block_token;
    if (!w->pool)
        w->pool = strdup(b->block->pool_id);
    if (!w->pool || nodes_from(&w->p.nodes, b) < 0)
        return err_oom(err);
    if (w->p.nodes.n == 0)
        return err_set(err, -EPROTO, "the NameNode names no DataNode for a block");
    hdfs__extended_block__init(&w->p.block);
    w->p.block.pool_id = w->pool;
    w->p.block.block_id = b->block->block_id;
    w->p.block.generation_stamp = b->block->generation_stamp;
    return 0;
}

/* Gives the block back and keeps away from the DataNode that failed. */
static int abandon(struct hdfs_writer *w, struct err *err)
{
    Hdfs__AbandonBlockRequest request = HDFS__ABANDON_BLOCK_REQUEST__INIT;
    AUTO_RPC Hdfs__AbandonBlockResponse *answer = NULL;
    int r = nodes_add(&w->excluded, &w->p.nodes.v[w->p.bad]);

    if (r < 0)
        return err_oom(err);
    request.block = &w->p.block;
    request.src = w->path;
    request.holder = w->fs->client_name;
    request.has_file_id = true;
    request.file_id = w->file_id;
    r = hdfs_call(w->fs, NN_ABANDON_BLOCK, w->path, &request, &answer, err);
    if (r < 0)
        return r;
    pipeline_leave(w);
    return 0;
}

static void trace_pipeline(const struct hdfs_writer *w)
{
    for (size_t i = 0; i < w->p.nodes.n; i++)
        trace(LOG_HDFS, "write '%s': block %llu, DataNode %zu of %zu: %s:%u", w->path,
              (unsigned long long)w->p.block.block_id, i + 1, w->p.nodes.n,
              w->p.nodes.v[i].info->id->ip_addr, w->p.nodes.v[i].info->id->xfer_port);
}

/* Nothing was written yet, so a failed setup is not recovered: the block is given back and the next
 * one comes with other DataNodes, because the one that failed is excluded. */
int pipeline_setup(struct hdfs_writer *w, struct err *err)
{
    struct err cause = ERR_INIT;
    int r = 0;

    for (int tries = 0; tries <= w->fs->settings.block_retries; tries++) {
        Hdfs__AddBlockResponse *answer = NULL;

        r = add_block(w, &answer, err);
        if (r == 0 && answer)
            r = take_block(w, answer, err);
        if (r == 0)
            r = connect_pipeline(w, HDFS__BLOCK_STAGE__STAGE_CREATE, 0, err);
        if (r < 0)
            return r;
        if (r == 0) {
            w->p.open = true;
            w->p.stage = STAGE_STREAM;
            trace_pipeline(w);
            return streamer_start_acker(w, err);
        }
        cause = w->p.cause;
        r = abandon(w, err);
        if (r < 0)
            return r;
    }
    return err_set(err, -EIO, "no pipeline could be set up in %d tries, the last: %s",
                   w->fs->settings.block_retries + 1, cause.text);
}

/* ---- after a failure ---- */

/* The NameNode hands out a new generation stamp and a fresh token, but does not use the stamp
 * before updatePipeline: should we die in between, the old replicas are still the block. */
static int new_stamp(struct hdfs_writer *w, uint64_t *ret, struct err *err)
{
    Hdfs__UpdateBlockForPipelineRequest request = HDFS__UPDATE_BLOCK_FOR_PIPELINE_REQUEST__INIT;
    Hdfs__UpdateBlockForPipelineResponse *answer = NULL;
    int r;

    w->p.block.has_num_bytes = true;
    w->p.block.num_bytes = w->p.acked;
    request.block = &w->p.block;
    request.client_name = w->fs->client_name;
    r = hdfs_call(w->fs, NN_UPDATE_BLOCK_FOR_PIPELINE, w->path, &request, &answer, err);
    if (r < 0)
        return r;
    *ret = answer->block->block->generation_stamp;
    w->p.token = answer->block->block_token;
    rpc_free(w->p.holder);
    w->p.holder = answer;
    return 0;
}

/* Only now the NameNode knows the new members and the new stamp. A replica with the old stamp, on
 * the DataNode that was dropped, will be deleted when that one reports it. */
static int update_pipeline(struct hdfs_writer *w, uint64_t stamp, struct err *err)
{
    Hdfs__UpdatePipelineRequest request = HDFS__UPDATE_PIPELINE_REQUEST__INIT;
    AUTO_RPC Hdfs__UpdatePipelineResponse *answer = NULL;
    AUTO_FREE Hdfs__DatanodeId **ids = calloc(w->p.nodes.n, sizeof(*ids));
    AUTO_FREE const char **storages = calloc(w->p.nodes.n, sizeof(*storages));
    Hdfs__ExtendedBlock changed = w->p.block;
    int r;

    if (!ids || !storages)
        return err_oom(err);
    for (size_t i = 0; i < w->p.nodes.n; i++) {
        ids[i] = w->p.nodes.v[i].info->id;
        storages[i] = w->p.nodes.v[i].storage_id;
    }
    changed.generation_stamp = stamp;
    request.client_name = w->fs->client_name;
    request.old_block = &w->p.block;
    request.new_block = &changed;
    request.new_nodes = ids;
    request.storage_ids = storages;
    request.n_new_nodes = request.n_storage_ids = w->p.nodes.n;
    r = hdfs_call(w->fs, NN_UPDATE_PIPELINE, w->path, &request, &answer, err);
    if (r < 0)
        return r;
    w->p.block.generation_stamp = stamp;
    return 0;
}

/* The same block again with the DataNodes that are left. 1: another one failed. The order is the
 * protocol's: new stamp, WRITE_BLOCK with it to all that are left, updatePipeline. A DataNode that
 * fails meanwhile leads to the next round with the next stamp; stamps that were never confirmed
 * cost nothing. While closing, STAGE_CLOSE_RECOVERY also finalizes the replicas. */
static int reconnect(struct hdfs_writer *w, struct err *err)
{
    bool closing = w->p.stage == STAGE_CLOSE;
    uint64_t stamp = 0;
    int r = new_stamp(w, &stamp, err);

    if (r == 0)
        r = connect_pipeline(w,
                             closing ? HDFS__BLOCK_STAGE__STAGE_CLOSE_RECOVERY
                                     : HDFS__BLOCK_STAGE__STAGE_STREAMING_RECOVERY,
                             stamp, err);
    if (r == 0)
        r = update_pipeline(w, stamp, err);
    if (r != 0)
        return r;
    w->p.restart_until = 0;
    trace_pipeline(w);
    if (!closing)
        return streamer_start_acker(w, err);
    /* The DataNodes closed their replicas as they connected: that was the last packet's work. */
    w->unsent = w->first->next;
    w->p.closed = true;
    writer_drop_first(w);
    return 0;
}

/* Waits for a DataNode that said it would be back. */
static int wait_restart(struct hdfs_writer *w, struct err *err)
{
    const struct hdfs_settings *set = &w->fs->settings;

    if (w->p.restart_until == 0)
        w->p.restart_until = loop_in(w->fs->loop, set->restart_ms);
    if (fiber_sleep(w->fs->loop,
                    set->restart_ms < RESTART_PAUSE_MS ? set->restart_ms : RESTART_PAUSE_MS) < 0)
        return err_set(err, -ECANCELED, "stopped");
    return 0;
}

/* The dropped one is excluded for the rest of the file, unless add_block() runs out of others. */
static int drop_bad(struct hdfs_writer *w, struct err *err)
{
    if (nodes_add(&w->excluded, &w->p.nodes.v[w->p.bad]) < 0)
        return err_oom(err);
    nodes_remove(&w->p.nodes, w->p.bad);
    return pipeline_extend(w, err);
}

static enum remedy pipeline_choose(const struct hdfs_writer *w)
{
    const struct pipeline *p = &w->p;
    /* One that is being waited for and does not answer yet is still restarting. */
    bool waiting = p->restart_until != 0;
    const struct breakage b = {
        .stage = p->stage,
        .fault = waiting && p->fault == FAULT_FIRST ? FAULT_RESTART : p->fault,
        .nodes = p->nodes.n,
        .unacked = p->acked == 0 && p->stage == STAGE_STREAM,
        .local = datanode_is_local(p->nodes.v[p->bad].info->id->ip_addr),
        .waited_long = waiting && loop_now(w->fs->loop) > p->restart_until,
    };

    return recovery_choose(&b);
}

static int repair(struct hdfs_writer *w, struct err *err)
{
    switch (pipeline_choose(w)) {
    case REMEDY_ABANDON:
        return abandon(w, err);
    case REMEDY_WAIT:
        return wait_restart(w, err);
    case REMEDY_REBUILD:
        return drop_bad(w, err);
    case REMEDY_FAIL:
    default:
        err_set(err, -EIO, "the last DataNode of the pipeline failed: %s", w->p.cause.text);
        err_hint(err, "with more replicas (dfs.replication) a write survives the loss of one");
        return -EIO;
    }
}

/* Counted without an ack in between (an ack resets it): data that makes every DataNode fail would
 * otherwise go through the whole cluster. A DataNode that announced its restart is not a failure
 * and is not counted. At the end everything unacknowledged is sent again, from the first packet on;
 * a DataNode that has some of it already recognizes that by the offset. */
int pipeline_rebuild(struct hdfs_writer *w, struct err *err)
{
    int r = 1;

    streamer_stop_acker(w);
    w->p.stream = dn_stream_close(w->p.stream);
    if (w->p.restart_until == 0 && w->p.fault != FAULT_RESTART && ++w->rebuilds > REBUILDS_MAX)
        return err_set(err, -EIO, "the pipeline failed %d times in a row, at last: %s", w->rebuilds,
                       w->p.cause.text);
    while (r > 0) {
        r = repair(w, err);
        if (r < 0)
            return r;
        if (!w->p.holder)
            break; /* the block was given back */
        r = reconnect(w, err);
        if (r < 0)
            return r;
    }
    if (!w->p.closed)
        w->unsent = w->first;
    return 0;
}
