/* grpc_oip.h - the gRPC calls of the Open Inference Protocol. Private to this folder. */
#pragma once
#include "serve/protocol/grpc.h"
#include "serving/oip.pb-c.h"

int grpc_oip_infer_read(struct exchange *x, const void *p, size_t n, struct err *err);
int grpc_oip_infer_finish(struct exchange *x, const struct tensors *outputs, struct err *err);
/* Remembers which model is asked for; the second also finds it. */
int grpc_oip_model(struct exchange *x, const char *name, const char *version, struct err *err);
int grpc_oip_find(struct exchange *x, const char *name, const char *version, struct err *err);
