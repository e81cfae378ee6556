/* ident.h - the contents of a token's identifier: its owner, its lifetime, its application.
 * Servers check identifiers; here they are read to show them, to know when a token expires, and
 * for the one secret that a block token may carry. Pure; the bytes may be hostile. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "hadoop/token/token.h"
#include <stddef.h>
#include <stdint.h>

#define KIND_HDFS "HDFS_DELEGATION_TOKEN"
#define KIND_RM "RM_DELEGATION_TOKEN"
#define KIND_AMRM "YARN_AM_RM_TOKEN"
#define KIND_NM "NMToken"
#define KIND_CONTAINER "ContainerToken"
#define KIND_CLIENT_TO_AM "YARN_CLIENT_TOKEN"
#define KIND_BLOCK "HDFS_BLOCK_TOKEN"

enum ident_type {
    IDENT_UNKNOWN,    /* of a kind that we do not know */
    IDENT_DELEGATION, /* owner, renewer, real_user, issued, expires, sequence, key_id */
    IDENT_ATTEMPT,    /* application, attempt, key_id */
    IDENT_NODE,       /* the same, owner, node */
    IDENT_CONTAINER,  /* the same, container, expires */
    IDENT_CLIENT,     /* application, attempt, owner */
    IDENT_BLOCK,      /* owner, pool, block, key_id, expires */
};

/* The fields that the type names; the others are 0 or NULL. */
struct ident {
    enum ident_type type;
    char *owner, *renewer, *real_user; /* "" when the token names none */
    int64_t issued, expires;           /* milliseconds since 1970; a delegation token may have to be
                                          renewed long before it expires */
    int32_t sequence, key_id;
    int64_t cluster; /* with `application`: application_CLUSTER_APPLICATION */
    int32_t application, attempt;
    int64_t container;
    char *node; /* host:port */
    char *pool;
    int64_t block;
};

/* Reads the identifier of a token of this kind. *ret is the caller's: ident_done(). -EBADMSG when
 * it cannot be read; an unknown kind is none of our business and no error. */
int ident_parse(const char *kind, const void *p, size_t n, struct ident *ret, struct err *err);
void ident_done(struct ident *i); /* zero is fine */
static inline void auto_ident_(struct ident *i)
{
    ident_done(i);
}
#define AUTO_IDENT AUTO(ident) struct ident

/* What a DataNode wants to see of a block token: the secret that some NameNodes hide in it
 * (dfs.namenode.send.qop.enabled) and the block pool. */
struct block_secret {
    uint8_t *secret; /* NULL when there is none */
    size_t secret_len;
    char *pool;
    int64_t expires;
};

/* From the identifier of a block token, of either form. No bytes at all are no token and no error.
 * *ret is the caller's: block_secret_done(). -EBADMSG. */
int ident_block_secret(const void *p, size_t n, struct block_secret *ret, struct err *err);
void block_secret_done(struct block_secret *s); /* wipes; zero is fine */

/* A line for people: kind, service and what the identifier says, never the password. *ret is the
 * caller's; -ENOMEM is the only error. */
int token_describe(const struct token *t, char **ret);
