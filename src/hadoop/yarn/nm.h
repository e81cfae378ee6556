/* nm.h - the NodeManagers: starting, stopping and looking at containers.
 *
 * A pool keeps one connection per node, made when it is first needed and signed in with that
 * node's token. Idle connections beyond a limit are closed, the oldest first; the tokens stay. A
 * NodeManager that is starting up, or away for a moment, is waited for.
 *
 * Fibers only; any number of them may use one pool, several for one node too. A call that went
 * through returns 0 and says of each container what became of it; a call that did not is an error
 * of rpc.h for all of them. */
#pragma once
#include "hadoop/token.pb-c.h"
#include "hadoop/yarn/ids.h"
#include "hadoop/yarn_nm.pb-c.h"

struct session;
struct nm_pool; /* opaque */

#define NM_POOL_IDLE 64 /* connections kept, unless said otherwise */

/* `s` is borrowed; `idle` 0 means NM_POOL_IDLE. *ret is the caller's: nm_pool_free(). */
int nm_pool_new(struct session *s, size_t idle, struct nm_pool **ret, struct err *err);
/* No call may be under way. NULL is fine; always NULL. */
struct nm_pool *nm_pool_free(struct nm_pool *p);

/* The token of a node, as the RM gave it; replaces the one before. Copied. */
int nm_pool_set_token(struct nm_pool *p, const Yarn__NodeId *node, const Hadoop__Token *token,
                      struct err *err);

/* Which node, and until when; 0 means a minute from now. */
struct nm_at {
    const char *host;
    int32_t port;
    int64_t deadline;
};

/* One container of a call that takes many. */
struct nm_item {
    struct yarn_container_id id;
    const Hadoop__Token *token;                 /* start: the container's own, borrowed */
    const Yarn__ContainerLaunchContext *launch; /* start: borrowed, may be shared */
    struct err err; /* out: what went wrong with it; code 0 when nothing */
    bool ended;     /* out of nm_look(): nothing of it runs there any more */
};

/* Accepted is not started: what goes wrong later comes from the RM as a completed container. */
int nm_start(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
             struct err *err);
/* SIGTERM, and SIGKILL a moment later; its exit status will be -105. */
int nm_stop(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
            struct err *err);
/* Has it ended? So has one that the node does not know any more. */
int nm_look(struct nm_pool *p, const struct nm_at *at, struct nm_item *items, size_t n,
            struct err *err);

#include "base/auto.h"
AUTO_DEFINE(nm_pool, struct nm_pool *, nm_pool_free);
