/* kvsock.h - YDL_SOCKET: the job's key-value store for the task's own code. Loop thread; never
 * blocks: each connection is a fiber. */
#pragma once
#include "base/err.h"
#include <stddef.h>

struct agent_task;
struct fiber;
struct kvconn;
struct kvsock;

struct task_socket {
    char *path;            /* YDL_SOCKET; prepare.c names it */
    struct kvsock *server; /* NULL: not open */
    struct kvconn *conns;  /* open connections */
    size_t n_conns;
    struct fiber *pmi; /* pmi.c; NULL: the task does not speak PMI */
};

int kvsock_open(struct agent_task *t, struct err *err); /* one that is open and there is fine */
void kvsock_close(struct agent_task *t);
void kvsock_hang_up(struct agent_task *t); /* its connections, not the socket */
