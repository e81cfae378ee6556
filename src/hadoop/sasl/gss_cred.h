/* gss_cred.h - Kerberos credentials from a ticket cache or a keytab. For gss.c only. Reads files
 * and may wait for a KDC; any thread. */
#pragma once
#include "hadoop/sasl/gss.h"
#include "hadoop/sasl/gss_api.h"

/* *ret is the caller's: gss_release_cred. The tickets themselves may be got later, when the
 * credentials are first used. */
int gss_cred_get(const struct gss_api *api, const struct gss_who *who, gss_cred_id_t *ret,
                 struct err *err);
