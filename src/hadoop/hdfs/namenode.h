/* namenode.h - the calls to the NameNode, one row each. Fibers only. */
#pragma once
#include "hadoop/namenode.pb-c.h"
#include "hadoop/rpc/rpc.h"
#include "hadoop/token.pb-c.h"

enum nn_method {
    NN_ABANDON_BLOCK,
    NN_ADD_BLOCK,
    NN_CANCEL_DELEGATION_TOKEN,
    NN_COMPLETE,
    NN_CREATE,
    NN_DELETE,
    NN_FSYNC,
    NN_GET_ADDITIONAL_DATANODE,
    NN_GET_BLOCK_LOCATIONS,
    NN_GET_CONTENT_SUMMARY,
    NN_GET_DATA_ENCRYPTION_KEY,
    NN_GET_DELEGATION_TOKEN,
    NN_GET_FILE_INFO,
    NN_GET_FS_STATS,
    NN_GET_LISTING,
    NN_GET_SERVER_DEFAULTS,
    NN_MKDIRS,
    NN_RECOVER_LEASE,
    NN_RENAME2,
    NN_RENEW_DELEGATION_TOKEN,
    NN_RENEW_LEASE,
    NN_REPORT_BAD_BLOCKS,
    NN_SET_PERMISSION,
    NN_SET_SAFE_MODE,
    NN_SET_TIMES,
    NN_UPDATE_BLOCK_FOR_PIPELINE,
    NN_UPDATE_PIPELINE,
    NN_METHODS_
};

extern const struct rpc_protocol nn_protocol;
extern const struct rpc_protocol dn_protocol; /* the DataNode's own calls */
extern const struct rpc_method dn_get_replica_visible_length;

const struct rpc_method *nn_row(enum nn_method m);
/* rpc_call() of that row, with the service's own deadline. */
int nn_call(struct rpc_service *nn, enum nn_method m, const void *request, void *ret,
            struct err *err);
