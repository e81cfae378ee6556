/* hdfs_token.c - delegation tokens: get, renew, cancel. See hdfs.h. */
#include "hadoop/hdfs/private.h"
#include "hadoop/token/token.h"
#include "hadoop/token/token_service.h"

/* The service that a token of ours needs, so that the programs that get it find it. It comes from
 * the NameNode with an empty one, because only the client knows under which name it will look for
 * it. */
static int fill_service(struct hdfs *fs, struct token *t, struct err *err)
{
    const struct host *h = &fs->hosts.v[0];
    const char *ip = rpc_service_ip(fs->nn);
    struct security security;
    int r = conf_security(session_conf(fs->session), &security, err);

    if (r < 0)
        return r;
    if (fs->hosts.ha_name)
        r = token_service_ha(fs->hosts.ha_name, &t->service);
    else if (security.use_ip && ip[0])
        r = token_service_ip(ip, h->port, &t->service);
    else
        r = token_service_name(h->host, h->port, &t->service);
    return r < 0 ? err_code(err, r, "the service of a token") : 0;
}

/* 1 with a token; 0 where the NameNode gives none, which is how a cluster without security
 * answers. */
int hdfs_get_token(struct hdfs *fs, const char *renewer, struct token *ret, struct err *err)
{
    Hadoop__GetDelegationTokenRequest request = HADOOP__GET_DELEGATION_TOKEN_REQUEST__INIT;
    AUTO_RPC Hadoop__GetDelegationTokenResponse *answer = NULL;
    AUTO_TOKEN t = { 0 };
    int r;

    request.renewer = renewer;
    r = nn_call(fs->nn, NN_GET_DELEGATION_TOKEN, &request, &answer, err);
    if (r < 0)
        return err_wrap(err, r, "get a delegation token of hdfs://%s", fs->authority);
    if (!answer->token)
        return 0;
    if (token_from_pb(&t, answer->token) < 0)
        return err_oom(err);
    free(take(t.service));
    r = fill_service(fs, &t, err);
    if (r < 0)
        return r;
    *ret = t;
    t = (struct token){ 0 };
    return 1;
}

int hdfs_renew_token(struct hdfs *fs, const struct token *t, int64_t *ret_expiry, struct err *err)
{
    Hadoop__RenewDelegationTokenRequest request = HADOOP__RENEW_DELEGATION_TOKEN_REQUEST__INIT;
    AUTO_RPC Hadoop__RenewDelegationTokenResponse *answer = NULL;
    Hadoop__Token m = token_to_pb(t);
    int r;

    request.token = &m;
    r = nn_call(fs->nn, NN_RENEW_DELEGATION_TOKEN, &request, &answer, err);
    if (r < 0)
        return err_wrap(err, r, "renew a delegation token of hdfs://%s", fs->authority);
    *ret_expiry = (int64_t)answer->expiry;
    return 0;
}

int hdfs_cancel_token(struct hdfs *fs, const struct token *t, struct err *err)
{
    Hadoop__CancelDelegationTokenRequest request = HADOOP__CANCEL_DELEGATION_TOKEN_REQUEST__INIT;
    AUTO_RPC Hadoop__CancelDelegationTokenResponse *answer = NULL;
    Hadoop__Token m = token_to_pb(t);
    int r;

    request.token = &m;
    r = nn_call(fs->nn, NN_CANCEL_DELEGATION_TOKEN, &request, &answer, err);
    return r < 0 ? err_wrap(err, r, "cancel a delegation token of hdfs://%s", fs->authority) : 0;
}
