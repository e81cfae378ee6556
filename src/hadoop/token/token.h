/* token.h - one Hadoop token: its identifier, its secret (the password), and the server it is for
 * (kind and service). Pure. */
#pragma once
#include "base/auto.h"
#include "hadoop/token.pb-c.h"
#include <stddef.h>
#include <stdint.h>

struct token {
    uint8_t *id;
    size_t id_len;
    uint8_t *password;
    size_t password_len;
    char *kind;    /* "HDFS_DELEGATION_TOKEN", …; never NULL once filled */
    char *service; /* "10.0.0.1:8020", "ha-hdfs:ns", or "" */
};

/* Fills `to`, which is empty, with a copy. -ENOMEM leaves it empty. */
int token_copy(struct token *to, const struct token *from);
/* Wipes the secret, frees, and leaves an empty token. */
void token_done(struct token *t);

/* As it travels in messages: fills `to`, which is empty, with a copy. -ENOMEM leaves it empty. */
int token_from_pb(struct token *to, const Hadoop__Token *from);
/* A message that borrows everything from `from`. */
Hadoop__Token token_to_pb(const struct token *from);

/* AUTO_TOKEN t = { 0 }; */
#define AUTO_TOKEN AUTO_DONE(token_done) struct token
