/* identity.h - who we are to a Hadoop server. Plain data, owned by its maker; every pointer is
 * borrowed and must outlive the services made with it. */
#pragma once
#include "hadoop/sasl/sasl.h"
#include <stdbool.h>
#include <stdint.h>

struct rpc_identity;

/* Kerberos is in `ydl` only: it loads a library at run time, which the static program cannot. So
 * the RPC layer knows it by this table. Both may ask a KDC and so block: they are called in the
 * work pool. */
struct rpc_kerberos {
    /* The client's side of an exchange with the server `service`/`host`. *ret and *ret_principal
     * (our own, in full) are the caller's. */
    int (*start)(const struct rpc_identity *who, const char *service, const char *host,
                 struct sasl **ret, char **ret_principal, struct err *err);
    /* Our principal in full, and for how many seconds the ticket is good. */
    int (*whoami)(const struct rpc_identity *who, char **ret_principal, int64_t *ret_seconds,
                  struct err *err);
};

struct rpc_identity {
    const char *user;      /* the effective user: our own name, or that of --as */
    const char *real_user; /* the real user behind a proxy user; or NULL */
    const char *principal; /* with `keytab`: how to get a ticket; both NULL for the ticket cache */
    const char *keytab;
    unsigned qops; /* SASL_QOP_BIT set that we accept; 0 means any */
    bool secure;   /* the configuration says kerberos: never talk to a SIMPLE server */
    bool fallback; /* …unless ipc.client.fallback-to-simple-auth-allowed */
    const struct rpc_kerberos *kerberos; /* NULL where there is none */
    const char *caller; /* shown in the servers' audit logs, e.g. "ydl fs"; or NULL */
};
