/* rpc.h - calls to a Hadoop server: IPC version 9.
 *
 * A *service* is one logical server (the ResourceManager, a name service, one NodeManager) as one
 * identity: a list of addresses of which one is active, and at most one connection at a time, on
 * which many calls can be in flight. It connects when it must, signs in, fails over and tries
 * again by the rules below. Fibers of one loop only.
 *
 * What happens when something goes wrong, until the deadline or the service's patience ends:
 *   - nobody listens, the name is not found, the connection breaks before the request was sent,
 *     or the server says that it is not the active one: the next address, and round again;
 *   - the server says "not now" (RetriableException, safe mode): the same address;
 *   - the connection broke after the request was sent: the same call again, with the same call id,
 *     when the method allows it, else the error;
 *   - any other exception: the error, at once. err->code is an errno that fits, err->detail the
 *     enum rpc_exception, err->text has the class (short) and the first line of its message. */
#pragma once
#include "hadoop/rpc/exception.h"
#include "hadoop/rpc/identity.h"
#include "hadoop/token/token.h"
#include "loop/loop.h"
#include <protobuf-c/protobuf-c.h>

enum rpc_retry {
    RPC_IDEMPOTENT,   /* may run twice */
    RPC_AT_MOST_ONCE, /* the server remembers (client id, call id) and answers a repetition */
    RPC_ONCE,         /* neither: not repeated once it may have arrived */
};

/* One row of a protocol's table of methods. */
struct rpc_method {
    const char *name;
    const ProtobufCMessageDescriptor *request, *response;
    enum rpc_retry retry;
};

struct rpc_protocol {
    const char *name;  /* the Java name */
    const char *title; /* what people call the server: "NameNode" */
};

struct rpc_address {
    const char *id;   /* "rm1", or NULL when there is one only */
    const char *host; /* a name or a number */
    int port;
    const char *principal; /* what the configuration says it must be, or NULL for no check */
    const char *pattern;   /* or what it must match, with *; or NULL */
};

struct rpc_service_conf {
    const struct rpc_protocol *protocol;
    const struct rpc_address *addresses; /* copied */
    size_t count;
    const struct rpc_identity *identity; /* borrowed */
    const struct token *token;           /* sign in with it; copied; NULL for Kerberos or SIMPLE */
    int64_t connect_ms;                  /* for one attempt; 0 means 20 s */
    int64_t call_ms;                     /* when a call gives no deadline; 0 means 60 s */
    /* How long to go on trying while no address answers as active: `patience_ms` once one has,
     * `first_patience_ms` before. 0 means each address once. */
    int64_t patience_ms, first_patience_ms;
    int64_t ping_ms; /* how often a connection with calls in flight shows that it lives; 0: 30 s */
};

struct rpc_service; /* opaque */

/* Connects to nothing yet. *ret is the caller's: rpc_service_free(). */
int rpc_service_new(struct loop *l, const struct rpc_service_conf *conf, struct rpc_service **ret,
                    struct err *err);
/* Calls in flight end with -ECONNABORTED. NULL is fine; always NULL. */
struct rpc_service *rpc_service_free(struct rpc_service *s);

/* The next connection signs in with a copy of `token`; the present one goes on. */
int rpc_service_set_token(struct rpc_service *s, const struct token *token, struct err *err);
/* Drops the connection, so that the next call makes a new one. */
void rpc_service_reset(struct rpc_service *s);

/* Sends `request` and waits for the answer, *ret, which is the caller's: rpc_free(). `deadline` 0
 * means the service's own. `request` is a message of method->request and is not kept. */
int rpc_call(struct rpc_service *s, const struct rpc_method *method, const void *request, void *ret,
             int64_t deadline, struct err *err);
/* NULL is fine; always NULL. */
void *rpc_free(void *message);

/* The address that answered last (or would be tried first), borrowed. */
const struct rpc_address *rpc_service_address(const struct rpc_service *s);
/* Numeric address of the server while connected, else "". What a Java client would have in a
 * token's service. */
const char *rpc_service_ip(const struct rpc_service *s);

AUTO_DEFINE(rpc_service, struct rpc_service *, rpc_service_free);
#define AUTO_RPC_SERVICE AUTO(rpc_service) struct rpc_service

static inline void auto_rpc_message_(void *p)
{
    rpc_free(*(void **)p);
}
/* AUTO_RPC Yarn__GetNewApplicationResponse *answer = NULL; */
#define AUTO_RPC AUTO(rpc_message)
