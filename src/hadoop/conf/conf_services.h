/* conf_services.h - whom to dial and how to trust them, read out of a conf.
 *
 * Pure: looks at the conf only, resolves no names, opens nothing. Any thread. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "hadoop/conf/conf.h"
#include <stdbool.h>
#include <stddef.h>

/* One server of a service. */
struct host {
    char *id;        /* "rm1", "nn2"; "" when the service has one server only */
    char *host;      /* a name or a number, without brackets */
    int port;        /* 1 to 65535 */
    char *principal; /* whom it must prove to be, _HOST replaced; NULL when not configured */
    char *pattern;   /* or: what its principal must match, '*' for any run; NULL likewise */
};

struct hosts {
    struct host *v; /* in the order they are to be tried; never empty after success */
    size_t n;
    /* The name that stands for all of them ("ha-hdfs:NAME" in tokens), or NULL when a token
     * names the server itself. */
    char *ha_name;
};

void hosts_done(struct hosts *h); /* zero is fine; may be used again */
#define AUTO_HOSTS AUTO_DONE(hosts_done) struct hosts

enum rm_port {
    RM_CLIENT,    /* submitting and looking */
    RM_SCHEDULER, /* for masters */
    RM_ADMIN,     /* says who is active */
    RM_WEBAPP,    /* HTTP, or HTTPS where yarn.http.policy says so */
};

/* The ResourceManagers, in the order of their ids. *ret is the caller's: hosts_done(). -EINVAL with
 * file and line where the configuration has one; -ENODATA when an address is missing. */
int conf_resourcemanagers(const struct conf *c, enum rm_port port, struct hosts *ret,
                          struct err *err);

/* The NameNodes behind the authority of an hdfs:// name: a name service, or host[:port]. */
int conf_namenodes(const struct conf *c, const char *authority, struct hosts *ret, struct err *err);

/* "rm/_HOST@REALM" for a host. Hadoop puts in the canonical name, in lower case; call this with the
 * address that was looked up. Anything else than SERVICE/_HOST@REALM is copied. *ret is the
 * caller's; -ENOMEM is the only error. */
int conf_principal(const char *principal, const char *host, char **ret);

/* How much of what goes over a connection is protected, weakest first. */
enum protection { PROTECT_AUTH = 1, PROTECT_INTEGRITY = 2, PROTECT_PRIVACY = 4 };

/* In the order of preference; n == 0 when nothing is configured. */
struct protections {
    enum protection v[3];
    int n;
};

struct security {
    bool kerberos;           /* hadoop.security.authentication; tokens work with and without */
    bool fallback_to_simple; /* with Kerberos: may still talk to a server that has none */
    bool use_ip;             /* tokens name servers by address, not by name */
    bool encrypt_data;       /* dfs.encrypt.data.transfer, as this side knows it */
    struct protections rpc;  /* hadoop.rpc.protection, never empty */
    struct protections data; /* dfs.data.transfer.protection */
};

int conf_security(const struct conf *c, struct security *ret, struct err *err);
