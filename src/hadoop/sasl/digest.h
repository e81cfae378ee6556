/* digest.h - SASL DIGEST-MD5 (RFC 2831) as Hadoop logs in with a token.
 *
 *     server  realm="default",nonce="…",qop="auth",charset=utf-8,algorithm=md5-sess
 *     client  charset=utf-8,username="…",realm="default",nonce="…",nc=00000001,cnonce="…",
 *             digest-uri="/default",maxbuf=65536,response=…,qop=auth
 *     server  rspauth=…
 *
 * Two steps. Where the client must speak first (DataTransfer), a step with nothing gives an empty
 * token before them. No I/O, nothing blocks, any thread. The rest is in sasl.h. */
#pragma once
#include "hadoop/sasl/sasl.h"

struct sasl_digest_conf {
    const char *username;  /* printable ASCII; for a token its identifier in base64 */
    const char *password;  /* the same; for a token its password in base64 */
    const char *protocol;  /* as the server's offer names it: "" for RPC, "hdfs" for DataTransfer */
    const char *server_id; /* the same: "default" for RPC, "0" for DataTransfer */
    unsigned qops;         /* the protections we allow: SASL_QOP_BIT; the strongest is taken */
    const char *ciphers;   /* for auth-conf, in the order we want them ("rc4,3des"); NULL for all of
                              them, 3des first */
    const char *cnonce;    /* for tests: our half of the nonce. NULL makes a random one */
};

/* Everything in `conf` is copied. *ret is the caller's: sasl_free(). -EINVAL for a name with
 * characters that have no one form in DIGEST-MD5, an unknown cipher, or no protection at all. */
int sasl_digest_new(const struct sasl_digest_conf *conf, struct sasl **ret, struct err *err);

/* A Hadoop token's two secrets, raw. */
struct sasl_digest_token {
    const void *id;
    size_t id_len;
    const void *password;
    size_t password_len;
};

/* The same with the token in place of conf->username and conf->password, which are not read. */
int sasl_digest_new_token(const struct sasl_digest_conf *conf,
                          const struct sasl_digest_token *token, struct sasl **ret,
                          struct err *err);
