/* grpc_server.h - what the connections of a server share; for the files beside it. */
#pragma once
#include "loop/fiber.h"
#include "wire/grpc/grpc_session.h"

struct grpc_server {
    struct grpc_options o;    /* limits are filled */
    struct budget held, *all; /* `all` is the one that counts */
    struct grpc_conn *conns;
    size_t calls; /* handlers that run */
    bool draining;
    struct cond changed; /* a connection has ended, or said all that it will */
};

struct grpc_conn {
    struct grpc_server *server;
    struct grpc_conn *prev, *next;
    struct loop *loop;
    struct stream *stream;
    struct grpc_session session;
    struct group fibers;   /* the writer's and the handlers' */
    struct cond to_write;  /* there is something, or nothing ever again */
    struct cond written;   /* or it cannot be */
    bool broken, finished; /* nothing can be written; the writer is to end */
    bool hushed;           /* all was said, and no more is read */
};

/* Makes its writer look. Any caller. */
void grpc_conn_wake(struct grpc_conn *c);
/* Whether its last word was written. */
bool grpc_conn_said_all(const struct grpc_conn *c);
