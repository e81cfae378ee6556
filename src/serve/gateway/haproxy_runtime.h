/* haproxy_runtime.h - HAProxy's run-time API on its Unix socket: a line, and an answer up to the
 * end of the connection. Fibers only. */
#pragma once
#include "base/buf.h"
#include "loop/loop.h"

#define HAPROXY_ANSWER_MAX (8 * MIB)
#define HAPROXY_ANSWER_MS 5000

/* Sends one line of commands (between them a ';') and appends the answer, at most as much as `ret`
 * may hold. */
int haproxy_ask(struct loop *l, const char *socket, const char *commands, struct buf *ret,
                struct err *err);
/* The same where the answer must be empty, or one of those that only say that it was done. */
int haproxy_tell(struct loop *l, const char *socket, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
