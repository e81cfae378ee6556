/* block.h - the identifier of a block token. Private to this directory. */
#pragma once
#include "base/buf.h"
#include "hadoop/token/ident.h"

/* Fills what IDENT_BLOCK has. -EBADMSG, -ENOMEM; what is set belongs to the caller all the same. */
int block_parse(struct view v, struct ident *ret);
