/* rm_client_token.c - delegation tokens of the ResourceManager: getting and cancelling. The
 * service of a new token becomes the list of all RMs, so that the token is found whichever of them
 * is active. See rm_client.h. */
#include "base/buf.h"
#include "hadoop/token.pb-c.h"
#include "hadoop/token/token.h"
#include "hadoop/token/token_service.h"
#include "hadoop/yarn/rm_client_private.h"
#include "loop/resolve.h"

#include <string.h>

#define RESOLVE_MS 10000
#define SERVICE_MAX (4 * KIB)

/* clang-format off */
static const struct rpc_method
    get    = METHOD_OF(hadoop, "getDelegationToken", get_delegation_token, RPC_IDEMPOTENT),
    cancel = METHOD_OF(hadoop, "cancelDelegationToken", cancel_delegation_token, RPC_IDEMPOTENT);
/* clang-format on */

/* ---- the service of a token: every RM's client address, as Java's clients look it up ---- */

static int service_of_host(struct yarn_client *c, const struct host *h, bool use_ip, char **ret,
                           struct err *err)
{
    struct loop *l = session_loop(c->session);
    struct resolve_addrs addresses;
    char ip[INET6_ADDRSTRLEN];
    int r;

    if (!use_ip) {
        r = token_service_name(h->host, h->port, ret);
        return r < 0 ? err_code(err, r, "service of '%s'", h->host) : 0;
    }
    r = resolve_host(l, h->host, h->port, loop_in(l, RESOLVE_MS), &addresses, err);
    if (r < 0)
        return r;
    r = token_service_ip(resolve_text(&addresses.v[0], ip), h->port, ret);
    return r < 0 ? err_code(err, r, "service of '%s'", h->host) : 0;
}

static int service_of_all(struct yarn_client *c, char **ret, struct err *err)
{
    struct security security;
    AUTO_BUF list = { .max = SERVICE_MAX };
    int r = conf_security(session_conf(c->session), &security, err);

    for (size_t i = 0; i < c->hosts.n && r == 0; i++) {
        AUTO_FREE char *one = NULL;

        r = service_of_host(c, &c->hosts.v[i], security.use_ip, &one, err);
        if (r == 0 && buf_printf(&list, "%s%s", i ? "," : "", one) < 0)
            r = err_oom(err);
    }
    if (r < 0)
        return r;
    *ret = buf_text(&list) ? strdup(buf_text(&list)) : NULL;
    return *ret ? 0 : err_oom(err);
}

/* ---- calls ---- */

int yarn_get_token(struct yarn_client *c, const char *renewer, struct token *ret, struct err *err)
{
    Hadoop__GetDelegationTokenRequest request = HADOOP__GET_DELEGATION_TOKEN_REQUEST__INIT;
    AUTO_RPC Hadoop__GetDelegationTokenResponse *answer = NULL;
    AUTO_FREE char *service = NULL;
    AUTO_TOKEN token = { 0 };
    int r;

    request.renewer = (char *)renewer;
    r = rpc_call(c->service, &get, &request, &answer, 0, err);
    if (r < 0)
        return r;
    if (!answer->token)
        return err_set(err, -ENODATA, "the ResourceManager gives no delegation tokens");
    r = service_of_all(c, &service, err);
    if (r < 0)
        return r;
    if (token_from_pb(&token, answer->token) < 0)
        return err_oom(err);
    free(token.service);
    token.service = take(service);
    *ret = token;
    token = (struct token){ 0 };
    return 0;
}

int yarn_cancel_token(struct yarn_client *c, const struct token *token, struct err *err)
{
    Hadoop__CancelDelegationTokenRequest request = HADOOP__CANCEL_DELEGATION_TOKEN_REQUEST__INIT;
    AUTO_RPC Hadoop__CancelDelegationTokenResponse *answer = NULL;
    Hadoop__Token m = token_to_pb(token);

    request.token = &m;
    return rpc_call(c->service, &cancel, &request, &answer, 0, err);
}
