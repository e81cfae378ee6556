/* token.c - a token, and the message that carries one. See token.h. */
#include "hadoop/token/token.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *token_copy_bytes(const uint8_t *p, size_t n)
{
    uint8_t *r = malloc(n ? n : 1);

    if (r && n)
        memcpy(r, p, n);
    return r;
}

int token_copy(struct token *to, const struct token *from)
{
    *to = (struct token){
        .id = token_copy_bytes(from->id, from->id_len),
        .id_len = from->id_len,
        .password = token_copy_bytes(from->password, from->password_len),
        .password_len = from->password_len,
        .kind = strdup(from->kind ? from->kind : ""),
        .service = strdup(from->service ? from->service : ""),
    };
    if (to->id && to->password && to->kind && to->service)
        return 0;
    token_done(to);
    return -ENOMEM;
}

void token_done(struct token *t)
{
    if (t->password)
        explicit_bzero(t->password, t->password_len);
    free(t->id);
    free(t->password);
    free(t->kind);
    free(t->service);
    *t = (struct token){ 0 };
}

int token_from_pb(struct token *to, const Hadoop__Token *from)
{
    /* The cast drops a const that token_copy() does not need dropped: it only reads. */
    const struct token borrowed = {
        .id = from->identifier.data,
        .id_len = from->identifier.len,
        .password = from->password.data,
        .password_len = from->password.len,
        .kind = (char *)from->kind,
        .service = (char *)from->service,
    };

    return token_copy(to, &borrowed);
}

Hadoop__Token token_to_pb(const struct token *from)
{
    Hadoop__Token m = HADOOP__TOKEN__INIT;

    m.identifier.data = from->id;
    m.identifier.len = from->id_len;
    m.password.data = from->password;
    m.password.len = from->password_len;
    m.kind = from->kind;
    m.service = from->service;
    return m;
}
