/* extend.c - another DataNode for a pipeline that lost one. See writer.h.
 *
 * The NameNode names one, an old member copies its replica there (TRANSFER_BLOCK), and then the new
 * one is a member like the others. */
#include "base/log.h"
#include "hadoop/hdfs/op.h"
#include "hadoop/hdfs/writer.h"

#include <string.h>

#define OP_MAX (1 * MIB)
#define TRIES 3
#define COPY_MS_PER_MIB 100 /* the copy may take so long, besides the usual patience */

static void infos_of(const struct nodes *nodes, Hdfs__DatanodeInfo **out)
{
    for (size_t i = 0; i < nodes->n; i++)
        out[i] = nodes->v[i].info;
}

static int ask_for_one(struct hdfs_writer *w, Hdfs__GetAdditionalDatanodeResponse **ret,
                       struct err *err)
{
    Hdfs__GetAdditionalDatanodeRequest request = HDFS__GET_ADDITIONAL_DATANODE_REQUEST__INIT;
    AUTO_FREE Hdfs__DatanodeInfo **existing = calloc(w->p.nodes.n + 1, sizeof(*existing));
    AUTO_FREE Hdfs__DatanodeInfo **excluded = calloc(w->excluded.n + 1, sizeof(*excluded));
    AUTO_FREE const char **storages = calloc(w->p.nodes.n + 1, sizeof(*storages));

    if (!existing || !excluded || !storages)
        return err_oom(err);
    infos_of(&w->p.nodes, existing);
    infos_of(&w->excluded, excluded);
    for (size_t i = 0; i < w->p.nodes.n; i++)
        storages[i] = w->p.nodes.v[i].storage_id;
    request.src = w->path;
    request.block = &w->p.block;
    request.existing = existing;
    request.excluded = excluded;
    request.existing_storage_uuids = storages;
    request.n_existing = request.n_existing_storage_uuids = w->p.nodes.n;
    request.n_excluded = w->excluded.n;
    request.num_additional_nodes = 1;
    request.client_name = w->fs->client_name;
    request.has_file_id = true;
    request.file_id = w->file_id;
    return nn_call(w->fs->nn, NN_GET_ADDITIONAL_DATANODE, &request, ret, err);
}

/* Has `from` send its replica to `to`, and waits until it is there. The answer comes only when the
 * copy is complete, which takes as long as the block is large. */
static int copy_block(struct hdfs_writer *w, const struct node *from, const struct node *to,
                      const Hadoop__Token *token, struct err *err)
{
    const struct hdfs_settings *set = &w->fs->settings;
    const struct op_block op_block = {
        .block = &w->p.block,
        .token = token,
        .client_name = w->fs->client_name,
    };
    const struct dn_stream_limits limits = {
        .connect_ms = set->connect_ms,
        .read_ms = 2 * set->read_ms + (int64_t)(w->p.sent / MIB) * COPY_MS_PER_MIB,
        .write_ms = set->write_ms,
        .buffer = 4 * KIB,
    };
    AUTO_DN_STREAM *s = NULL;
    AUTO_BUF op = { .max = OP_MAX };
    int r;

    r = op_transfer(&op, &op_block, to);
    if (r < 0)
        return err_code(err, r, "ask for a copy");
    r = datanode_connect(w->fs, from->info->id, token, &limits, &s, err);
    return r < 0 ? r : datanode_ask(s, &op, NULL, err);
}

/* The member of `all` that the pipeline lacks; NULL when there is none. */
static const struct node *find_new(const struct nodes *all, const struct nodes *old)
{
    for (size_t i = 0; i < all->n; i++)
        if (!nodes_have(old, all->v[i].info->id))
            return &all->v[i];
    return NULL;
}

/* Each attempt asks another member to copy: the one asked first may be the slow or full one. A
 * target that could not take the copy is excluded and the NameNode asked for another. */
static int try_one(struct hdfs_writer *w, size_t attempt, struct err *err)
{
    AUTO_RPC Hdfs__GetAdditionalDatanodeResponse *answer = NULL;
    AUTO_NODES all = { 0 };
    const struct node *added;
    int r = ask_for_one(w, &answer, err);

    if (r < 0)
        return r;
    if (nodes_from(&all, answer->block) < 0)
        return err_oom(err);
    added = find_new(&all, &w->p.nodes);
    if (!added)
        return err_set(err, -ENOSPC, "there is no other DataNode for the block");
    r = copy_block(w, &w->p.nodes.v[attempt % w->p.nodes.n], added, answer->block->block_token,
                   err);
    if (r == 0)
        return nodes_add(&w->p.nodes, added) < 0 ? err_oom(err) : 0;
    if (nodes_add(&w->excluded, added) < 0)
        return err_oom(err);
    return r;
}

/* Too few replicas are better than a failed job: unless the policy is ALWAYS without best effort,
 * the pipeline goes on with what is left, and the NameNode makes the missing copies later. A block
 * that is being closed is not extended: there is little left to write. */
int pipeline_extend(struct hdfs_writer *w, struct err *err)
{
    const struct replace_policy *policy = &w->fs->settings.replace;
    struct err why = ERR_INIT;
    int r = -EAGAIN;

    if (w->p.stage != STAGE_STREAM ||
        !recovery_replace(policy, w->replication, w->p.nodes.n, w->flushed))
        return 0;
    w->p.block.has_num_bytes = true;
    w->p.block.num_bytes = w->p.acked;
    for (size_t i = 0; i < TRIES && r < 0 && r != -ENOSPC && r != -ECANCELED; i++)
        r = try_one(w, i, &why);
    if (r == 0 || (r != -ECANCELED && recovery_go_on(policy, w->p.nodes.n))) {
        if (r < 0)
            trace(LOG_HDFS, "write '%s': no DataNode in place of the lost one: %s, ignoring",
                  w->path, why.text);
        return 0;
    }
    *err = why;
    return err_wrap(err, r, "another DataNode for the pipeline");
}
