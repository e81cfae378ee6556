/* nm_private.h - between nm.c (the calls) and nm_pool.c (the connections). */
#pragma once
#include "hadoop/rpc/rpc.h"
#include "hadoop/yarn/nm.h"

struct nm_call {
    const struct rpc_method *method;
    const void *request;
};

/* One call to one node, connecting if need be. */
int nm_pool_call(struct nm_pool *p, const struct nm_at *at, const struct nm_call *call, void *ret,
                 struct err *err);
