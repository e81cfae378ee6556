/* kerberos.h - Kerberos for the RPC layer, by the host's GSSAPI library. For programs that can load
 * libraries; the static one goes without. */
#pragma once
#include "hadoop/rpc/identity.h"

extern const struct rpc_kerberos kerberos_by_gss;
