/* namenode.c - the table of calls: which may be repeated after a lost connection, and which the
 * NameNode itself recognizes when they are. See namenode.h. */
#include "hadoop/hdfs/namenode.h"
#include "hadoop/datatransfer.pb-c.h"
#include "hadoop/hdfs/private.h"
#include "hadoop/user_mappings.pb-c.h"

const struct rpc_protocol nn_protocol = {
    .name = "org.apache.hadoop.hdfs.protocol.ClientProtocol",
    .title = "NameNode",
};

const struct rpc_protocol dn_protocol = {
    .name = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol",
    .title = "DataNode",
};

#define ROW(java_name, package, message, how)                                                      \
    {                                                                                              \
        .name = java_name, .request = &package##__##message##_request__descriptor,                 \
        .response = &package##__##message##_response__descriptor, .retry = how                     \
    }

const struct rpc_method dn_get_replica_visible_length =
    ROW("getReplicaVisibleLength", hdfs, get_replica_visible_length, RPC_IDEMPOTENT);

/* AT_MOST_ONCE where the NameNode has a retry cache for the call. addBlock and complete have none
 * but recognise their repetition by the previous block and by the file's state. */
/* clang-format off */
static const struct rpc_method rows[NN_METHODS_] = {
    [NN_ABANDON_BLOCK]             = ROW("abandonBlock",           hdfs,   abandon_block,             RPC_IDEMPOTENT),
    [NN_ADD_BLOCK]                 = ROW("addBlock",               hdfs,   add_block,                 RPC_IDEMPOTENT),
    [NN_CANCEL_DELEGATION_TOKEN]   = ROW("cancelDelegationToken",  hadoop, cancel_delegation_token,   RPC_IDEMPOTENT),
    [NN_COMPLETE]                  = ROW("complete",               hdfs,   complete,                  RPC_IDEMPOTENT),
    [NN_CREATE]                    = ROW("create",                 hdfs,   create,                    RPC_AT_MOST_ONCE),
    [NN_DELETE]                    = ROW("delete",                 hdfs,   delete,                    RPC_AT_MOST_ONCE),
    [NN_FSYNC]                     = ROW("fsync",                  hdfs,   fsync,                     RPC_IDEMPOTENT),
    [NN_GET_ADDITIONAL_DATANODE]   = ROW("getAdditionalDatanode",  hdfs,   get_additional_datanode,   RPC_IDEMPOTENT),
    [NN_GET_BLOCK_LOCATIONS]       = ROW("getBlockLocations",      hdfs,   get_block_locations,       RPC_IDEMPOTENT),
    [NN_GET_CONTENT_SUMMARY]       = ROW("getContentSummary",      hdfs,   get_content_summary,       RPC_IDEMPOTENT),
    [NN_GET_DATA_ENCRYPTION_KEY]   = ROW("getDataEncryptionKey",   hdfs,   get_data_encryption_key,   RPC_IDEMPOTENT),
    [NN_GET_DELEGATION_TOKEN]      = ROW("getDelegationToken",     hadoop, get_delegation_token,      RPC_IDEMPOTENT),
    [NN_GET_FILE_INFO]             = ROW("getFileInfo",            hdfs,   get_file_info,             RPC_IDEMPOTENT),
    [NN_GET_FS_STATS]              = ROW("getFsStats",             hdfs,   get_fs_stats,              RPC_IDEMPOTENT),
    [NN_GET_LISTING]               = ROW("getListing",             hdfs,   get_listing,               RPC_IDEMPOTENT),
    [NN_GET_SERVER_DEFAULTS]       = ROW("getServerDefaults",      hdfs,   get_server_defaults,       RPC_IDEMPOTENT),
    [NN_MKDIRS]                    = ROW("mkdirs",                 hdfs,   mkdirs,                    RPC_IDEMPOTENT),
    [NN_RECOVER_LEASE]             = ROW("recoverLease",           hdfs,   recover_lease,             RPC_IDEMPOTENT),
    [NN_RENAME2]                   = ROW("rename2",                hdfs,   rename2,                   RPC_AT_MOST_ONCE),
    [NN_RENEW_DELEGATION_TOKEN]    = ROW("renewDelegationToken",   hadoop, renew_delegation_token,    RPC_IDEMPOTENT),
    [NN_RENEW_LEASE]               = ROW("renewLease",             hdfs,   renew_lease,               RPC_IDEMPOTENT),
    [NN_REPORT_BAD_BLOCKS]         = ROW("reportBadBlocks",        hdfs,   report_bad_blocks,         RPC_IDEMPOTENT),
    [NN_SET_PERMISSION]            = ROW("setPermission",          hdfs,   set_permission,            RPC_IDEMPOTENT),
    [NN_SET_SAFE_MODE]             = ROW("setSafeMode",            hdfs,   set_safe_mode,             RPC_IDEMPOTENT),
    [NN_SET_TIMES]                 = ROW("setTimes",               hdfs,   set_times,                 RPC_IDEMPOTENT),
    [NN_UPDATE_BLOCK_FOR_PIPELINE] = ROW("updateBlockForPipeline", hdfs,   update_block_for_pipeline, RPC_IDEMPOTENT),
    [NN_UPDATE_PIPELINE]           = ROW("updatePipeline",         hdfs,   update_pipeline,           RPC_AT_MOST_ONCE),
};
/* clang-format on */

