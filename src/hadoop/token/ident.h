/* ident.h - the contents of a token's identifier. Servers check identifiers; here they are read to
 * know when a delegation token expires and who may renew it, and for the one secret that a block
 * token may carry. Pure; the bytes may be hostile. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "hadoop/token/token.h"
#include <stddef.h>
#include <stdint.h>

#define KIND_HDFS "HDFS_DELEGATION_TOKEN"
#define KIND_RM "RM_DELEGATION_TOKEN"
#define KIND_AMRM "YARN_AM_RM_TOKEN"

enum ident_type {
    IDENT_UNKNOWN, /* of a kind that we do not read: all else is 0 */
    IDENT_DELEGATION,
};

struct ident {
    enum ident_type type;
    char *renewer;           /* "" when the token names none */
    int64_t issued, expires; /* milliseconds since 1970; it may have to be renewed long before it
                                expires */
    int32_t sequence;
};

/* Reads the identifier of a token of this kind. *ret is the caller's: ident_done(). -EBADMSG when
 * it cannot be read; an unknown kind is none of our business and no error. */
int ident_parse(const char *kind, const void *p, size_t n, struct ident *ret, struct err *err);
void ident_done(struct ident *i); /* zero is fine */
#define AUTO_IDENT AUTO_DONE(ident_done) struct ident

/* What a DataNode wants to see of a block token: the secret that some NameNodes hide in it
 * (dfs.namenode.send.qop.enabled) and the block pool. */
struct block_secret {
    uint8_t *secret; /* NULL when there is none */
    size_t secret_len;
    char *pool;
};

/* From the identifier of a block token, of either form. No bytes at all are no token and no error.
 * *ret is the caller's: block_secret_done(). -EBADMSG. */
int ident_block_secret(const void *p, size_t n, struct block_secret *ret, struct err *err);
void block_secret_done(struct block_secret *s); /* wipes; zero is fine */
