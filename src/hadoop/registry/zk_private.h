/* zk_private.h - what zk.c (the session) and zk_call.c (the calls) share. */
#pragma once
#include "hadoop/registry/zk.h"
#include "loop/fiber.h"
#include <uv.h>
#include <zookeeper/zookeeper.h>

struct zk {
    struct loop *loop;
    struct strs servers;
    char *chroot;
    int64_t session_ms;
    void (*on_new_session)(void *arg);
    void *arg;
    zhandle_t *handle; /* NULL while there is none */
    bool connected;
    bool expired; /* the handle is good for nothing any more */
    bool renewed; /* the handle stands for one whose session was lost */
    bool closing;
    bool driven;         /* the fiber below lives */
    struct cond changed; /* one of the above */
    int epoll;           /* holds the client's descriptor while it is waited for */
    uv_poll_t poll;
    struct cond ready;
};

/* Waits for a session. */
int zk_wait_connected(struct zk *z, int64_t deadline, struct err *err);
/* Something was queued: the fiber must look again what the client waits for. */
void zk_wake(struct zk *z);
