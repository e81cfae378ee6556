/* conn_private.h - the insides of a connection, shared by conn.c (opening, calling, closing) and
 * conn_io.c (the two fibers that read and write). */
#pragma once
#include "hadoop/rpc/conn.h"
#include "loop/fiber.h"

#define CONN_BUCKETS 64
#define CONN_READ_SIZE (64 * KIB)

/* A call in flight; lives on its caller's stack. */
struct waiting {
    struct waiting *next; /* in its bucket */
    struct conn_call *call;
    ProtobufCMessage *answer;
    struct cond done;
    bool finished;
    int result;
    struct err err;
};

struct conn {
    struct loop *loop;
    struct sock *sock;
    const struct rpc_protocol *protocol;
    char name[160]; /* "NameNode nn1 (host:8020)" */
    char ip[64];
    const char *caller;
    uint8_t client_id[FRAME_CLIENT_ID];
    struct sasl *layer;   /* wraps and unwraps, or NULL */
    struct buf in;        /* read, not yet parsed */
    struct buf plain;     /* unwrapped, not yet parsed */
    struct buf out;       /* queued frames */
    struct buf sending;   /* what the writer is sending now */
    struct cond out_grew; /* the writer waits here */
    struct waiting *calls[CONN_BUCKETS];
    size_t in_flight;
    int64_t ping_ms;
    uint64_t frames_read;
    int refs;
    int broken; /* the reason's code, or 0 */
    struct err why;
};

void conn_unref(struct conn *c);

/* Takes a call out of the table; NULL when it is not there any more. */
struct waiting *conn_remove(struct conn *c, int32_t call_id);
/* The end of a call that was taken out: its caller is woken. */
void conn_finish(struct waiting *w, int result);
/* The end of the connection: everybody who waits learns the reason. */
void conn_break(struct conn *c, const struct err *why);

/* The fibers; `arg` is the connection, and each holds a reference. */
void conn_reader(void *arg);
void conn_writer(void *arg);
