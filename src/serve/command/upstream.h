/* upstream.h - connections to the program. Fibers only. */
#pragma once
#include "serve/command/command_proxy.h"

#define UPSTREAM_IDLE_MAX 64 /* connections that wait to be used again */

struct upstream {
    struct http_client *client;
    int fd; /* the client's, borrowed */
    unsigned life;
    int64_t since; /* it has been idle */
    bool used;     /* it has answered a request before */
    struct upstream *next;
};

/* One that is idle, or a new one. *ret is the caller's: upstream_keep() or upstream_free(). */
int upstream_get(struct command_proxy *p, int64_t deadline, bool fresh, struct upstream **ret,
                 struct err *err);
/* After an answer was read to its end. */
void upstream_keep(struct command_proxy *p, struct upstream *u);
struct upstream *upstream_free(struct upstream *u); /* NULL is fine; always NULL */
