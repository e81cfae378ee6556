/* master_tokens.h - newer tokens in a master's container, from whoever has them. Fibers only. */
#pragma once
#include "base/err.h"
#include "hadoop/token/credentials.h"
#include "loop/loop.h"
#include "wire/http.h"

struct agent_conn;
struct master_container;
struct master;

/* Those that the job got while it ran, and cancels at its end (tokens_end.c); oldest first. */
#define TOKENS_GOT 64
struct tokens_got {
    struct token_got {
        struct token token;
        bool sent; /* to a NodeManager, with a container, or it may have been */
    } v[TOKENS_GOT];
    size_t n;
};

/* Takes those of HDFS for this process: what the ResourceManager gave us stays as it is. -EINVAL
 * when there is none among them. */
int tokens_keep(struct master_container *c, const struct credentials *newer, size_t *ret_n,
                struct err *err);
/* Notes a token that is to be cancelled, before it is added to the session's. Nothing is noted of
 * one that is there already, or that was not got for this job. */
void tokens_remember(struct master_container *c, const struct token *t);
/* Containers were started with the tokens that the session holds. */
void tokens_were_sent(struct master_container *c);
/* Cancels what nobody needs after us; nothing can be done in HDFS after that. What fails is only
 * logged; to end it early, cancel the fiber. */
void tokens_cancel(struct master *m);
void tokens_done(struct master_container *c); /* forgets them */
/* A request's body as credentials; *ret is the caller's. */
int tokens_read(struct http_call *call, struct credentials **ret, struct err *err);

/* For a master that HDFS does not know any more: waits until it has tokens again (tokens_wait.c).
 * -EKEYEXPIRED when nobody brought any; the application has ended then. */
int tokens_wait(struct loop *l, struct master_container *c, struct err *err);

/* ---- while the job runs ---- */
/* Newer tokens from who has the job's key, for us, our agents and containers to come. */
int tokens_put(struct master *m, struct http_call *c, struct err *err);
/* The same with those that are here already. */
int tokens_use(struct master *m, const struct credentials *newer, size_t *ret_n, struct err *err);
/* What has come since the start, to one that may not have it. */
void tokens_tell(struct agent_conn *a);
