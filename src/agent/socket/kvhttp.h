/* kvhttp.h - the job's key-value store by HTTP, on a connection to YDL_SOCKET. */
#pragma once
#include "base/buf.h"
#include "loop/sock.h"

struct agent_task;

/* Serves HTTP on a connection of which `in` has been read. Takes `s` over. Fibers only; returns
 * when the connection ends. */
void kvhttp_serve(struct agent_task *t, struct sock *s, const struct buf *in);
