/* groups.c - which groups a user is in. The NameNode is asked, whose word counts for files too: a
 * node may know other users than the cluster does, and a static program has no way to ask it. */
#include "hadoop/hdfs/private.h"
#include "hadoop/user_mappings.pb-c.h"

#define ASK_MS 10000

static const struct rpc_protocol protocol = {
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
        r = session_service(fs->session, &protocol, &fs->hosts, token, &s, err);
    if (r == 0)
        r = rpc_call(s, &get_groups, &request, &answer, loop_in(fs->loop, ASK_MS), err);
    for (size_t i = 0; r == 0 && i < answer->n_groups; i++)
        r = strs_add(ret, answer->groups[i]) < 0 ? err_oom(err) : 0;
    return r < 0 ? err_wrap(err, r, "the groups of '%.100s'", user) : 0;
}
