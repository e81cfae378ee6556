/* session.h - one user on one cluster: the configuration, the user, and the tokens.
 *
 * Everything that talks to Hadoop is made from a session: it knows how to reach a service of the
 * configuration and how to sign in to it. Loop thread only. */
#pragma once
#include "hadoop/conf/conf.h"
#include "hadoop/conf/conf_services.h"
#include "hadoop/rpc/rpc.h"
#include "hadoop/token/credentials.h"

struct session; /* opaque */

struct session_options {
    const char *conf_dir;  /* --conf, or NULL for HADOOP_CONF_DIR and the usual places */
    const char *as_user;   /* --as: act for this user (we are the proxy user), or NULL */
    const char *principal; /* --principal with --keytab, or both NULL */
    const char *keytab;
    const char *caller; /* for audit logs: "ydl fs put"; or NULL */
    int64_t call_ms;    /* --timeout for one operation; 0 for the default */
    bool hasty;   /* can do without the cluster: seconds are enough to learn that it is away */
    bool patient; /* a daemon: wait minutes, not seconds, for a service to come back */
    const struct rpc_kerberos *kerberos; /* kerberos.h's, or NULL in the static program */
    /* In a container, which is told these things instead of finding them; each may be NULL. */
    const char *conf_text;                 /* the configuration itself, instead of a directory */
    const char *user;                      /* who we are */
    const struct credentials *credentials; /* copied, instead of HADOOP_TOKEN_FILE_LOCATION's */
};

/* Reads the configuration and the token file that HADOOP_TOKEN_FILE_LOCATION names, finds the user
 * (HADOOP_USER_NAME counts on a cluster without Kerberos, HADOOP_PROXY_USER like --as). Contacts
 * nobody. `options` is copied. *ret is the caller's: session_free(). */
int session_new(struct loop *l, const struct session_options *options, struct session **ret,
                struct err *err);
/* Services made from it must be freed before. NULL is fine; always NULL. */
struct session *session_free(struct session *s);

struct loop *session_loop(const struct session *s);
const struct conf *session_conf(const struct session *s);
const struct rpc_identity *session_identity(const struct session *s);
/* The tokens we hold; the session's, may be added to. Never NULL. */
struct credentials *session_credentials(struct session *s);
/* Short name of the user the cluster sees: owner of /user/NAME. With Kerberos it comes from the
 * ticket, once session_find_user() has looked. */
const char *session_user(const struct session *s);
/* With Kerberos: looks at the ticket, in the work pool, so that session_user() and errors know who
 * we are. Fails with what is wrong with the ticket. Otherwise does nothing. Fibers only. */
int session_find_user(struct session *s, struct err *err);
bool session_secure(const struct session *s); /* the configuration says kerberos */

/* A service for `hosts` (all addresses of one logical server) with the session's identity. With
 * `token` it signs in by that token, else by Kerberos or SIMPLE. *ret is the caller's. */
int session_service(struct session *s, const struct rpc_protocol *protocol,
                    const struct hosts *hosts, const struct token *token, struct rpc_service **ret,
                    struct err *err);

AUTO_DEFINE(session, struct session *, session_free);
#define AUTO_SESSION AUTO(session) struct session
