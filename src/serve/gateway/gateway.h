/* gateway.h - a gateway: HAProxy kept running with what its spec says, and a control socket.
 *
 * Commands are JSON, one on a line, and so are their answers:
 *
 *     {"do": "apply", "spec": "/path/spec.json"}     reads the spec again, or another one
 *     {"do": "status"}                               what gateway_status_json() says
 *     {"do": "totals"}                               requests of each version since the spec has it
 *     {"do": "counts"}                               the same for another gateway to add …
 *     {"do": "add", "from": NAME, "counts": PATH}    … which does so by this
 *     {"do": "canary", "model": M, "percent": 10}    changes the canary's share at once
 *     {"do": "drain", "replica": NAME or ADDRESS, "wait": "30s"}   no new requests for it
 *
 * Loop thread only; everything here runs on fibers. */
#pragma once
#include "base/err.h"
#include "loop/loop.h"
#include <stdbool.h>

struct gateway_options {
    struct loop *loop;
    const char *program; /* HAProxy */
    const char *spec;    /* the file; its "listen" counts once, at the start */
    const char *dir;     /* absolute, ours alone: what HAProxy reads is written there */
    const char *control; /* the control socket */
    /* NULL, or: is this replica of "MODEL:VERSION" known to be ready? It gets requests at once; all
     * others when HAProxy's first checks have passed. Asked at the start alone. */
    bool (*is_up)(void *user, const char *backend, const char *address);
    void (*on_ready)(void *user, const char *host, int port);
    void (*note)(void *user, const char *text); /* for people: HAProxy died, a version went back */
    void *user;
};

/* Runs until the fiber is cancelled (then 0, when all has ended in order) or something fails. */
int gateway_run(const struct gateway_options *o, struct err *err);