const struct rpc_method *nn_row(enum nn_method m)
{
    return &rows[m];
}

int nn_call(struct rpc_service *nn, enum nn_method m, const void *request, void *ret,
            struct err *err)
{
    return rpc_call(nn, &rows[m], request, ret, 0, err);
}

/* What was tried, in the sentence about its failure. */
/* clang-format off */
static const char *const verbs[NN_METHODS_] = {
    [NN_ABANDON_BLOCK]             = "give back a block of",
    [NN_COMPLETE]                  = "close",
    [NN_DELETE]                    = "delete",
    [NN_FSYNC]                     = "flush",
    [NN_GET_BLOCK_LOCATIONS]       = "read",
    [NN_GET_CONTENT_SUMMARY]       = "sum up",
    [NN_GET_FILE_INFO]             = "look at",
    [NN_GET_LISTING]               = "list",
    [NN_MKDIRS]                    = "make directory",
    [NN_RECOVER_LEASE]             = "recover",
    [NN_SET_PERMISSION]            = "change permissions of",
    [NN_SET_TIMES]                 = "change the times of",
    [NN_UPDATE_BLOCK_FOR_PIPELINE] = "recover a block of",
    [NN_UPDATE_PIPELINE]           = "recover a block of",
};
/* clang-format on */

int hdfs_call(struct hdfs *fs, enum nn_method m, const char *path, const void *request, void *ret,
              struct err *err)
{
    int r = hdfs_check_path(path, err);

    if (r < 0)
        return r;
    r = nn_call(fs->nn, m, request, ret, err);
    return r < 0 ? explain(verbs[m], path, r, err) : 0;
}

/* Which groups a user is in is another protocol of the NameNode. It is asked also by programs on a
 * node: its word counts, a node may know other users than the cluster does, and a static program
 * has no way to ask the node. */
#define GROUPS_MS 10000

static const struct rpc_protocol groups_protocol = {
    .name = "org.apache.hadoop.tools.GetUserMappingsProtocol",
    .title = "NameNode",
};
static const struct rpc_method get_groups = {
    .name = "getGroupsForUser",
    .request = &groups__get_groups_for_user_request__descriptor,
    .response = &groups__get_groups_for_user_response__descriptor,
};

int hdfs_groups(struct hdfs *fs, const char *user, struct strs *ret, struct err *err)
{
    Groups__GetGroupsForUserRequest request = GROUPS__GET_GROUPS_FOR_USER_REQUEST__INIT;
    AUTO_RPC Groups__GetGroupsForUserResponse *answer = NULL;
    AUTO_RPC_SERVICE *s = NULL;
    const struct token *token = NULL;
    int r = hdfs_find_token(fs, &token, err);

    request.user = user;
    if (r == 0)
        r = session_service(fs->session, &groups_protocol, &fs->hosts, token, &s, err);
    if (r == 0)
        r = rpc_call(s, &get_groups, &request, &answer, loop_in(fs->loop, GROUPS_MS), err);
    for (size_t i = 0; r == 0 && i < answer->n_groups; i++)
        r = strs_add(ret, answer->groups[i]) < 0 ? err_oom(err) : 0;
    return r < 0 ? err_wrap(err, r, "the groups of '%.100s'", user) : 0;
}
