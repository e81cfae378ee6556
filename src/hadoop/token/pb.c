/* pb.c - see pb.h */
#include "hadoop/token/pb.h"

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
