/* conn.h - one connection to a Hadoop server, signed in, with many calls in flight.
 *
 * Two fibers of its own read and write; a call queues its frame, and the writer sends everything
 * that was queued in one turn of the loop with one system call. Once broken a connection stays
 * broken: every call in flight ends with the reason, and its owner makes a new one. */
#pragma once
#include "hadoop/rpc/frame.h"
#include "hadoop/rpc/rpc.h"

struct conn; /* opaque, counted */

struct conn_conf {
    const struct rpc_protocol *protocol;
    const struct rpc_address *address;
    const struct rpc_identity *identity;
    const struct token *token; /* or NULL */
    const uint8_t *client_id;  /* FRAME_CLIENT_ID bytes; copied */
    int64_t ping_ms;
};

/* Connects and signs in. Everything in `conf` outlives the call only, except for the protocol. *ret
 * is the caller's: conn_close(). */
int conn_open(struct loop *l, const struct conn_conf *conf, int64_t deadline, struct conn **ret,
              struct err *err);
/* Breaks it if need be. NULL is fine; always NULL. */
struct conn *conn_close(struct conn *c);
/* A second holder, which calls conn_close too; only the owner's breaks the connection. */
bool conn_broken(const struct conn *c);
const char *conn_ip(const struct conn *c);

struct conn_call {
    const struct rpc_method *method;
    const ProtobufCMessage *request;
    int32_t call_id, retry;
    bool sent; /* out: some of it may have reached the server */
};

/* Sends and waits. *ret is the caller's: rpc_free(). A remote exception leaves the connection as
 * it is; every other failure but -ECANCELED and a late answer breaks it. */
int conn_call(struct conn *c, struct conn_call *call, int64_t deadline, ProtobufCMessage **ret,
              struct err *err);
