/* grpc_tfs.h - the gRPC calls of TensorFlow Serving. Private to this folder. */
#pragma once
#include "serve/protocol/grpc.h"
#include "serving/tfs.pb-c.h"

int grpc_tfs_predict_read(struct exchange *x, const void *p, size_t n, struct err *err);
int grpc_tfs_predict_finish(struct exchange *x, const struct tensors *outputs, struct err *err);
/* Remembers the model that a specification names. INVALID without one. */
int grpc_tfs_spec(struct exchange *x, const Tfs__ModelSpec *spec, struct err *err);
/* The same, and finds it. */
int grpc_tfs_find(struct exchange *x, const Tfs__ModelSpec *spec, struct err *err);
/* Which version of it answers. `version` is filled in; all of `x` and both stay longer than `ret`.
 */
void grpc_tfs_answered(const struct exchange *x, Tfs__Int64Value *version, Tfs__ModelSpec *ret);
/* A shape; NULL when out of memory. */
Tfs__TensorShape *grpc_tfs_shape(struct pool *pool, const int64_t *dims, size_t rank);
