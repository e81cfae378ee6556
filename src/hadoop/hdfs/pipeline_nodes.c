/* pipeline_nodes.c - the DataNodes of a pipeline, with the storages and tokens that stand beside
 * them in parallel lists of the messages, kept together here so that removing one cannot shift
 * the others. See pipeline_nodes.h. */
#include "hadoop/hdfs/pipeline_nodes.h"
#include "base/array.h"
#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Through its own bytes: the codec knows how to copy every field, we do not. */
static Hdfs__DatanodeInfo *copy_info(const Hdfs__DatanodeInfo *info)
{
    size_t n = hdfs__datanode_info__get_packed_size(info);
    AUTO_FREE uint8_t *bytes = malloc(n ? n : 1);

    if (!bytes)
        return NULL;
    hdfs__datanode_info__pack(info, bytes);
    return hdfs__datanode_info__unpack(NULL, n, bytes);
}

static void pipeline_nodes_node_done(struct node *node)
{
    hdfs__datanode_info__free_unpacked(node->info, NULL);
    free(node->storage_id);
}

int nodes_add(struct nodes *to, const struct node *node)
{
    struct node copy = { .storage = node->storage };

    copy.info = copy_info(node->info);
    copy.storage_id = strdup(node->storage_id ? node->storage_id : "");
    if (copy.info && copy.storage_id && ARRAY_ADD(to->v, to->n, copy) == 0)
        return 0;
    pipeline_nodes_node_done(&copy);
    return -ENOMEM;
}

int nodes_from(struct nodes *ret, const Hdfs__LocatedBlock *block)
{
    for (size_t i = 0; i < block->n_locations; i++) {
        struct node node = { .info = block->locations[i],
                             .storage = HDFS__STORAGE_TYPE__STORAGE_DISK };
        int r;

        if (i < block->n_storage_types)
            node.storage = block->storage_types[i];
        if (i < block->n_storage_ids)
            node.storage_id = (char *)block->storage_ids[i];
        r = nodes_add(ret, &node);
        if (r < 0) {
            nodes_done(ret);
            return r;
        }
    }
    return 0;
}

void nodes_remove(struct nodes *from, size_t i)
{
    pipeline_nodes_node_done(&from->v[i]);
    from->n--;
    memmove(&from->v[i], &from->v[i + 1], (from->n - i) * sizeof(from->v[0]));
}

/* The uuid alone would do, but a DataNode whose address changed is a new one for a connection. */
bool node_same(const Hdfs__DatanodeId *a, const Hdfs__DatanodeId *b)
{
    return str_eq(a->datanode_uuid, b->datanode_uuid) && str_eq(a->ip_addr, b->ip_addr) &&
           a->xfer_port == b->xfer_port;
}

bool nodes_have(const struct nodes *in, const Hdfs__DatanodeId *id)
{
    for (size_t i = 0; i < in->n; i++)
        if (node_same(in->v[i].info->id, id))
            return true;
    return false;
}

void nodes_done(struct nodes *n)
{
    for (size_t i = 0; i < n->n; i++)
        pipeline_nodes_node_done(&n->v[i]);
    free(n->v);
    *n = (struct nodes){ 0 };
}

/* firstBadLink names a DataNode as "ip:port", not by its uuid. */
int nodes_find_address(const struct nodes *in, const char *address)
{
    for (size_t i = 0; i < in->n; i++) {
        const Hdfs__DatanodeId *id = in->v[i].info->id;
        size_t n = strlen(id->ip_addr);
        char port[16];

        snprintf(port, sizeof(port), ":%u", id->xfer_port);
        if (str_starts(address, id->ip_addr) && str_eq(address + n, port))
            return (int)i;
    }
    return -1;
}
