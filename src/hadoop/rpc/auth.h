/* auth.h - signing in: the SASL exchange at the start of a connection.
 *
 *   client                               server
 *   hello, NEGOTIATE              ──►
 *                                 ◄──    SUCCESS (SIMPLE only), or NEGOTIATE with offers
 *   INITIATE (the offer chosen,   ──►
 *     the first token)
 *                                 ◄──    CHALLENGE ⇄ RESPONSE …, at last SUCCESS
 *
 * What follows is wrapped when the exchange agreed on integrity or privacy. */
#pragma once
#include "hadoop/rpc/conn.h"
#include "loop/sock.h"

struct auth_result {
    struct sasl *layer; /* wraps and unwraps everything from now on; NULL for none. The caller's */
    char *effective_user;  /* for the connection context; NULL for an empty one. The caller's */
    const char *real_user; /* borrowed from the identity, or NULL */
};

/* Runs the exchange on a fresh connection. `in` holds what was read too far, if anything. */
int auth_sign_in(struct loop *l, struct sock *s, const struct conn_conf *conf, int64_t deadline,
                 struct auth_result *ret, struct err *err);
void auth_result_done(struct auth_result *r);

/* Whether a server that says it is SERVICE on HOST can be the one that the configuration calls
 * "SERVICE/HOST@REALM". Pure. */
bool auth_principal_fits(const char *principal, const char *service, const char *host);
