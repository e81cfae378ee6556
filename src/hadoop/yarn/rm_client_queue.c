/* rm_client_queue.c - see rm_client.h. Queues, which stand inside each other: the generated code
 * keeps a queue's children as bytes, and they are unpacked here, level by level, so that a server
 * cannot nest us out of our stack. */
#include "hadoop/yarn/message.h"
#include "hadoop/yarn/rm_client_private.h"

#include <string.h>

#define QUEUES_MAX 100000 /* in all; the largest clusters have a few thousand */

static const struct rpc_method get_queue = METHOD("getQueueInfo", get_queue_info, RPC_IDEMPOTENT);

static void queue_done(struct yarn_queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        queue_done(&q->children[i]);
    free(q->children);
    message_free(q->info);
}

struct yarn_queue *yarn_queue_free(struct yarn_queue *q)
{
    if (!q)
        return NULL;
    queue_done(q);
    free(q);
    return NULL;
}

/* Fills the children of `q` from their bytes. A partly filled queue can always be passed to
 * queue_done(). */
static int yarn_grow(struct yarn_queue *q, int depth, size_t *left, struct err *err)
{
    size_t n = q->info->n_child_queues;

    if (n == 0)
        return 0;
    if (depth >= YARN_QUEUE_DEPTH || n > *left)
        return err_set(err, -EPROTO, "the ResourceManager's queues are nested too deep");
    *left -= n;
    q->children = calloc(n, sizeof(*q->children));
    if (!q->children)
        return err_oom(err);
    for (size_t i = 0; i < n; i++) {
        const ProtobufCBinaryData *bytes = &q->info->child_queues[i];
        int r;

        q->children[i].info = yarn__queue_info__unpack(NULL, bytes->len, bytes->data);
        if (!q->children[i].info)
            return err_set(err, -EPROTO, "the ResourceManager sent a broken queue");
        q->n++;
        r = yarn_grow(&q->children[i], depth + 1, left, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int yarn_queue(struct yarn_client *c, const char *name, bool deep, struct yarn_queue **ret,
               struct err *err)
{
    Yarn__GetQueueInfoRequest request = YARN__GET_QUEUE_INFO_REQUEST__INIT;
    AUTO_RPC Yarn__GetQueueInfoResponse *answer = NULL;
    AUTO_YARN_QUEUE *q = NULL;
    size_t left = QUEUES_MAX;
    int r;

    name = name ? name : "root";
    request.queue_name = name;
    request.has_include_applications = request.has_include_child_queues = true;
    request.has_recursive = request.include_child_queues = true;
    request.recursive = deep;
    r = rpc_call(c->service, &get_queue, &request, &answer, 0, err);
    if (r < 0)
        return r;
    if (!answer->queue) { /* the RM's way to say so */
        err_set(err, -ENOENT, "there is no queue '%s'", name);
        err_hint(err, "'ydl cluster queues' shows them");
        return -ENOENT;
    }
    q = calloc(1, sizeof(*q));
    if (!q)
        return err_oom(err);
    q->info = take(answer->queue);
    r = yarn_grow(q, 1, &left, err);
    if (r == 0)
        *ret = take(q);
    return r;
}
