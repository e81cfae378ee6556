/* haproxy_grpc.h - the part of HAProxy's configuration for gRPC. Pure.
 *
 *     client ──HTTP/2──► frontend ──► backend "MODEL:VERSION"       HTTP/1.1
 *                                └──► backend "MODEL:VERSION:grpc"  HTTP/2: calls of gRPC
 *
 * A server of HAProxy speaks one protocol, so that a version whose replicas speak both has two
 * backends with the same replicas: one that is not ready in both is ready in none
 * (haproxy_servers_join()). A call's path does not name the model, but its message does, in its
 * first field: the frontend waits for the beginning of the message. grpc.map says which backends
 * there are. */
#pragma once
#include "serve/gateway/haproxy_conf.h"

/* "MODEL:VERSION:grpc". */
const char *haproxy_grpc_backend(char out[HAPROXY_BACKEND], const struct gateway_model *m,
                                 int64_t version);
/* The length of "MODEL:VERSION" when this is the backend for gRPC beside it; else 0. */
size_t haproxy_grpc_beside(const char *backend);
bool haproxy_grpc_is_wanted(const struct gateway_spec *s); /* by any version */

/* ---- the frontend ---- */
/* What is a call; before everything that asks `{ var(txn.call) -m found }`. */
int haproxy_grpc_calls(struct buf *out);
/* Instead of the answer with 401, of which clients would not show the text. */
int haproxy_grpc_key(struct buf *out, const char *text);
/* Model and version of a call, as the path gives those of a request. */
int haproxy_grpc_names(const char *dir, struct buf *out);
/* A version that the call names and that is not here. */
int haproxy_grpc_no_version(struct buf *out);
/* From a version's backend to the one beside it. */
int haproxy_grpc_choose(const char *dir, struct buf *out);

/* ---- a backend ---- */
int haproxy_grpc_not_ready(const char *name, int64_t version, struct buf *out);
#define HAPROXY_GRPC_WORDS "proto h2 check-proto h1 " /* of a server */
