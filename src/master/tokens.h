/* tokens.h - newer tokens in a master's container, from whoever has them. Fibers only. */
#pragma once
#include "base/err.h"
#include "base/loop.h"
#include "hadoop/token/credentials.h"
#include "wire/http.h"

struct container;

/* Takes those of HDFS for this process: what the ResourceManager gave us stays as it is. -EINVAL
 * when there is none among them. */
int tokens_keep(struct container *c, const struct credentials *newer, size_t *ret_n,
                struct err *err);
/* A request's body as credentials; *ret is the caller's. */
int tokens_read(struct http_call *call, struct credentials **ret, struct err *err);

/* For a master that HDFS does not know any more: waits until it has tokens again (tokens_wait.c).
 * -EKEYEXPIRED when nobody brought any; the application has ended then. */
int tokens_wait(struct loop *l, struct container *c, struct err *err);
