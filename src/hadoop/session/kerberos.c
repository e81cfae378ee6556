/* kerberos.c - see kerberos.h */
#include "hadoop/session/kerberos.h"
#include "hadoop/sasl/gss.h"

static struct gss_who credentials_of(const struct rpc_identity *who)
{
    return (struct gss_who){ .principal = who->principal, .keytab = who->keytab };
}

static int whoami(const struct rpc_identity *who, char **ret_principal, int64_t *ret_seconds,
                  struct err *err)
{
    struct gss_who credentials = credentials_of(who);

    return gss_identity(&credentials, ret_principal, ret_seconds, err);
}

static int kerberos_start(const struct rpc_identity *who, const char *service, const char *host,
                          struct sasl **ret, char **ret_principal, struct err *err)
{
    struct sasl_gss_conf conf = {
        .service = service,
        .host = host,
        .qops = who->qops ? who->qops : SASL_QOP_ANY,
        .who = credentials_of(who),
    };
    int r = whoami(who, ret_principal, NULL, err);

    return r < 0 ? r : sasl_gss_new(&conf, ret, err);
}

const struct rpc_kerberos kerberos_by_gss = { .start = kerberos_start, .whoami = whoami };
