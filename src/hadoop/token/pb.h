/* pb.h - tokens as they travel in messages. Pure. */
#pragma once
#include "hadoop/token.pb-c.h"
#include "hadoop/token/token.h"

/* Fills `to`, which is empty, with a copy. -ENOMEM leaves it empty. */
int token_from_pb(struct token *to, const Hadoop__Token *from);

/* A message that borrows everything from `from`. */
Hadoop__Token token_to_pb(const struct token *from);
