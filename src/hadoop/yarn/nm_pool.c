/* nm_pool.c - the NodeManagers that containers run on, each with the token for it and a connection
 * while it is used. A master of a thousand nodes talks to each of them for a moment: the
 * connections that have been idle longest are closed beyond a limit, and made again when they are
 * needed. See nm.h. */
#include "base/array.h"
#include "base/log.h"
#include "base/str.h"
#include "hadoop/rpc/rpc.h"
#include "hadoop/session/session.h"
#include "hadoop/token/token.h"
#include "hadoop/yarn/nm_private.h"

#include <inttypes.h>
#include <string.h>

/* A node that restarts is back in seconds; one that does not will be reported lost by the RM. */
#define PATIENCE_MS 30000
#define CALL_MS 60000

struct node {
    char *host;
    int32_t port;
    struct token token;
    bool has_token;
    struct rpc_service *service; /* NULL while there is none */
    size_t busy;                 /* calls under way */
    uint64_t used;               /* the pool's count when it was last used */
};

struct nm_pool {
    struct session *session;
    struct node **nodes;
    size_t n;
    size_t open, idle_limit;
    uint64_t uses;
};

static const struct rpc_protocol protocol = {
    .name = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB",
    .title = "NodeManager",
};

int nm_pool_new(struct session *s, size_t idle, struct nm_pool **ret, struct err *err)
{
    struct nm_pool *p = calloc(1, sizeof(*p));

    if (!p)
        return err_oom(err);
    p->session = s;
    p->idle_limit = idle ? idle : NM_POOL_IDLE;
    *ret = p;
    return 0;
}

static void node_free(struct node *n)
{
    rpc_service_free(n->service);
    token_done(&n->token);
    free(n->host);
    free(n);
}

struct nm_pool *nm_pool_free(struct nm_pool *p)
{
    if (!p)
        return NULL;
    for (size_t i = 0; i < p->n; i++)
        node_free(p->nodes[i]);
    free(p->nodes);
    free(p);
    return NULL;
}

static struct node *nm_pool_find(const struct nm_pool *p, const char *host, int32_t port)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->nodes[i]->port == port && str_eq(p->nodes[i]->host, host))
            return p->nodes[i];
    return NULL;
}

static struct node *nm_pool_add(struct nm_pool *p, const char *host, int32_t port)
{
    struct node *n;

    if (ARRAY_ROOM(p->nodes, p->n) < 0)
        return NULL;
    n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;
    n->port = port;
    n->host = strdup(host);
    if (!n->host) {
        free(n);
        return NULL;
    }
    p->nodes[p->n++] = n;
    return n;
}

/* A node's token comes with the first container that the attempt gets there, and again only after a
 * key was rolled or the RM or the node restarted. So it is kept for as long as the pool lives, also
 * when the connection is closed. */
int nm_pool_set_token(struct nm_pool *p, const Yarn__NodeId *node, const Hadoop__Token *token,
                      struct err *err)
{
    struct node *n = nm_pool_find(p, node->host, node->port);
    AUTO_TOKEN copy = { 0 };

    if (!n)
        n = nm_pool_add(p, node->host, node->port);
    if (!n || token_from_pb(&copy, token) < 0)
        return err_oom(err);
    token_done(&n->token);
    n->token = copy;
    copy = (struct token){ 0 };
    n->has_token = true;
    /* The present connection stays: the old token was good when it signed in. */
    return n->service ? rpc_service_set_token(n->service, &n->token, err) : 0;
}

/* Closes the connections that have been idle longest, as long as there are more than allowed. */
static void nm_pool_trim(struct nm_pool *p)
{
    while (p->open > p->idle_limit) {
        struct node *oldest = NULL;

        for (size_t i = 0; i < p->n; i++) {
            struct node *n = p->nodes[i];

            if (n->service && !n->busy && (!oldest || n->used < oldest->used))
                oldest = n;
        }
        if (!oldest)
            return; /* all of them are in use */
        trace(LOG_YARN, "nm: %s:%" PRId32 " closed, %zu open", oldest->host, oldest->port,
              p->open - 1);
        oldest->service = rpc_service_free(oldest->service);
        p->open--;
    }
}

static int connect_node(struct nm_pool *p, struct node *n, struct err *err)
{
    struct rpc_address address = { .host = n->host, .port = n->port };
    struct rpc_service_conf conf = {
        .protocol = &protocol,
        .addresses = &address,
        .count = 1,
        .identity = session_identity(p->session),
        .token = &n->token,
        .call_ms = CALL_MS,
        .patience_ms = PATIENCE_MS,
        .first_patience_ms = PATIENCE_MS,
    };
    int r = rpc_service_new(session_loop(p->session), &conf, &n->service, err);

    if (r == 0)
        p->open++;
    return r;
}

/* A node that is being called is never closed by others' calls (`busy`). The pool is trimmed twice:
 * when this call opened one more connection, and when its end makes one idle. */
int nm_pool_call(struct nm_pool *p, const struct nm_at *at, const struct nm_call *call, void *ret,
                 struct err *err)
{
    struct node *n = nm_pool_find(p, at->host, at->port);
    int64_t deadline = at->deadline ? at->deadline : loop_in(session_loop(p->session), CALL_MS);
    int r = 0;

    if (!n || !n->has_token)
        return err_set(err, -ENOKEY, "no token for the node '%s:%" PRId32 "'", at->host, at->port);
    if (!n->service)
        r = connect_node(p, n, err);
    if (r < 0)
        return r;
    n->used = ++p->uses;
    n->busy++;
    nm_pool_trim(p);
    r = rpc_call(n->service, call->method, call->request, ret, deadline, err);
    n->busy--;
    nm_pool_trim(p);
    return r < 0 ? err_wrap(err, r, "node '%s:%" PRId32 "'", at->host, at->port) : 0;
}
