/* gss.h - SASL GSSAPI (RFC 4752): Kerberos, by the host's own library found at run time.
 *
 *     client  AP-REQ                 (a ticket for the server's principal)
 *     server  AP-REP                 (the server proves that it could read it)
 *     client  nothing, but a token   (the number of rounds is the library's business)
 *     server  what protections it allows
 *     client  the one chosen
 *
 * Only programs that can load libraries link this: `ydl` does, the static one does not. Who may or
 * may not have it takes a sasl_gss_new_fn.
 *
 * Blocking: sasl_gss_new() with a keytab, the first step and gss_identity() read files and may
 * wait for a KDC, as long as the host's krb5.conf lets them. Any thread, one at a time per
 * exchange.
 *
 * Besides the codes of sasl.h: -EOPNOTSUPP without the library, -ENOKEY without a ticket or a key,
 * -EKEYEXPIRED when it has run out, -EKEYREJECTED when the KDC or the server refuses it (clocks
 * that differ, an old keytab), -EHOSTUNREACH when no KDC answers, -EACCES when the KDC does not
 * know a principal, -EINVAL for a Kerberos configuration that makes no sense. The text is the
 * library's, the hint says what to do. */
#pragma once
#include "hadoop/sasl/sasl.h"
#include <stdint.h>

/* Whose credentials. With nothing set: those of the default ticket cache (kinit). */
struct gss_who {
    const char *principal; /* "alice", "alice@REALM"; NULL: the principal of the cache or keytab */
    const char *keytab;    /* path; the ticket is then got with its key and kept in memory only,
                              for all later exchanges of this process */
};

struct sasl_gss_conf {
    const char *service; /* first part of the server's principal: "rm", "nn", "hdfs" */
    const char *host;    /* second part, a full host name */
    const char *realm;   /* third part; NULL lets the library find it by the host. With it the
                            host's name is taken as it stands, without asking DNS for another */
    unsigned qops;       /* the protections we allow: SASL_QOP_BIT; the strongest is taken */
    struct gss_who who;
};

/* Loads the library, or the one that YDL_GSSAPI_LIB names. Everything in `conf` is used at once or
 * copied. *ret is the caller's: sasl_free(). */
int sasl_gss_new(const struct sasl_gss_conf *conf, struct sasl **ret, struct err *err);

typedef int (*sasl_gss_new_fn)(const struct sasl_gss_conf *conf, struct sasl **ret,
                               struct err *err);

/* Who we are: the full principal (*ret_principal is the caller's: free()), as the connection
 * context needs it, and for how many seconds the ticket is good. Either may be NULL. */
int gss_identity(const struct gss_who *who, char **ret_principal, int64_t *ret_seconds,
                 struct err *err);
