/* registry_session.c - see registry_session.h. */
#include "serve/deployment/registry_session.h"
#include "hadoop/session/kerberos.h"
#include "hadoop/session/session.h"

#include <stdlib.h>

#define HASTY_MS 5000 /* for one answer of the NameNode */

int registry_session_new(struct loop *l, bool hasty, struct session **ret, struct err *err)
{
    const struct session_options o = { .conf_dir = getenv(REGISTRY_CONF_ENV),
                                       .user = getenv(REGISTRY_USER_ENV),
                                       .principal = getenv(REGISTRY_PRINCIPAL_ENV),
                                       .keytab = getenv(REGISTRY_KEYTAB_ENV),
                                       .caller = "ydl serve",
                                       .hasty = hasty,
                                       .call_ms = hasty ? HASTY_MS : 0,
                                       .kerberos = &kerberos_by_gss };

    return session_new(l, &o, ret, err);
}
